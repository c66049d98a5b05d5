# shellcheck shell=sh
# Functions that make a fresh minimal Debian 12 in a directory, and run commands in it. fresh.sh and
# try_debs.sh source this file. They set `folder`: the directory holds base.tar, the base system,
# which is kept for the next time, and root/, the root.
# shellcheck disable=SC2154,SC2016 # `folder`; other shells and apt-get expand the variables in ''

tally_root_suite=bookworm

# tally_check_root NAME: ends the script NAME unless it can make roots.
tally_check_root() {
  if [ "$(id -u)" -ne 0 ] || ! command -v mmdebstrap >/dev/null 2>&1; then
    echo "$1: must be run by root, and needs mmdebstrap (apt-get install mmdebstrap)" >&2
    exit 2
  fi
}

# Prints the lines of sources.list for the Debian packages of a suite on this machine.
tally_root_sources() {
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' 'Origin: Debian' "Codename: $1" | sed 's/^/deb /' | sort -u
}

# tally_list_sources SUITE FILE: writes the lines of sources.list for a suite and its updates.
tally_list_sources() {
  [ -n "$(tally_root_sources "$1")" ] || apt-get -q update || return
  if [ -z "$(tally_root_sources "$1")" ]; then
    echo "this machine's apt has no source of Debian's $1" >&2
    return 1
  fi
  {
    tally_root_sources "$1"
    tally_root_sources "$1-updates"
    tally_root_sources "$1-security"
  } >"$2"
}

# Makes base.tar unless it exists.
tally_make_base() {
  ! [ -f "$folder/base.tar" ] || return 0
  tally_list_sources $tally_root_suite "$folder/sources.list" || return
  echo "making a minimal $tally_root_suite"
  mmdebstrap --quiet --variant=minbase --format=tar $tally_root_suite "$folder/base.tar.part" \
    "$folder/sources.list" || return
  mv "$folder/base.tar.part" "$folder/base.tar"
}

# Replaces the root of the last run by the base system.
tally_fresh_root() {
  if [ -e "$folder/root" ] && ! [ -f "$folder/base.tar" ]; then
    echo "$folder/root was not made by this script, and is left as it is" >&2
    return 1
  fi
  rm -rf --one-file-system "$folder/root"
  mkdir -p "$folder/root"
  tar -C "$folder/root" -xf "$folder/base.tar" --exclude './dev/*' || return
  for tally_file in /etc/hosts /etc/resolv.conf; do
    [ ! -f $tally_file ] || cp -L $tally_file "$folder/root$tally_file"
  done
}

# tally_in_root COMMAND...: runs COMMAND in the root, with /dev, /sys and a /proc of its own. The root is
# a mount of its own, without which nothing in it may change how mounts propagate. The
# mounts are in a mount namespace of their own, so that none remains, however the script ends. The
# shell remains as process 1, because it reaps orphans.
tally_in_root() {
  unshare --mount --pid --fork --kill-child sh -c '
    mount --bind "$0" "$0" && cd "$0" && mount -t proc proc "$0/proc" && mount --rbind /sys "$0/sys" && mount --rbind /dev "$0/dev" ||
      exit 1
    chroot "$0" "$@"
    exit $?' "$folder/root" env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
}
