#!/bin/sh
# Builds Tally for another architecture, runs its own tests under qemu-user, and prints what was
# skipped and why.
#
#   sh tests/support/cross.sh ARCH [argument of meson test]...
#
# ARCH is aarch64. Without arguments the suite own runs. TALLY_BUILD names the build directory
# (build-ARCH/). What Debian's packages of ARCH contain is unpacked into its subdirectory
# sysroot/, and made again when the list of packages changes. TALLY_SETUP holds further options for
# meson setup.
#
# Tests start programs of ARCH. For these the kernel has to know qemu-user as their interpreter
# (binfmt_misc). Where the machine does not register it, this script does, in a user namespace of
# its own, which needs Linux 6.7. The rest of the machine sees nothing of it.
set -eu

script=$0
tally_source=$(cd "$(dirname "$0")/../.." && pwd)
. "$tally_source/tests/support/packages.sh"
. "$tally_source/tests/support/build.sh"
. "$tally_source/tests/support/roots.sh"

arch=${1:-}
[ $# -eq 0 ] || shift
case $arch in
  aarch64)
    debian=arm64
    machine='\xb7\x00' # EM_AARCH64 of <elf.h>, as bytes
    ;;
  *)
    sed -n 's/^# \{0,1\}//; 2,/^$/p' "$0" >&2
    exit 2
    ;;
esac
mkdir -p "${TALLY_BUILD:-$tally_source/build-$arch}"
build=$(cd "${TALLY_BUILD:-$tally_source/build-$arch}" && pwd)
sysroot=$build/sysroot
# Where programs of ARCH find their libraries.
export QEMU_LD_PREFIX="$sysroot"

# Makes the sysroot, unless there is one of the same packages.
make_sysroot() {
  packages=libgtest-dev
  for package in $tally_build_packages; do
    case $package in
      *-dev) packages=$packages,$package ;;
    esac
  done
  [ "$(cat "$sysroot/packages" 2>/dev/null)" != "$packages" ] || return 0
  rm -rf "$sysroot" "$sysroot.part"
  mkdir "$sysroot.part"
  suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  tally_list_sources "$suite" "$build/sources.list" || return
  echo "unpacking $debian packages: $packages"
  # As a tar file, it can be unpacked without being root.
  mmdebstrap --quiet --variant=extract --architectures=$debian --include="$packages" \
    "$suite" "$build/sysroot.tar" "$build/sources.list" || return
  tar -C "$sysroot.part" --no-same-owner --exclude './dev/*' -xf "$build/sysroot.tar" || return
  rm "$build/sysroot.tar"
  # The linker would follow absolute links to the machine's own libraries.
  find "$sysroot.part/usr/lib" -type l -lname '/*' -exec sh -c '
    for link; do
      ln -sfn --relative "$0$(readlink "$link")" "$link"
    done' "$sysroot.part" {} + || return
  echo "$packages" >"$sysroot.part/packages"
  mv "$sysroot.part" "$sysroot"
}

write_cross_file() {
  cat <<EOF
[binaries]
c = '$arch-linux-gnu-gcc'
cpp = '$arch-linux-gnu-g++'
ar = '$arch-linux-gnu-ar'
strip = '$arch-linux-gnu-strip'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-$arch', '-L', '$sysroot']

[built-in options]
c_args = ['--sysroot=$sysroot']
c_link_args = ['--sysroot=$sysroot']
cpp_args = ['--sysroot=$sysroot']
cpp_link_args = ['--sysroot=$sysroot']

[properties]
needs_exe_wrapper = true
sys_root = '$sysroot'
pkg_config_libdir = ['$sysroot/usr/lib/$arch-linux-gnu/pkgconfig', '$sysroot/usr/share/pkgconfig']

[host_machine]
system = 'linux'
cpu_family = '$arch'
cpu = '$arch'
endian = 'little'
EOF
}

# Prints the line that registers qemu-user for 64-bit little-endian programs of ARCH. The kernel
# reads the bytes and their mask; P keeps argv[0], and F opens qemu-user now, so that it is found
# under any root.
registration() {
  printf '%s' ":qemu-$arch:M:0:" '\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00' \
    "$machine" ':\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff:' \
    "$(command -v "qemu-$arch"):PF"
}

can_start_programs() {
  printf 'int main(void) { return 0; }\n' >"$build/starts.c" &&
    "$arch-linux-gnu-gcc" -static -o "$build/starts" "$build/starts.c" &&
    "$build/starts" 2>/dev/null
}

run_tests() {
  export TALLY_EMULATOR="qemu-$arch" # tests skip what it lacks
  status=0
  [ $# -gt 0 ] || set -- --suite own
  tally_test "$build" testlog --timeout-multiplier 10 "$@" || status=$?
  python3 "$tally_source/tests/support/summary.py" "$build/meson-logs/testlog.json" || status=1
  exit "$status"
}

if [ -n "${TALLY_CROSS_REGISTERS:-}" ]; then
  unset TALLY_CROSS_REGISTERS
  if ! mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc ||
      ! registration >/proc/sys/fs/binfmt_misc/register || ! can_start_programs; then
    echo "cross.sh: cannot let the kernel start programs of $arch: install qemu-user-binfmt" >&2
    exit 1
  fi
  run_tests "$@"
fi

# shellcheck disable=SC2086 # lists of words
tally_install_missing $tally_build_packages $tally_cross_packages "g++-$arch-linux-gnu"
make_sysroot
if ! [ -f "$build/meson-private/coredata.dat" ]; then
  write_cross_file >"$build/cross"
  # shellcheck disable=SC2086 # a list of words
  tally_configure "$build" --cross-file "$build/cross" -Dtests=enabled -Dlldb=disabled -Dgdb=false \
    -Doptimization=1 $tally_quick ${TALLY_SETUP:-}
fi
if can_start_programs; then
  run_tests "$@"
fi
TALLY_CROSS_REGISTERS=1 exec unshare --user --map-root-user --mount sh "$script" "$arch" "$@"
