# shellcheck shell=sh
# Configures and builds. Sourced by the scripts, which set tally_source, the root of the sources.
# shellcheck disable=SC2154

# tally_build FOLDER [option of meson setup]...: configures anew or changes those options, builds;
# all, or TALLY_TARGETS.
tally_build() {
  tally_folder=$1
  shift
  if [ -f "$tally_folder/meson-private/coredata.dat" ]; then
    [ $# -eq 0 ] || meson configure "$tally_folder" "$@" || return
  else
    meson setup "$tally_folder" "$tally_source" "$@" || return
  fi
  # shellcheck disable=SC2086 # words
  ninja -C "$tally_folder" ${TALLY_TARGETS:-}
}

# tally_test FOLDER [argument of meson test]...: the log that the summary reads is of this run only.
# TALLY_TEST_UNDER is a command to run it by (setarch -R).
tally_test() {
  tally_folder=$1
  shift
  rm -f "$tally_folder/meson-logs/testlog.json"
  # shellcheck disable=SC2086 # words
  ${TALLY_TEST_UNDER:-} meson test -C "$tally_folder" --no-rebuild --print-errorlogs "$@"
}
