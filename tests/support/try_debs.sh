#!/bin/sh
# Installs Tally's Debian packages in a fresh minimal Debian 12, uses them as a new user, removes and
# purges them, and compares the lists of all files before and after.
#
#   sh tests/support/try_debs.sh [--folder FOLDER] DIRECTORY
#
# DIRECTORY holds the packages, as make_debs.sh leaves them. The root is made in FOLDER, and its base
# system is kept there for the next time. The script must be run by root, and needs mmdebstrap. It
# downloads packages from the Debian mirrors that this machine's apt is configured for.
# shellcheck disable=SC2016 # shells in the root expand these variables
set -eu

tally_source=$(cd "$(dirname "$0")/../.." && pwd)
. "$tally_source/tests/support/packages.sh"
. "$tally_source/tests/support/roots.sh"
folder=
if [ "${1:-}" = --folder ]; then
  folder=${2:?"--folder needs a FOLDER"}
  shift 2
fi
if [ $# -ne 1 ]; then
  sed -n 's/^# \{0,1\}//; 2,/^$/p' "$0" >&2
  exit 2
fi
tally_check_root try_debs.sh
debs=$(cd "$1" && pwd)
if [ -z "$folder" ]; then
  folder=$(mktemp -d)
  trap 'rm -rf --one-file-system "$folder"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

step() {
  printf '== %s\n' "$*"
}

# apt ARGUMENT...: runs apt-get in the root, and shows its output only if it fails.
apt() {
  tally_in_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 "$@" \
    >"$folder/apt.log" 2>&1 </dev/null || {
    tail -n 40 "$folder/apt.log" >&2
    return 1
  }
}

# files NAME: lists all files with their sizes in FOLDER/NAME, without what packages do not own: apt's
# and dpkg's records, caches, logs, and the files of the new user and of this script.
files() {
  (cd "$folder/root" && find . -xdev \( -path ./var/lib/dpkg -o -path ./var/lib/apt \
    -o -path ./var/cache -o -path ./var/log -o -path ./tmp -o -path ./run -o -path ./home \
    -o -path ./trial \) -prune -o -type f -printf '%p %s\n' -o -printf '%p\n') |
    LC_ALL=C sort >"$folder/$1"
}

# quiet_gdb: checks that GDB starts without a message.
quiet_gdb() {
  said=$(tally_in_root gdb -q -batch -ex 'print 6 * 7' 2>&1)
  [ "$said" = '$1 = 42' ] || { printf 'failed: GDB says: %s\n' "$said" >&2; exit 1; }
}

tally_make_base
tally_fresh_root
mkdir "$folder/root/trial"
cp "$debs"/*.deb "$tally_source/lib/README.md" "$tally_source/tests/support/debs_user.sh" \
  "$tally_source/tests/programs/spin.h" "$tally_source/tests/programs/spin7030.c" \
  "$tally_source/tests/abi/consumer/consumer_mon.c" "$folder/root/trial"
ours=
for file in "$debs"/*.deb; do
  ours="$ours $(dpkg-deb -f "$file" Package)"
done

step "what a user has, and what the packages depend on"
apt update
# shellcheck disable=SC2086 # a list of words
apt install $tally_deb_try_packages
tally_in_root sh -c 'apt-get -q -s install /trial/*.deb' | sed -n 's/^Inst \([^ ]*\) .*/\1/p' |
  sort >"$folder/installed"
needed=
while read -r package; do
  case " $ours " in
    *" $package "*) ;;
    *) needed="$needed $package" ;;
  esac
done <"$folder/installed"
# shellcheck disable=SC2086 # a list of words
apt install --no-install-recommends $needed
tally_in_root useradd --create-home --shell /bin/bash new
quiet_gdb # Python may compile modules of GDB itself
files before

step "install:$ours"
tally_in_root env DEBIAN_FRONTEND=noninteractive sh -c '
  apt-get -q -y -o Dpkg::Use-Pty=0 install /trial/*.deb' >"$folder/apt.log" 2>&1 </dev/null || {
  cat "$folder/apt.log" >&2
  exit 1
}
files installed-files
echo "$(LC_ALL=C comm -13 "$folder/before" "$folder/installed-files" | wc -l) files and directories"
quiet_gdb

step 'use them, as a new user'
tally_in_root su -l new -c 'sh /trial/debs_user.sh /trial' </dev/null
# Nothing that root runs may add to the packages' files.
tally_in_root gdb -q -batch -ex 'help profile' >/dev/null
tally_in_root tally-meson --help >/dev/null
tally_in_root tally --version

step 'remove gdb-tally, so that its configuration file remains'
apt remove gdb-tally
[ -f "$folder/root/etc/gdb/gdbinit.d/tally.py" ]
quiet_gdb
step 'purge them'
# shellcheck disable=SC2086 # a list of words
apt purge $ours
quiet_gdb
files after
if ! diff "$folder/before" "$folder/after"; then
  echo 'failed: these files differ (<: before, >: after)' >&2
  exit 1
fi
echo "the same $(wc -l <"$folder/before") files and directories as before"
rm -rf --one-file-system "$folder/root"
