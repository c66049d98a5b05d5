# bash completions for tally and tally-meson. All words come from the output of their --help.

# Prints the commands of a program, one per line.
_tally_commands() {
  "$@" --help 2>/dev/null | awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 }
                                 on && /^  [^ ]/ { print $1 }'
}

# Prints the options of a command, which --help lists before their descriptions.
_tally_options() {
  "$@" --help 2>/dev/null | sed -nE 's/^ +(-.*)$/\1/p' | sed -E 's/  .*//' |
    grep -oE -- '(^|[ ,])--?[[:alnum:]][-[:alnum:]]*(=[[:lower:]]+(-[[:lower:]]+)*)?' | tr -d ' ,'
}

# Prints the names of the paragraph of a command's help that reads "FORMAT is one of this, that."
_tally_formats() {
  "$@" --help 2>/dev/null | awk '/(FORMAT|FMT) is one of / { on = 1; sub(/.* is one of /, "") }
    on {
      names = $0
      last = sub(/[.].*/, "", names)
      gsub(/[ ,]+/, "\n", names)
      print names
      if (last) exit
    }'
}

# Prints the values of an option whose help reads "--option this|that", or "--option FORMAT".
_tally_values() {
  local option=$1
  shift
  if "$@" --help 2>/dev/null | grep -qE -- "^ +(-., )?$option (FORMAT|FMT)"; then
    _tally_formats "$@"
  fi
  "$@" --help 2>/dev/null | awk -v option="$option" '/^ +-/ {
    n = split($1, names, ",")
    for (i = 1; i <= n; ++i)
      if (names[i] == option && $2 ~ /\|/) {
        gsub(/\|/, "\n", $2)
        print $2
      }
  }'
}

# Prints the values of an argument whose help reads "this|that".
_tally_choices() {
  "$@" --help 2>/dev/null | awk '/^Arguments:/ { on = 1; next } /^$/ { on = 0 }
                                 on && $1 ~ /\|/ { gsub(/\|/, "\n", $1); print $1 }'
}

_tally() {
  local program=$1 current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} i words=
  local previous=${COMP_WORDS[COMP_CWORD - 1]}
  # A relative path may lead to a stranger's program, which is not run before the command is.
  [[ $program == */* && $program != /* ]] && program=${program##*/}
  COMPREPLY=()
  if [[ $current == = ]]; then # bash splits --option=VALUE at the =
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    [[ ${COMP_WORDS[i]} == -- ]] && return # words after -- belong to another program
  done
  if ((COMP_CWORD == 1)); then
    words="$(_tally_commands "$program") $(_tally_options "$program")"
  elif [[ $current == -* ]]; then
    words=$(_tally_options "$program" "$command")
    # This command also accepts the options of `meson test`.
    if [[ ${program##*/} == tally-meson && $command == test ]]; then
      words+=" $(_tally_options meson test)"
    fi
  else
    words=$(_tally_values "$previous" "$program" "$command")
    [[ -n $words ]] || words=$(_tally_choices "$program" "$command")
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current" | LC_ALL=C sort -u)
}

# Completes file names if no word matches.
complete -o bashdefault -o default -F _tally tally tally-meson
