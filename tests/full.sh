#!/bin/sh
# Runs what takes too long for each change, and prints when each part last passed.
#
#   sh tests/full.sh [--state] [PART]...
#
# Without parts it runs all, which takes hours. --state only prints the table: the commit at which
# each part last passed here, and its last result. A commit with a + had uncommitted changes.
#
#   suite                     the Meson suite full: slow oracles, and what needs large packages
#   tsan cli-asan             tests of the library with threads, and those of `tally`, with sanitizers
#   tidy alone                clang-tidy, and each source compiled alone, on the whole tree
#   gcc-VERSION clang-VERSION a build of all but the LLDB plug-in, and the suite own
#   musl                      libtally-mon and the agent by musl-gcc
#   gdb-RELEASE               GDB's tests by the GDB of a release of Debian (as root; uses build/)
#   lldb-VERSION              LLDB's tests by another LLDB
#   python-VERSION            the Meson module's tests that need no Meson, by an interpreter on PATH or of pyenv
#   fresh                     try.sh and run.sh in a fresh Debian (as root; support/fresh.sh)
#   cross                     the suite own for AArch64 in qemu-user (support/cross.sh)
#   debs                      Debian packages, made, installed and purged (as root)
#   storm conditions hostile  faults/: kills at random points, conditions that no user wants, and a
#                             program that lies to its sampler, also with sanitizers
#   allocations               faults/allocations.c: each allocation of the library fails once
#   fuzz                      each fuzzer for a minute
#   build-time                bench/build_time.py: prints where the time of a build goes
#
# The directory build-full/ keeps the builds, the logs and the state. A part whose packages cannot be
# obtained is "not run here".
# shellcheck disable=SC2317 # run_part calls the functions
set -u

tally_source=$(cd "$(dirname "$0")/.." && pwd)
. "$tally_source/tests/support/packages.sh"
. "$tally_source/tests/support/build.sh"
cd "$tally_source" || exit 1
folder=$tally_source/build-full
parts='suite tsan cli-asan tidy alone gcc-11 gcc-12 clang-14 clang-16 clang-19 musl gdb-trixie
  lldb-14 lldb-16 lldb-19 lldb-22 python-3.9 python-3.10 python-3.11 python-3.12 python-3.13 fresh
  cross debs storm conditions hostile allocations fuzz build-time'
mkdir -p "$folder/state"
status=0
commit=$(git rev-parse --short HEAD 2>/dev/null || echo unknown)
[ -z "$(git status --porcelain 2>/dev/null)" ] || commit=$commit+

# table: prints the state of each part that ever ran here, from the files state/PART: the commit at
# which it last passed, its date, and the last result.
table() {
  printf '%-12s %-12s %-11s %s\n' part passed-at on 'last result'
  for tally_part in $parts; do
    if [ -f "$folder/state/$tally_part" ]; then
      read -r at on result <"$folder/state/$tally_part"
      printf '%-12s %-12s %-11s %s\n' "$tally_part" "$at" "$on" "$result"
    else
      printf '%-12s %-12s %-11s %s\n' "$tally_part" - - 'never ran here'
    fi
  done
}

# not_here REASON: ends a part that cannot run on this machine.
not_here() {
  echo "not run here: $*"
  return 77
}

# run_part PART COMMAND...: runs a part with its output in a log, whose last line is the result, and
# records the state. Only a part that passed replaces the commit and the date.
run_part() {
  part=$1 log=$folder/$1.log
  shift
  echo "== $part"
  at=- on=-
  [ ! -f "$folder/state/$part" ] || read -r at on _ <"$folder/state/$part"
  ("$@") >"$log" 2>&1 # a shell of its own, whose variables end with it
  ended=$?
  result=$(tail -n 1 "$log")
  case $ended in
    0) at=$commit on=$(date +%F) ;;
    77) ;;
    *) result="failed: $log: $result" status=1 ;;
  esac
  printf '%s\n' "$at $on $result" >"$folder/state/$part"
  printf '   %s\n' "$result"
}

