# shellcheck shell=sh
# The Debian packages that Tally needs, named here and nowhere else; and how they get there.
# Sourced by the scripts. What is not quoted here is a list of words.
# shellcheck disable=SC2034,SC2086

tally_build_packages="meson ninja-build gcc g++ pkg-config libdw-dev libelf-dev libfmt-dev
  libexpected-dev libcli11-dev zlib1g-dev libzstd-dev nlohmann-json3-dev libpcre2-dev
  libpugixml-dev libprotozero-dev libcapstone-dev"
# To see it at work: gdb/try.sh.
tally_try_packages="gdb xz-utils"
# For all tests and the benchmarks: peers to compare with, and a second compiler.
tally_test_packages="$tally_try_packages libgtest-dev libbenchmark-dev valgrind gdbserver linux-perf
  python3 binutils clang git llvm libclang-rt-dev elfutils dwz procps zstd libxml2-utils lcov gcovr
  strace lldb-14 liblldb-14-dev mypy"
# Other versions of LLDB to test, beside lldb-14: unpacked, because two LLDBs cannot be installed.
tally_lldb_versions=19
# Large (450 and 300 MB), so that only .ci/run asks for them; the tests use them where they are: Go's
# pprof, which ours is held to, and a browser that opens the pictures.
tally_large_test_packages="golang-go chromium"

tally_root= # what apt-get is run by

# Those of the arguments that are not installed, one a line.
tally_missing_packages() {
  for tally_package in "$@"; do
    case $(dpkg-query -W -f '${Status}' "$tally_package" 2>/dev/null) in
      *' ok installed') ;;
      *) echo "$tally_package" ;;
    esac
  done
}

# Installs what is missing; what is there stays as it is.
tally_install_missing() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "not a Debian system: install by hand what is missing of: $*" >&2
    return 0
  fi
  tally_missing=$(tally_missing_packages "$@")
  [ -n "$tally_missing" ] || return 0
  set -- $tally_missing
  tally_root=
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      printf 'to be installed by root:\napt-get install %s\n' "$*" >&2
      return 1
    fi
    tally_root=sudo
  fi
  echo "installing $*"
  # The lists may be absent or old: fetched only then.
  for tally_package in "$@"; do
    if ! apt-cache show "$tally_package" >/dev/null 2>&1; then
      tally_apt_get update
      break
    fi
  done
  tally_apt_get install "$@" || { tally_apt_get update && tally_apt_get install "$@"; }
}

tally_apt_get() {
  tally_verb=$1
  shift
  case $tally_verb in
    install) set -- install -y --no-install-recommends --no-upgrade "$@" ;;
    *) set -- "$tally_verb" "$@" ;;
  esac
  $tally_root env DEBIAN_FRONTEND=noninteractive apt-get -q -o Dpkg::Use-Pty=0 \
    "$@" </dev/null
}

# tally_unpack_lldb VERSION FOLDER: prints the path of Debian's lldb-VERSION, which is unpacked into
# FOLDER if it is not there yet: its package does not go beside another LLDB's; its library does.
# Where it cannot be had that is said, and no path is printed.
tally_unpack_lldb() {
  tally_lldb=$2/usr/lib/llvm-$1/bin/lldb
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "lldb-$1 is left out: not a Debian system" >&2
  elif tally_install_missing "liblldb-$1" >&2 &&
      { [ -x "$tally_lldb" ] || tally_unpack "lldb-$1" "$2" >&2; }; then
    echo "$tally_lldb"
  else
    echo "lldb-$1 is left out: it could not be had" >&2
  fi
}

# tally_unpack PACKAGE FOLDER: what is in FOLDER is whole.
tally_unpack() (
  mkdir -p "$2/$1.part" && cd "$2/$1.part" &&
    { apt-get -q download "$1" </dev/null ||
      { tally_apt_get update && apt-get -q download "$1" </dev/null; }; } &&
    dpkg-deb -x ./"$1"_*.deb . && cp -a usr .. && cd .. && rm -rf "$1.part"
)
