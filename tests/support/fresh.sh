#!/bin/sh
# Runs gdb/try.sh and tests/run.sh in a fresh minimal Debian 12, and prints how long each takes.
# This verifies that the scripts install every package that they need.
#
#   sh tests/support/fresh.sh [option]... [try|test]...
#
#   --folder FOLDER     make the roots in FOLDER, and keep the base system there for the next time
#   --keep              keep the root of the last run, with what was built in it (needs --folder)
#   --repeat N          run each command N times, each in a root of its own
#   --no-capabilities   install the packages first; then run the command without any capability
#
# Without try or test it runs both. It must be run by root, and needs mmdebstrap. It downloads the
# packages from the Debian mirrors that this machine's apt is configured for. It copies the files
# that Git tracks, as they are in the working tree, to /root/tally in the root. The printed times do
# not include making the root. The output of a run is in FOLDER/try-N.log and FOLDER/test-N.log.
# shellcheck disable=SC2016 # other shells expand these variables
set -eu

tally_source=$(cd "$(dirname "$0")/../.." && pwd)
. "$tally_source/tests/support/build.sh"
. "$tally_source/tests/support/roots.sh"
folder=
keep=false
repeat=1
capabilities=true
commands=
while [ $# -gt 0 ]; do
  case $1 in
    --folder) folder=${2:?"--folder needs a FOLDER"}; shift ;;
    --keep) keep=true ;;
    --repeat) repeat=${2:?"--repeat needs a number"}; shift ;;
    --no-capabilities) capabilities=false ;;
    try | test) commands="$commands $1" ;;
    *) sed -n 's/^# \{0,1\}//; 2,/^$/p' "$0" >&2; exit 2 ;;
  esac
  shift
done
commands=${commands:-try test}
tally_check_root fresh.sh
if [ -z "$folder" ]; then
  $keep && { echo "fresh.sh: --keep needs --folder" >&2; exit 2; }
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
fi
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)

tally_make_base

# install_packages NAME: installs the packages that the command NAME (try or test) would install.
install_packages() {
  tally_in_root sh -c '
    . /root/tally/tests/support/packages.sh
    if [ "$1" = try ]; then
      tally_install_missing $tally_build_packages $tally_try_packages
    else
      tally_install_missing $tally_build_packages $tally_test_packages
    fi' sh "$1"
}

# fresh_root: replaces the root of the last run by the base system and the sources.
fresh_root() {
  tally_fresh_root
  mkdir "$folder/root/root/tally"
  tally_copy_sources "$folder/root/root/tally"
}

status=0
run=0
while [ "$run" -lt "$repeat" ]; do
  run=$((run + 1))
  for name in $commands; do
    case $name in
      try) script=gdb/try.sh ;;
      test) script=tests/run.sh ;;
    esac
    log=$folder/$name-$run.log
    : >"$log"
    fresh_root
    set -- sh -c "cd /root/tally && exec sh $script" # as a user types it
    if ! $capabilities; then
      install_packages "$name" >>"$log" 2>&1 || {
        tail -n 40 "$log" >&2
        exit 1
      }
      set -- setpriv --bounding-set=-all --inh-caps=-all --ambient-caps=-all "$@"
    fi
    started=$(date +%s)
    ended=0
    tally_in_root "$@" >>"$log" 2>&1 </dev/null || ended=$?
    seconds=$(($(date +%s) - started))
    printf '%s, run %d: %d min %02d s, status %d\n' "$script" "$run" $((seconds / 60)) \
      $((seconds % 60)) "$ended"
    # Print its steps, or the total of the tests.
    sed -n 's/^\[ *[0-9]* s\] .*/  &/p; s/^[0-9]* passed, .*/  &/p' "$log" | cut -c 1-100
    if [ "$ended" -ne 0 ]; then
      tail -n 40 "$log"
      status=1
    fi
  done
done
$keep || rm -rf --one-file-system "$folder/root"
exit "$status"
