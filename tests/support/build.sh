# shellcheck shell=sh
# Functions that copy, configure and build the sources. The scripts that source this file set
# tally_source, the root of the source tree.
# shellcheck disable=SC2154

# Prints the paths of the sources, each with a NUL: what Git tracks, or in an unpacked tarball all
# files but those of builds.
tally_source_files() {
  if [ -e .git ]; then
    git ls-files -z
  else
    find . -path './build*' -prune -o ! -type d -print0
  fi
}

# tally_copy_sources DIRECTORY: copies the sources, as they are in the working tree.
tally_copy_sources() {
  (cd "$tally_source" && tally_source_files | tar --null --no-recursion --ignore-failed-read \
    --owner=0 --group=0 -T - -cf -) | tar -C "$1" -xf -
}

# tally_configure DIRECTORY [option of meson setup]...: configures a new build directory, or changes
# the given options of an existing one.
tally_configure() {
  tally_folder=$1
  shift
  if [ -f "$tally_folder/meson-private/coredata.dat" ]; then
    [ $# -eq 0 ] || meson configure "$tally_folder" "$@" || return
  else
    meson setup "$tally_folder" "$tally_source" "$@" || return
  fi
}

# tally_build DIRECTORY [option of meson setup]...: configures, then builds $TALLY_TARGETS (default:
# all targets).
tally_build() {
  tally_configure "$@" || return
  # shellcheck disable=SC2086 # a list of words
  ninja -C "$1" ${TALLY_TARGETS:-}
}

# tally_test DIRECTORY [argument of meson test]...: runs the tests. It removes older logs first, so
# that the summary reads only this run's. TALLY_TEST_UNDER is a command to run the tests by (setarch
# -R). Sampling results depend on chance and on the load of the machine: if one to five of the tests
# that take samples fail, these are run once more, one at a time. The summary names them, and fails
# if more than 1 % of the test cases were retried. A test with a sanitizer's report is not run again,
# because such a report does not depend on chance.
tally_test() {
  tally_folder=$1
  shift
  rm -f "$tally_folder/meson-logs/testlog.json" "$tally_folder/meson-logs/testlog-again.json"
  tally_test_status=0
  # shellcheck disable=SC2086 # a list of words
  ${TALLY_TEST_UNDER:-} meson test -C "$tally_folder" --no-rebuild --print-errorlogs "$@" ||
    tally_test_status=$?
  tally_failing=$(python3 "$tally_source/tests/support/summary.py" --failing "$tally_folder")
  case $(printf %s "$tally_failing" | wc -w) in
    [1-5]) ;;
    *) return "$tally_test_status" ;;
  esac
  echo "running again, one at a time: $tally_failing"
  # shellcheck disable=SC2086 # a list of words
  ${TALLY_TEST_UNDER:-} meson test -C "$tally_folder" --no-rebuild --print-errorlogs \
    --num-processes 1 --logbase testlog-again $tally_failing
  python3 "$tally_source/tests/support/summary.py" "$tally_folder" >/dev/null
}