# tests_of DIRECTORY LOG [argument of meson test]...: runs tests, then prints their summary.
tests_of() {
  tally_test "$@"
  python3 tests/support/summary.py "$1/meson-logs/$2.json"
}

# built: brings the build directory build/ up to date, which the parts of the product use.
built() {
  tally_configure_product build && ninja -C build
}

# names_of PREFIX: prints the tests of the suite use whose names begin so, an extended regular
# expression. Without any, meson test would run all tests.
names_of() {
  meson test -C build --list --suite use | sed 's/.* //' | grep -E "^($1)" || echo no-such-test
}

# needs_root: ends a part that makes a root, where it cannot.
needs_root() {
  if [ "$(id -u)" -ne 0 ] || ! tally_install_missing mmdebstrap; then
    not_here 'needs root and mmdebstrap'
  fi
}

suite() {
  for package in $tally_large_test_packages; do
    tally_install_missing "$package" || true # a test skips, by name, if a package cannot be obtained
  done
  built && tests_of build full --suite full --num-processes 2
}

tsan() {
  # ThreadSanitizer requires a known address layout: disable randomization if that is permitted.
  if setarch -R true 2>/dev/null; then
    TALLY_TEST_UNDER='setarch -R'
  fi
  tally_configure_sanitized "$folder/tsan" thread &&
    tests_of "$folder/tsan" tsan unit-collect unit-session mon-process-perf mon-process-timer \
      mon-profil-perf mon-profil-timer
}

cli_asan() {
  tally_configure_sanitized build-own address,undefined && tally_configure_product build || return
  # shellcheck disable=SC2046 # a list of names
  tests_of build-own cli $(names_of cli-)
}

on_all_sources() { # tidy or alone
  built && python3 "tests/support/$1.py" --build build
}

faults() { # storm or conditions
  built && python3 "tests/faults/$1.py" build
}

hostile() {
  faults hostile || return
  tally_configure_sanitized build-own address,undefined && ninja -C build-own || return
  TALLY_HOSTILE_SECONDS=600 build-own/tests/unit/unit-collect --gtest_filter='*HostileProgram*' || return
  if setarch -R true 2>/dev/null; then
    TALLY_TEST_UNDER='setarch -R'
  fi
  tally_configure_sanitized "$folder/tsan" thread && ninja -C "$folder/tsan" tests/unit/unit-collect &&
    TALLY_HOSTILE_SECONDS=600 ${TALLY_TEST_UNDER:-} "$folder/tsan/tests/unit/unit-collect" \
      --gtest_filter='*HostileProgram*'
}

allocations() {
  built && mkdir -p "$folder/scratch" && printf 'main;a;b 5\nmain;c 6\n' >"$folder/scratch/in.folded" &&
    cc -O1 -o "$folder/allocations" tests/faults/allocations.c -Ilib/include -Lbuild/lib -ltally \
      "-Wl,-rpath,$PWD/build/lib" && "$folder/allocations" "$folder/scratch/in.folded" "$folder/scratch"
}

compiler() { # PART
  case $1 in
    gcc-*) c=$1 cpp=g++-${1#gcc-} packages="$1 $cpp" ;;
    *) c=$1 cpp=clang++-${1#clang-} packages="$1 libclang-rt-${1#clang-}-dev" ;;
  esac
  # shellcheck disable=SC2086 # a list of words
  tally_install_missing $packages && command -v "$cpp" || not_here "no $cpp" || return
  # Without optimization it takes half the time, and has fewer warnings: gcc-12 and clang-14 have the
  # optimization of a release.
  # GCC 11 does not see that a mask makes a number fit its bits, and newer Clangs report what
  # libstdc++ 12 itself uses.
  level=0 ignored=
  case $1 in
    gcc-12 | clang-14) level=2 ;;
    gcc-11) ignored=-Wno-conversion ;;
    clang-*) ignored=-Wno-deprecated-declarations ;;
  esac
  # shellcheck disable=SC2086 # a list of words
  CC=$c CXX=$cpp tally_configure "$folder/$1" -Dtests=enabled -Dlldb=disabled -Dwerror=true \
    $tally_quick -Doptimization=$level -Dcpp_args="$ignored" &&
    ninja -C "$folder/$1" && tests_of "$folder/$1" own --suite own
}

