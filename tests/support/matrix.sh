#!/bin/sh
# Builds and tests with other compilers, C libraries and debuggers, and prints a table.
#
#   sh tests/support/matrix.sh [--folder FOLDER] [CELL]...
#
# Cells: gcc-VERSION and clang-VERSION build everything but the LLDB plug-in, without warnings, and
# run the suites unit and golden. musl builds libtally-mon and the agent by musl-gcc, and runs a
# program that counts itself. gdb-RELEASE runs the suite gdb by the GDB of a release of Debian, and
# needs root; it uses the build directory build/. lldb-VERSION builds and tests the plug-in.
# python-VERSION runs the tests of the Meson module, and compiles GDB's plug-in, by an interpreter
# that is on PATH or of pyenv.
# Without cells it runs all. FOLDER (build-matrix/) keeps the builds for the next time. A cell whose
# packages cannot be obtained is "not run here".
set -u

tally_source=$(cd "$(dirname "$0")/../.." && pwd)
. "$tally_source/tests/support/packages.sh"
. "$tally_source/tests/support/build.sh"
cd "$tally_source" || exit 1
folder=$tally_source/build-matrix
if [ "${1:-}" = --folder ]; then
  folder=${2:?"--folder needs a FOLDER"}
  shift 2
fi
[ $# -gt 0 ] || set -- gcc-11 gcc-12 clang-14 clang-16 clang-19 musl gdb-trixie lldb-14 lldb-16 \
  lldb-19 python-3.9 python-3.10 python-3.11 python-3.12 python-3.13
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
status=0

row() { # CELL, VERSION, RESULT
  printf '%-12s %-34s %s\n' "$1" "$2" "$3"
}

failed() { # CELL, VERSION
  row "$1" "$2" "failed: $folder/$1.log"
  status=1
}

# Prints the last line of a run's summary: "N passed, N failed, N skipped".
summary_of() { # BUILD DIRECTORY
  python3 tests/support/summary.py "$1" | tail -n 1
}

compiler() { # CELL
  case $1 in
    gcc-*) c=$1 cpp=g++-${1#gcc-} packages="$1 $cpp" ;;
    *) c=$1 cpp=clang++-${1#clang-} packages="$1 libclang-rt-${1#clang-}-dev" ;;
  esac
  # shellcheck disable=SC2086 # a list of words
  if ! tally_install_missing $packages >"$folder/$1.log" 2>&1 || ! command -v "$cpp" >/dev/null; then
    row "$1" - 'not run here'
    return
  fi
  version=$("$cpp" --version | head -n 1 | cut -c1-34)
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
  if CC=$c CXX=$cpp TALLY_TARGETS='own-tests' tally_build "$folder/$1" -Dtests=enabled -Dlldb=disabled \
    -Dwerror=true -Dunity=on -Dunity_size=32 -Ddebug=false -Doptimization=$level \
    -Dcpp_args="$ignored" >>"$folder/$1.log" 2>&1 &&
    tally_test "$folder/$1" --timeout-multiplier 3 --suite unit --suite golden \
      >>"$folder/$1.log" 2>&1; then
    row "$1" "$version" "$(summary_of "$folder/$1")"
  else
    failed "$1" "$version"
  fi
}

musl() {
  if ! tally_install_missing musl-tools >"$folder/musl.log" 2>&1; then
    row musl - 'not run here'
    return
  fi
  version="musl $(dpkg-query -W -f '${Version}' musl-dev)"
  # musl-gcc has no headers of the kernel.
  compile="musl-gcc -std=c11 -D_GNU_SOURCE -O2 -g -fPIC -Wall -Wextra -Werror -Ilib/include -Ilib/src
    -idirafter /usr/include -idirafter /usr/include/$(gcc -print-multiarch)"
  if {
    # shellcheck disable=SC2086 # lists of words
    $compile -shared -o "$folder/libtally-mon.so" lib/src/mon/*.c &&
      $compile -fno-stack-protector -shared -o "$folder/libtally-agent.so" lib/src/agent/*.c &&
      $compile -o "$folder/counts-itself" tests/support/counts_itself.c lib/src/mon/*.c &&
      "$folder/counts-itself"
  } >>"$folder/musl.log" 2>&1; then
    row musl "$version" "$(tail -n 1 "$folder/musl.log")"
  else
    failed musl "$version"
  fi
}

gdb() { # CELL
  if ! tally_install_missing mmdebstrap >"$folder/$1.log" 2>&1 || [ "$(id -u)" -ne 0 ]; then
    row "$1" - 'not run here'
    return
  fi
  python3 tests/support/other_gdb.py build "${1#gdb-}" "$folder/roots" >>"$folder/$1.log" 2>&1
  case $? in
    0) row "$1" "$(grep -m 1 '^GNU gdb' "$folder/$1.log")" "$(tail -n 1 "$folder/$1.log")" ;;
    2) row "$1" - 'not run here' ;;
    *) failed "$1" "$(grep -m 1 '^GNU gdb' "$folder/$1.log")" ;;
  esac
}

lldb() { # CELL
  number=${1#lldb-}
  if [ "$number" = 14 ]; then
    tally_install_missing lldb-14 liblldb-14-dev >"$folder/$1.log" 2>&1
    path=$(command -v lldb-14)
  else
    path=$(tally_unpack_lldb "$number" "$folder/lldbs" 2>"$folder/$1.log")
  fi
  if [ -z "$path" ]; then
    row "$1" - 'not run here'
    return
  fi
  version=$("$path" --version | head -n 1 | cut -c1-34)
  if tally_build "$folder/lldb" -Dtests=enabled -Dlldb=enabled -Dunity=on -Dunity_size=32 -Ddebug=false \
    >>"$folder/$1.log" 2>&1 &&
    TALLY_TEST_LLDBS=$path tally_test "$folder/lldb" --suite lldb >>"$folder/$1.log" 2>&1; then
    row "$1" "$version" "$(summary_of "$folder/lldb")"
  else
    failed "$1" "$version"
  fi
}

python() { # CELL
  python=
  for candidate in "$HOME/.pyenv/versions/${1#python-}".*/bin/python3 "python${1#python-}"; do
    # pyenv puts commands on PATH that only say what is missing.
    if [ -z "$python" ] && "$candidate" --version >/dev/null 2>&1; then
      python=$candidate
    fi
  done
  if [ -z "$python" ]; then
    row "$1" - 'not run here'
    return
  fi
  version=$("$python" --version)
  if "$python" -W error -m compileall -q -f gdb meson-module tests >"$folder/$1.log" 2>&1 &&
    PYTHONPATH=$tally_source/meson-module TALLY_CLI=${TALLY_CLI:-$tally_source/build/lib/cli/tally} \
      "$python" tests/meson/pure_test.py >>"$folder/$1.log" 2>&1; then
    row "$1" "$version" "$(grep "^Ran " "$folder/$1.log")"
  else
    failed "$1" "$version"
  fi
}

row cell version result
for cell in "$@"; do
  case $cell in
    gcc-* | clang-*) compiler "$cell" ;;
    musl) musl ;;
    gdb-*) gdb "$cell" ;;
    lldb-*) lldb "$cell" ;;
    python-*) python "$cell" ;;
    *)
      row "$cell" - 'not known'
      status=2
      ;;
  esac
done
exit $status
