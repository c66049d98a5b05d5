#!/bin/sh
# Installs missing packages, builds, runs every test, and prints what was skipped and why.
#
#   sh tests/run.sh [argument of meson test]...
#
# TALLY_BUILD names the build directory (build/). TALLY_SETUP holds options for meson setup; if it
# is unset, a new build directory is set up for a fast build: several sources per compilation,
# without debug information. TALLY_TEST_LLDBS names the LLDBs to test, paths separated by blanks. If
# it is unset, these are lldb-14, LLDB 19, and the versions in TALLY_LLDB_VERSIONS ("16 22"); all
# but lldb-14 are unpacked into the build directory.
set -eu

tally_source=$(cd "$(dirname "$0")/.." && pwd)
. "$tally_source/tests/support/packages.sh"
. "$tally_source/tests/support/build.sh"
build=${TALLY_BUILD:-$tally_source/build}

if [ -z "${TALLY_SETUP+set}" ] && ! [ -f "$build/meson-private/coredata.dat" ]; then
  TALLY_SETUP='-Dunity=on -Dunity_size=32 -Ddebug=false'
fi

# shellcheck disable=SC2086 # lists of words
tally_install_missing $tally_build_packages $tally_test_packages
# shellcheck disable=SC2086
tally_build "$build" -Dtests=enabled ${TALLY_SETUP:-}

if [ -z "${TALLY_TEST_LLDBS+set}" ]; then
  TALLY_TEST_LLDBS=$(command -v lldb-14 || true)
  for version in $tally_lldb_versions ${TALLY_LLDB_VERSIONS:-}; do
    TALLY_TEST_LLDBS="$TALLY_TEST_LLDBS $(tally_unpack_lldb "$version" "$build/lldbs")"
  done
  export TALLY_TEST_LLDBS
fi

status=0
tally_test "$build" "$@" || status=$?
python3 "$tally_source/tests/support/summary.py" "$build" || status=1
exit "$status"
