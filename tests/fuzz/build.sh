#!/bin/sh
# Builds the fuzzers into $OUT, with their corpora and dictionaries. It is a build script as OSS-Fuzz
# and ClusterFuzzLite call it: CC, CXX, CFLAGS, CXXFLAGS and LIB_FUZZING_ENGINE choose the sanitizer
# and the engine. Without them it builds for libFuzzer, with AddressSanitizer and
# UndefinedBehaviorSanitizer, into build-fuzz/out of the source tree.
set -eu

tally_source=$(cd "$(dirname "$0")/../.." && pwd)
. "$tally_source/tests/support/packages.sh"
work=${WORK:-$tally_source/build-fuzz}
OUT=${OUT:-$work/out}
sanitizers=
if [ -z "${LIB_FUZZING_ENGINE:-}" ]; then
  sanitizers=-Db_sanitize=address,undefined
fi
export CC="${CC:-clang}" CXX="${CXX:-clang++}"
# OSS-Fuzz has its own C++ library, but the libraries that Tally needs are built with the compiler's.
CXXFLAGS=$(printf '%s' "${CXXFLAGS:-}" | sed 's/-stdlib=libc++//g')
export CXXFLAGS

# shellcheck disable=SC2086 # a list of words
tally_install_missing $tally_build_packages clang libclang-rt-dev python3 zip
mkdir -p "$OUT/lib"
if ! [ -f "$work/build/build.ninja" ]; then
  # -O1 finds as much as -O2, and builds in half the time.
  meson setup "$work/build" "$tally_source" -Dfuzzers=enabled -Dtests=enabled -Dlldb=disabled \
    -Dgdb=false -Db_lundef=false -Doptimization=1 -Dunity=on -Dunity_size=32 \
    -Dfuzz_engine="${LIB_FUZZING_ENGINE:--fsanitize=fuzzer}" $sanitizers
fi
ninja -C "$work/build" fuzzers

for fuzzer in "$work"/build/tests/fuzz/*-fuzz; do
  name=$(basename "$fuzzer" -fuzz)
  cp "$fuzzer" "$OUT/$name"
  # The fuzzers also run on machines that have no library but a C library as new as this one.
  ldd "$fuzzer" | while read -r library arrow path _; do
    case $library in
    libc.so.* | libm.so.* | libdl.so.* | libpthread.so.* | librt.so.*) ;;
    *) [ "$arrow" != '=>' ] || cp -uL "$path" "$OUT/lib/$library" ;;
    esac
  done
  (cd "$tally_source/tests/fuzz/corpus/$name" && zip -qr "$OUT/$name.zip" .)
  mv "$OUT/$name.zip" "$OUT/${name}_seed_corpus.zip"
  if [ -f "$tally_source/tests/fuzz/$name.dict" ]; then
    cp "$tally_source/tests/fuzz/$name.dict" "$OUT"
  fi
done
