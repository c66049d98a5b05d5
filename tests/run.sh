#!/bin/sh
# Installs what is missing, builds, runs every test, says what was skipped and why.
#
#   sh tests/run.sh [argument of meson test]...
#
# TALLY_BUILD names the build folder (build/); TALLY_SETUP holds options for meson setup.
set -eu

tally_source=$(cd "$(dirname "$0")/.." && pwd)
. "$tally_source/tests/support/packages.sh"
. "$tally_source/tests/support/build.sh"
build=${TALLY_BUILD:-$tally_source/build}

# shellcheck disable=SC2086 # lists of words
tally_install_missing $tally_build_packages $tally_test_packages
# shellcheck disable=SC2086
tally_build "$build" -Dtests=enabled ${TALLY_SETUP:-}

status=0
tally_test "$build" "$@" || status=$?
python3 "$tally_source/tests/support/summary.py" "$build" || status=1
exit "$status"
