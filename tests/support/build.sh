# shellcheck shell=sh
# Functions that copy, configure and build the sources. The scripts that source this file set
# tally_source, the root of the source tree.
# shellcheck disable=SC2154

# Prints the paths of the sources, each with a NUL: what Git tracks, or in an unpacked tarball all
# files but those of builds.
tally_source_files() {
  if [ -e .git ]; then
    git ls-files -z
  else
    find . -path './build*' -prune -o ! -type d -print0
  fi
}

# tally_copy_sources DIRECTORY: copies the sources, as they are in the working tree.
tally_copy_sources() {
  (cd "$tally_source" && tally_source_files | tar --null --no-recursion --ignore-failed-read \
    --owner=0 --group=0 -T - -cf -) | tar -C "$1" -xf -
}

# tally_configure DIRECTORY [option of meson setup]...: configures a new build directory, or changes
# the given options of an existing one.
tally_configure() {
  tally_folder=$1
  shift
  if [ -f "$tally_folder/meson-private/coredata.dat" ]; then
    [ $# -eq 0 ] || meson configure "$tally_folder" "$@" || return
  else
    meson setup "$tally_folder" "$tally_source" "$@" || return
  fi
}

# How the scripts build: all sources of a target in one compilation, which takes a third of the time,
# and without debug information. A list of words.
tally_quick='-Dunity=on -Dunity_size=40 -Ddebug=false'

# tally_configure_try DIRECTORY: configures what GDB loads, as quickly as it can be compiled, unless it
# is there. With GCC, -O0 does not compile faster. Warnings take a tenth of the time.
tally_configure_try() {
  # shellcheck disable=SC2086 # a list of words
  [ -f "$1/build.ninja" ] ||
    tally_configure "$1" -Dtests=disabled -Dlldb=disabled -Doptimization=1 -Dwarning_level=0 \
      $tally_quick
}

# tally_configure_product DIRECTORY: configures what users install, with the tests, unless it is there.
# -Og takes three quarters of the time of -O1.
tally_configure_product() {
  # shellcheck disable=SC2086 # a list of words
  [ -f "$1/build.ninja" ] ||
    tally_configure "$1" -Dtests=enabled -Dwerror=true -Doptimization=g $tally_quick
}

# tally_configure_sanitized DIRECTORY SANITIZERS: configures a build of the library's own tests, unless it
# is there. GDB itself is not instrumented and cannot load such a library. The compiler is
# Clang, which takes a quarter of GCC's time for instrumented code, and has other warnings.
# -fno-sanitize=function, because some tests call copies of a function, which lack the data that
# Clang puts before each function to check calls through pointers. The checks for null pointers take a
# tenth of the time: a null pointer that is used ends the program anyway. Those for alignment take as
# long and make objects a half larger; the fuzz targets have them. Those for the sizes of objects do
# nothing with -O0.
tally_configure_sanitized() {
  # shellcheck disable=SC2086 # a list of words
  [ -f "$1/build.ninja" ] ||
    CC=clang CXX=clang++ CC_LD=gold CXX_LD=gold tally_configure "$1" -Dtests=enabled \
      -Dlldb=disabled -Dwerror=true -Db_lundef=false -Doptimization=0 $tally_quick \
      -Dcpp_args=-fno-sanitize=alignment,function,null,object-size "-Db_sanitize=$2"
}
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:detect_stack_use_after_return=1
export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1

# tally_test DIRECTORY LOG [argument of meson test]...: builds what the chosen tests need, and runs
# them. The results are in DIRECTORY/meson-logs/LOG.json. Removes those of an older run first.
# TALLY_TEST_UNDER is a command to run the tests by (setarch -R).
tally_test() {
  tally_folder=$1 tally_log=$2
  shift 2
  rm -f "$tally_folder/meson-logs/$tally_log.json"
  # shellcheck disable=SC2086 # a list of words
  ${TALLY_TEST_UNDER:-} meson test -C "$tally_folder" --print-errorlogs --logbase "$tally_log" "$@"
}
