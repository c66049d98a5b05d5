# shellcheck shell=sh
# The only list of the Debian packages that Tally needs, and functions that install them. The
# scripts source this file. Unquoted variables are lists of words.
# shellcheck disable=SC2034,SC2086

tally_build_packages="meson ninja-build gcc g++ pkg-config libdw-dev libelf-dev libfmt-dev
  libexpected-dev zlib1g-dev libzstd-dev nlohmann-json3-dev libpcre2-dev
  libpugixml-dev libprotozero-dev libcapstone-dev liblzma-dev
  libdebuginfod-dev"
# For gdb/try.sh.
tally_try_packages="gdb xz-utils"
# For all tests and benchmarks: tools to compare with, and a second compiler.
tally_test_packages="$tally_try_packages libgtest-dev libbenchmark-dev debuginfod valgrind gdbserver linux-perf
  python3 binutils clang git llvm libclang-rt-dev elfutils dwz procps zstd libxml2-utils lcov gcovr
  strace lldb-14 liblldb-14-dev mypy black clang-format-14
  clang-tidy-14 shellcheck universal-ctags abigail-tools man-db groff-base mandoc zsh fish graphviz
  locales"
# Large packages (450, 300, 510 and 350 MB), which only tests/full.sh installs. The suite full uses
# them if they are installed: Go's pprof, for comparisons, a browser that opens the pictures, what builds and runs
# firmware, and what builds and runs programs for another processor and a big-endian one.
tally_large_test_packages="golang-go chromium gcc-arm-none-eabi qemu-system-arm gdb-multiarch
  gcc-powerpc-linux-gnu libc6-dev-powerpc-cross gcc-aarch64-linux-gnu libc6-dev-arm64-cross
  qemu-user"
# For cross.sh, besides what a build needs: what makes a root of another architecture's packages. The
# compiler has the architecture in its name.
tally_cross_packages="qemu-user mmdebstrap python3 binutils"
# For make_debs.sh, besides those that a build needs.
tally_deb_packages="build-essential debhelper dh-python python3 liblldb-14-dev lintian"
# With these, try_debs.sh tries what the Debian packages contain.
tally_deb_try_packages="gcc g++ libc6-dev pkg-config meson"

tally_root= # the command that runs apt-get as root: sudo or empty

# Prints those of the arguments that are not installed, one per line.
tally_missing_packages() {
  for tally_package in "$@"; do
    case $(dpkg-query -W -f '${Status}' "$tally_package" 2>/dev/null) in
      *' ok installed') ;;
      *) echo "$tally_package" ;;
    esac
  done
}

# Installs the packages that are missing. It does not upgrade installed ones.
tally_install_missing() {
  if ! command -v dpkg-query >/dev/null 2>&1; then
    echo "not a Debian system: install these packages by hand if they are missing: $*" >&2
    return 0
  fi
  tally_missing=$(tally_missing_packages "$@")
  [ -n "$tally_missing" ] || return 0
  set -- $tally_missing
  tally_root=
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null 2>&1; then
      printf 'run as root:\napt-get install %s\n' "$*" >&2
      return 1
    fi
    tally_root=sudo
  fi
  echo "installing $*"
  # The package lists may be absent or old: fetch them only then.
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

# tally_unpack_lldb VERSION DIRECTORY: prints the path of Debian's lldb-VERSION, and unpacks it into
# DIRECTORY first if it is not there. The package of one LLDB conflicts with another's, but their
# library packages do not, so that the library is installed. If it cannot be obtained, prints a
# message to standard error and no path.
tally_unpack_lldb() {
  tally_lldb=$2/usr/lib/llvm-$1/bin/lldb
  if ! command -v apt-get >/dev/null 2>&1; then
    echo "lldb-$1 is skipped: not a Debian system" >&2
  elif tally_install_missing "liblldb-$1" >&2 &&
      { [ -x "$tally_lldb" ] || tally_unpack "lldb-$1" "$2" >&2; }; then
    echo "$tally_lldb"
  else
    echo "lldb-$1 is skipped: its packages could not be obtained" >&2
  fi
}

# tally_unpack PACKAGE DIRECTORY: unpacks into a temporary directory first, so that DIRECTORY never
# holds a partial package.
tally_unpack() (
  mkdir -p "$2/$1.part" && cd "$2/$1.part" &&
    { apt-get -q download "$1" </dev/null ||
      { tally_apt_get update && apt-get -q download "$1" </dev/null; }; } &&
    dpkg-deb -x ./"$1"_*.deb . && cp -a usr .. && cd .. && rm -rf "$1.part"
)
