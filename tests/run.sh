#!/bin/sh
# Installs missing packages, builds, runs the tests, and prints what was skipped and why.
#
#   sh tests/run.sh [SUITE]...
#
# The suites are check, own, use and rates, in this order, if none is named. CONTRIBUTING.md says what
# they contain. TALLY_BUILD names the build directory (build/): what users install, which use and
# rates test. Beside it, in a directory of the same name with -own, are the library's own tests, with
# sanitizers.
set -u

tally_source=$(cd "$(dirname "$0")/.." && pwd)
. "$tally_source/tests/support/packages.sh"
. "$tally_source/tests/support/build.sh"
build=${TALLY_BUILD:-$tally_source/build}
started=$(date +%s)
[ $# -gt 0 ] || set -- check own use rates

# say WORD...: prints a heading with the time since the start.
say() {
  printf '\n== [%4d s] %s\n' $(($(date +%s) - started)) "$*"
}

say 'packages'
# shellcheck disable=SC2086 # lists of words
tally_install_missing $tally_build_packages $tally_test_packages || exit
say 'configuring'
tally_configure_product "$build" || exit

logs=
number=0
for suite in "$@"; do
  number=$((number + 1))
  folder=$build
  say "suite $suite ($number of $#)"
  case $suite in
    check) tally_test "$build" check --suite check --no-rebuild ;;
    own)
      folder=$build-own
      tally_configure_sanitized "$folder" address,undefined &&
        tally_test "$folder" own --suite own
      ;;
    # Most of these tests' time is waiting.
    use) tally_test "$build" use --suite use --num-processes $(($(nproc) * 2)) ;;
    *) tally_test "$build" "$suite" --suite "$suite" ;;
  esac
  logs="$logs $folder/meson-logs/$suite.json"
done
say 'summary'
# shellcheck disable=SC2086 # a list of words
python3 "$tally_source/tests/support/summary.py" $logs