musl() {
  tally_install_missing musl-tools || not_here 'no musl-gcc' || return
  # musl-gcc has no headers of the kernel.
  compile="musl-gcc -std=c11 -D_GNU_SOURCE -O2 -g -fPIC -Wall -Wextra -Werror -Ilib/include -Ilib/src
    -idirafter /usr/include -idirafter /usr/include/$(gcc -print-multiarch)"
  # shellcheck disable=SC2086 # lists of words
  $compile -shared -o "$folder/libtally-mon.so" lib/src/mon/*.c &&
    $compile -fno-stack-protector -shared -o "$folder/libtally-agent.so" lib/src/agent/*.c &&
    $compile -o "$folder/counts-itself" tests/support/counts_itself.c lib/src/mon/*.c &&
    "$folder/counts-itself"
}

gdb() { # PART
  needs_root && built || return
  python3 tests/support/other_gdb.py build "${1#gdb-}" "$folder/roots"
  gdb_status=$?
  [ "$gdb_status" -ne 2 ] || not_here 'no such root' || return
  return "$gdb_status"
}

lldb() { # PART
  number=${1#lldb-}
  case $number in
    14) path=$(command -v lldb-14) ;;
    *) path=$(tally_unpack_lldb "$number" "$folder/lldbs") ;;
  esac
  [ -n "$path" ] || not_here "no lldb-$number" || return
  # shellcheck disable=SC2046 # a list of names
  built && TALLY_TEST_LLDBS=$path tests_of build "$1" \
    $(names_of '(conformance-|support-)?lldb') lldb-rates
}

python() { # PART
  python=
  for candidate in "$HOME/.pyenv/versions/${1#python-}".*/bin/python3 "python${1#python-}"; do
    # pyenv puts commands on PATH that only say what is missing.
    if [ -z "$python" ] && "$candidate" --version >/dev/null 2>&1; then
      python=$candidate
    fi
  done
  [ -n "$python" ] || not_here "no $1" || return
  built && "$python" -W error -m compileall -q -f gdb meson-module tests &&
    PYTHONPATH=$tally_source/meson-module TALLY_CLI=$tally_source/build/lib/cli/tally \
      "$python" tests/meson/pure_test.py && echo "$("$python" --version) passed"
}

debs() {
  needs_root || return
  sh tests/support/make_debs.sh "$folder/debs" && sh tests/support/try_debs.sh "$folder/debs"
}

fresh() {
  needs_root && sh tests/support/fresh.sh
}

fuzz() {
  sh tests/fuzz/build.sh && python3 tests/fuzz/run.py build-fuzz/out
}

if [ "${1:-}" = --state ]; then
  table
  exit
fi
# shellcheck disable=SC2086 # lists of words
tally_install_missing $tally_build_packages $tally_test_packages || exit
# shellcheck disable=SC2086 # a list of words
[ $# -gt 0 ] || set -- $parts
for name in "$@"; do
  case $name in
    suite | tsan | musl | debs | fuzz | hostile | allocations) run_part "$name" "$name" ;;
    cli-asan) run_part "$name" cli_asan ;;
    tidy | alone) run_part "$name" on_all_sources "$name" ;;
    gcc-* | clang-*) run_part "$name" compiler "$name" ;;
    gdb-*) run_part "$name" gdb "$name" ;;
    lldb-*) run_part "$name" lldb "$name" ;;
    python-*) run_part "$name" python "$name" ;;
    fresh) run_part "$name" fresh ;;
    cross) run_part "$name" sh tests/support/cross.sh aarch64 ;;
    storm | conditions) run_part "$name" faults "$name" ;;
    build-time) run_part "$name" python3 tests/bench/build_time.py ;;
    *)
      # shellcheck disable=SC2086 # a list of words
      echo "full.sh: there is no part $name; the parts are:" $parts >&2
      exit 2
      ;;
  esac
done
table
exit $status
