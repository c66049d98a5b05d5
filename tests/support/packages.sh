# shellcheck shell=sh
# The Debian packages that Tally needs, named here and nowhere else; and how they get there.
# Sourced by the scripts. What is not quoted here is a list of words.
# shellcheck disable=SC2034,SC2086

tally_build_packages="meson ninja-build gcc g++ pkg-config libdw-dev libelf-dev libfmt-dev
  libexpected-dev libcli11-dev zlib1g-dev libzstd-dev nlohmann-json3-dev libpcre2-dev
  libpugixml-dev"
# To see it at work: gdb/try.sh.
tally_try_packages="gdb valgrind xz-utils python3 binutils"
# For all tests and the benchmarks: peers to compare with, and a second compiler.
tally_test_packages="$tally_try_packages libgtest-dev libbenchmark-dev gdbserver linux-perf clang
  llvm libclang-rt-dev elfutils procps zstd libxml2-utils lcov gcovr strace"

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
