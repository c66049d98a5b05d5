# shellcheck shell=sh
# Configures and builds. Sourced by the scripts, which set tally_source, the root of the sources.
# shellcheck disable=SC2154

# tally_configure FOLDER [option of meson setup]...: configures a new folder, or changes those options
# of one that is configured.
tally_configure() {
  tally_folder=$1
  shift
  if [ -f "$tally_folder/meson-private/coredata.dat" ]; then
    [ $# -eq 0 ] || meson configure "$tally_folder" "$@" || return
  else
    meson setup "$tally_folder" "$tally_source" "$@" || return
  fi
}

# tally_build FOLDER [option of meson setup]...: configures, and builds all, or TALLY_TARGETS.
tally_build() {
  tally_configure "$@" || return
  # shellcheck disable=SC2086 # words
  ninja -C "$1" ${TALLY_TARGETS:-}
}

# tally_test FOLDER [argument of meson test]...: the logs that the summary reads are of this run only.
# TALLY_TEST_UNDER is a command to run it by (setarch -R). Samples are a matter of chance, and of what
# else the machine does: of the tests that take some, a few that fail are run once again, alone; the
# summary names them. What a sanitizer has found is no chance.
tally_test() {
  tally_folder=$1
  shift
  rm -f "$tally_folder/meson-logs/testlog.json" "$tally_folder/meson-logs/testlog-again.json"
  tally_test_status=0
  # shellcheck disable=SC2086 # words
  ${TALLY_TEST_UNDER:-} meson test -C "$tally_folder" --no-rebuild --print-errorlogs "$@" ||
    tally_test_status=$?
  tally_failing=$(python3 "$tally_source/tests/support/summary.py" --failing "$tally_folder")
  case $(printf %s "$tally_failing" | wc -w) in
    [1-5]) ;;
    *) return "$tally_test_status" ;;
  esac
  echo "once again, alone: $tally_failing"
  # shellcheck disable=SC2086 # words
  ${TALLY_TEST_UNDER:-} meson test -C "$tally_folder" --no-rebuild --print-errorlogs \
    --num-processes 1 --logbase testlog-again $tally_failing
  python3 "$tally_source/tests/support/summary.py" "$tally_folder" >/dev/null
}
