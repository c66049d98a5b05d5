#!/bin/sh
# Shows Tally at work: builds it, profiles two programs under GDB, writes files for KCachegrind.
#
#   sh gdb/try.sh
#
# One program is ours, with debug information (70 % of its time in one function, 30 % in another);
# the other is Debian's xz, without. TALLY_BUILD names the build folder (build/).
set -eu

tally_source=$(cd "$(dirname "$0")/.." && pwd)
. "$tally_source/tests/support/packages.sh"
. "$tally_source/tests/support/build.sh"
build=${TALLY_BUILD:-$tally_source/build}

# shellcheck disable=SC2086 # lists of words
tally_install_missing $tally_build_packages $tally_try_packages
tally_build "$build"

build=$(cd "$build" && pwd)
out=$build/try
mkdir -p "$out"
TALLY_LIBRARY=$build/lib/libtally.so
export TALLY_LIBRARY
unset DEBUGINFOD_URLS

# profile NAME PROGRAM [ARGUMENT]...: shows the tables, leaves NAME.txt and NAME.callgrind.
profile() {
  name=$1
  shift
  file=$out/$name.callgrind
  rm -f "$file"
  printf '\n== %s\n' "$*"
  gdb -nx -q -batch -iex 'set pagination off' -iex 'set width 0' -iex 'set confirm off' \
    -ex "source $tally_source/gdb/tally.py" \
    -ex 'profile start' -ex run \
    -ex 'profile status' -ex 'profile report --limit 10' -ex "profile dump $file" \
    --args "$@" >"$out/$name.txt" 2>&1 </dev/null || true
  cat "$out/$name.txt"
}

# check NAME: what callgrind_annotate reads is what `profile status` counted.
check() {
  file=$out/$1.callgrind
  if ! [ -s "$file" ]; then
    echo "failed: $file was not written" >&2
    return 1
  fi
  samples=$(sed -n 's/^samples  *\([0-9]*\)$/\1/p' "$out/$1.txt")
  if ! callgrind_annotate --auto=no "$file" >"$out/$1.annotate.txt" 2>"$out/$1.annotate.err" ||
      [ -s "$out/$1.annotate.err" ]; then
    echo "failed: callgrind_annotate $file" >&2
    cat "$out/$1.annotate.err" >&2
    return 1
  fi
  total=$(sed -n 's/^\([0-9,]*\) .*PROGRAM TOTALS.*/\1/p' "$out/$1.annotate.txt" | tr -d ,)
  if [ -z "$samples" ] || [ "$samples" != "$total" ]; then
    echo "failed: $file: status counted '$samples' samples, callgrind_annotate reads '$total'" >&2
    return 1
  fi
  echo "$file: callgrind_annotate reads $total ticks, as many as there were samples"
}

# 24 MB, half of it code, half noise: work for xz of some ten seconds.
{ cat "$(command -v gdb)"; head -c 14000000 /dev/urandom; } >"$out/bytes"

profile spin7030 "$build/tests/programs/spin7030" 3
profile xz "$(command -v xz)" -9 --keep --force "$out/bytes"
rm -f "$out/bytes" "$out/bytes.xz"

printf '\n== the files\n'
status=0
check spin7030 || status=1
check xz || status=1
cat <<END

To look at them:
  kcachegrind $out/spin7030.callgrind
  callgrind_annotate $out/xz.callgrind
To go on by yourself, in GDB:
  source $tally_source/gdb/tally.py
with TALLY_LIBRARY=$TALLY_LIBRARY in its environment; \`help profile\` lists the commands.
END
exit "$status"
