#!/bin/sh
# Uses Tally's installed Debian packages as a new user would. try_debs.sh runs it in a fresh root.
#
#   sh debs_user.sh DIRECTORY
#
# DIRECTORY holds spin7030.c with spin.h, lib/README.md and consumer_mon.c. The files that it makes
# are in the home directory.
set -eu

given=$1
cd

# expect PATTERN COMMAND...: runs a command, which must succeed and print a line that matches the
# extended regular expression. Prints that line.
expect() {
  pattern=$1
  shift
  status=0
  "$@" >out 2>&1 </dev/null || status=$?
  if [ "$status" -ne 0 ] || ! grep -m 1 -E -- "$pattern" out; then
    printf 'failed: %s: status %s, no line matches: %s\n' "$*" "$status" "$pattern" >&2
    cat out >&2
    exit 1
  fi
}

# block LANGUAGE: prints the first code block of this language in lib/README.md.
block() {
  sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/{/^\`\`\`/!p; /^\`\`\`\$/q}" "$given/README.md"
}

cc -g -O1 -fno-omit-frame-pointer -o spin7030 "$given/spin7030.c"

echo '-- GDB'
row='^ *1 +(6[0-9]|7[0-9])\.[0-9]+% .* seventy( |$)'
expect "$row" gdb -q -batch -ex 'profile start' -ex run -ex 'profile report' --args ./spin7030 1
expect "$row" gdb -q -batch -ex 'profile start --backend agent' -ex run -ex 'profile report' \
  --args ./spin7030 1
expect '^Wrote [0-9]+ ticks to gdb.svg' gdb -q -batch -ex 'profile start' -ex run \
  -ex 'profile dump gdb.svg' --args ./spin7030 1

expect 'already loads the plug-in' tally setup gdb
if [ -e .gdbinit ]; then echo "failed: tally setup gdb wrote .gdbinit" >&2; exit 1; fi

echo '-- LLDB'
plugin=$(dpkg -L lldb-tally | grep '/liblldb_tally\.so$')
grep -q "plugin load $plugin" /usr/share/doc/lldb-tally/README.Debian
expect "$row" lldb -b -o "plugin load $plugin" -o 'profile start' -o run -o 'profile report' -- \
  ./spin7030 1

echo '-- the command line'
expect 'wrote spin.folded$' tally record -o spin.folded -- ./spin7030 1
expect "$row" tally report spin.folded
expect 'wrote agent.folded$' tally record --backend agent -o agent.folded -- ./spin7030 1
expect "$row" tally report agent.folded
tally convert spin.folded -o spin.svg
grep -q '</svg>' spin.svg

echo '-- Meson'
mkdir -p project
cat >project/meson.build <<'END'
project('half', 'c')
tally = import('tally', required: false)
if tally.found()
  tally.configure(fail_under: 50)
endif
test('one', executable('half', 'half.c'))
END
cat >project/half.c <<'END'
int main(int argc, char **argv) {
  (void)argv;
  if (argc > 1)
    return 1;
  return 0;
}
END
meson setup project/build project >out
expect '^half.c +75\.0% +3/4 ' tally-meson test -C project/build
expect '^half.c +75\.0% ' tally-meson report -C project/build

echo '-- the libraries'
block sh >profile.sh
sh profile.sh
block c >hot.c
# shellcheck disable=SC2046 # a list of words
cc -std=c11 -Wall -Wextra -Werror hot.c -o hot $(pkg-config --cflags --libs tally)
expect '^ +12 +42  parse$' ./hot app.folded app.callgrind
block cpp >convert.cpp
# shellcheck disable=SC2046
c++ -std=c++20 -Wall -Wextra convert.cpp -o convert $(pkg-config --cflags --libs tally)
expect '60.00% +30 +60.00% +30 +read' ./convert app.folded app.speedscope.json
# shellcheck disable=SC2046
cc -std=c11 -Wall "$given/consumer_mon.c" -o mon $(pkg-config --cflags --libs tally-mon)
expect '^accepted$' ./mon

echo '-- completions'
expect 'complete .* tally$' bash -c \
  '. /usr/share/bash-completion/completions/tally && complete -p tally'
echo "all of it works"
