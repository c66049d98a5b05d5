#!/bin/sh
# Makes the Debian packages of Tally from the working tree, and checks them with lintian.
#
#   sh tests/support/make_debs.sh DIRECTORY
#
# It leaves the packages in DIRECTORY, and removes older ones of Tally there. It packs the files that Git
# tracks, as they are in the working tree, with tests/support/debian/ as their debian/. Files whose
# names end in .in get the version, the date of the last commit and the build dependencies. It
# installs missing build dependencies, and fails if lintian reports an error.
#
# DEBFULLNAME and DEBEMAIL name the maintainer, as for Debian's own tools. DEB_BUILD_OPTIONS is
# "nocheck noautodbgsym" by default: packages of debug information need twice the time.
set -eu

tally_source=$(cd "$(dirname "$0")/../.." && pwd)
. "$tally_source/tests/support/packages.sh"
. "$tally_source/tests/support/build.sh"
if [ $# -ne 1 ]; then
  sed -n 's/^# \{0,1\}//; 2,/^$/p' "$0" >&2
  exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)

# shellcheck disable=SC2086 # lists of words
tally_install_missing $tally_build_packages $tally_deb_packages

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
tree=$work/tally
mkdir "$tree"
tally_copy_sources "$tree"
cp -R "$tree/tests/support/debian" "$tree/debian"

if [ -z "${SOURCE_DATE_EPOCH:-}" ]; then
  if [ -e "$tally_source/.git" ]; then
    SOURCE_DATE_EPOCH=$(git -C "$tally_source" log -1 --format=%ct)
  else # an unpacked tarball
    SOURCE_DATE_EPOCH=$(stat -c %Y "$tally_source/CHANGELOG.md")
  fi
fi
DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS-nocheck noautodbgsym parallel=$(nproc)}
export SOURCE_DATE_EPOCH DEB_BUILD_OPTIONS
case " $DEB_BUILD_OPTIONS " in
  *' noautodbgsym '*)
    DEB_CFLAGS_APPEND="${DEB_CFLAGS_APPEND:-} -g0"
    DEB_CXXFLAGS_APPEND="${DEB_CXXFLAGS_APPEND:-} -g0"
    export DEB_CFLAGS_APPEND DEB_CXXFLAGS_APPEND
    ;;
esac

# Every build system of Debian has these installed.
build_packages=
for package in $tally_build_packages $tally_deb_packages; do
  case $package in
    gcc | g++ | build-essential | debhelper | lintian) ;;
    *) build_packages="$build_packages, $package" ;;
  esac
done
version=$(sed -n 's/^#define TALLY_VERSION "\(.*\)"$/\1/p' "$tree/lib/include/tally/version.h")
# Nobody receives mail at .example (RFC 2606).
maintainer="${DEBFULLNAME:-The Tally authors} <${DEBEMAIL:-packages@tally.example}>"
maintainer=$(printf '%s' "$maintainer" | sed 's/[&/\\]/\\&/g') # as sed replaces by it
for file in "$tree"/debian/*.in; do
  sed -e "s/@version@/$version/g" \
    -e "s/@maintainer@/$maintainer/" \
    -e "s/@date@/$(LC_ALL=C date -u -R -d "@$SOURCE_DATE_EPOCH")/" \
    -e "s/@triplet@/$(dpkg-architecture -qDEB_HOST_MULTIARCH)/" \
    -e "s/@build_packages@/${build_packages#, }/" "$file" >"${file%.in}"
  rm "$file"
done

(cd "$tree" && dpkg-buildpackage -b -us -uc)
sed -n 's/^Package: //p' "$tree/debian/control" | while read -r package; do
  rm -f "$out/$package"_*.deb
done
rm -f "$out"/tally_*.buildinfo "$out"/tally_*.changes
mv "$work"/*.deb "$work"/*.buildinfo "$work"/*.changes "$out"
ls -l "$out"
lintian --version
lintian --allow-root --fail-on error "$out"/*.changes
