# bash completions of tally and tally-meson. All words come from what these print with --help.

# The commands of a program.
_tally_commands() {
  "$@" --help 2>/dev/null | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 }
                                 on && /^  [^ ]/ { print $1 }'
}

# The options of a command: what stands before the description.
_tally_options() {
  "$@" --help 2>/dev/null | sed -nE 's/^ +(-.*)$/\1/p' | sed -E 's/  .*//' |
    grep -oE -- '(^|[ ,])--?[[:alnum:]][-[:alnum:]]*' | tr -d ' ,'
}

# What an option takes, where its help says "--option this|that".
_tally_values() {
  local option=$1
  shift
  "$@" --help 2>/dev/null | awk -v option="$option" '/^ +-/ {
    n = split($1, names, ",")
    for (i = 1; i <= n; ++i)
      if (names[i] == option && $2 ~ /\|/) {
        gsub(/\|/, "\n", $2)
        print $2
      }
  }'
}

_tally() {
  local program=$1 current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} i words=
  local previous=${COMP_WORDS[COMP_CWORD - 1]}
  COMPREPLY=()
  if [[ $current == = ]]; then # --option=, which bash takes apart
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -- ]] && return # another program's words
  done
  if ((COMP_CWORD == 1)); then
    words="$(_tally_commands "$program") $(_tally_options "$program")"
  elif [[ $current == -* ]]; then
    words=$(_tally_options "$program" "$command")
    # Which takes all that Meson's own command does.
    if [[ ${program##*/} == tally-meson && $command == test ]]; then
      words+=" $(_tally_options meson test)"
    fi
  else
    words=$(_tally_values "$previous" "$program" "$command")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current" | LC_ALL=C sort -u)
}

# Files where there is no such word.
complete -o bashdefault -o default -F _tally tally tally-meson
