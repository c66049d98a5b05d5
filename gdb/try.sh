#!/bin/sh
# Demonstrates Tally: builds it, profiles two programs under GDB, and writes files for KCachegrind.
#
#   sh gdb/try.sh
#
# One program is a test program of this project with debug information. It spends 70 % of its time
# in one function and 30 % in another. The other program is Debian's xz, without debug information.
# The script builds only the files that GDB loads, as fast as possible, in a separate build
# directory: $TALLY_BUILD, or build-try/. It keeps the output of its steps there, in try/log.
set -eu

tally_source=$(cd "$(dirname "$0")/.." && pwd)
. "$tally_source/tests/support/packages.sh"
. "$tally_source/tests/support/build.sh"
build=${TALLY_BUILD:-$tally_source/build-try}
mkdir -p "$build/try"
build=$(cd "$build" && pwd)
out=$build/try
log=$out/log
: >"$log"
started=$(date +%s)

# Prints one line for a step, preceded by the seconds since the start.
say() {
  printf '[%3d s] %s\n' "$(($(date +%s) - started))" "$*"
}

# logged COMMAND...: writes the command's output to the log, and prints the last 40 lines of the log
# only if the command fails.
logged() {
  "$@" >>"$log" 2>&1 || {
    status=$?
    tail -n 40 "$log" >&2
    echo "failed; the complete output is in $log" >&2
    exit "$status"
  }
}

# shellcheck disable=SC2086 # the variables hold lists of words
if command -v dpkg-query >/dev/null 2>&1; then
  missing=$(tally_missing_packages $tally_build_packages $tally_try_packages)
  if [ -n "$missing" ]; then
    say 'installing' $missing
    logged tally_install_missing $missing
  fi
else
  tally_install_missing $tally_build_packages $tally_try_packages
fi
if ! [ -f "$build/build.ninja" ]; then
  say 'configuring'
  logged tally_configure_try "$build"
fi
say 'building the library and the agent'
logged ninja -C "$build" gdb-plugin
say 'building the program to profile'
logged "${CC:-cc}" -g -O1 -fno-omit-frame-pointer -o "$out/spin7030" \
  "$tally_source/tests/programs/spin7030.c"

TALLY_LIBRARY=$build/lib/libtally.so
export TALLY_LIBRARY
unset DEBUGINFOD_URLS

# profile NAME PROGRAM [ARGUMENT]...: profiles the program and prints the tables. It writes NAME.txt
# and NAME.callgrind.
profile() {
  name=$1
  shift
  file=$out/$name.callgrind
  rm -f "$file"
  say "profiling $*"
  gdb -nx -q -batch -iex 'set pagination off' -iex 'set width 0' -iex 'set confirm off' \
    -ex "source $tally_source/gdb/tally.py" \
    -ex 'profile start' -ex run \
    -ex 'profile status' -ex 'profile report --limit 10' -ex "profile dump $file" \
    --args "$@" >"$out/$name.txt" 2>&1 </dev/null || true
  cat "$out/$name.txt"
}

# check NAME: checks that NAME.callgrind holds as many ticks as `profile status` counted samples.
# If callgrind_annotate is installed, it must read the same number.
check() {
  file=$out/$1.callgrind
  if ! [ -s "$file" ]; then
    echo "failed: $file was not written" >&2
    return 1
  fi
  samples=$(sed -n 's/^samples  *\([0-9]*\)$/\1/p' "$out/$1.txt")
  total=$(sed -n 's/^totals: \([0-9]*\).*/\1/p' "$file")
  if [ -z "$samples" ] || [ "$samples" != "$total" ]; then
    echo "failed: $file: status counted '$samples' samples, the file holds '$total'" >&2
    return 1
  fi
  if ! command -v callgrind_annotate >/dev/null 2>&1; then
    echo "$file: $total ticks, equal to the number of samples"
    return 0
  fi
  if ! callgrind_annotate --auto=no "$file" >"$out/$1.annotate.txt" 2>"$out/$1.annotate.err" ||
      [ -s "$out/$1.annotate.err" ]; then
    echo "failed: callgrind_annotate $file" >&2
    cat "$out/$1.annotate.err" >&2
    return 1
  fi
  total=$(sed -n 's/^\([0-9,]*\) .*PROGRAM TOTALS.*/\1/p' "$out/$1.annotate.txt" | tr -d ,)
  if [ "$samples" != "$total" ]; then
    echo "failed: $file: status counted '$samples' samples, callgrind_annotate reads '$total'" >&2
    return 1
  fi
  echo "$file: callgrind_annotate reads $total ticks, equal to the number of samples"
}

profile spin7030 "$out/spin7030" 2
# xz compresses these 6 MB, half machine code and half random data, in about two seconds.
{ head -c 3000000 "$(command -v gdb)"; head -c 3000000 /dev/urandom; } >"$out/bytes"
profile xz "$(command -v xz)" -9 --keep --force "$out/bytes"
rm -f "$out/bytes" "$out/bytes.xz"

say 'checking the files'
status=0
check spin7030 || status=1
check xz || status=1
cat <<END

To view the files:
  kcachegrind $out/spin7030.callgrind
  callgrind_annotate $out/xz.callgrind    (in Debian's package valgrind)
To use Tally in your own GDB session, start GDB with
  TALLY_LIBRARY=$TALLY_LIBRARY
in its environment, and enter
  source $tally_source/gdb/tally.py
The command \`help profile\` lists the commands.
END
exit "$status"
