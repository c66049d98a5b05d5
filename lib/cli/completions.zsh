#compdef tally tally-meson
# zsh completions for tally and tally-meson. All words come from the output of their --help.

# Prints a line "COMMAND:DESCRIPTION" for each command of a program.
_tally_commands() {
  _call_program commands "$@" --help 2>/dev/null |
    awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 }
         on && /^  [^ ]/ { name = $1; sub(/^ +[^ ]+ +/, ""); print name ":" $0 }'
}

# Prints a line "OPTION<Tab>VALUES<Tab>DESCRIPTION" for each option of a command. --help describes
# options beside them, or in lines that are indented by more.
_tally_options() {
  _call_program options "$@" --help 2>/dev/null | awk '
    function show(    i) {
      for (i = 1; i <= n; ++i)
        print names[i] "\t" values "\t" text
      n = 0
    }
    function add(word) { text = text (text == "" ? "" : " ") word }
    /^  -/ {
      show()
      values = text = ""
      for (i = 1; i <= NF && $i ~ /^-/; ++i) {
        names[++n] = $i
        sub(/,$/, "", names[n])
      }
      typed = $0
      sub(/^ +/, "", typed)
      sub(/  .*/, "", typed)
      if (i <= NF && split(typed, words, " ") >= i) {
        values = $i
        ++i
      }
      for (; i <= NF; ++i)
        if ($i != "...")
          add($i)
      next
    }
    /^ *$/ { show() }
    n { sub(/^ +/, ""); add($0) }
    END { show() }'
}

# Prints the values of an argument whose help reads "this|that".
_tally_choices() {
  _call_program arguments "$@" --help 2>/dev/null |
    awk '/^Arguments:/ { on = 1; next } /^$/ { on = 0 }
         on && $1 ~ /\|/ { gsub(/\|/, "\n", $1); print $1 }'
}

_tally() {
  local program=$words[1] command=$words[2] option= line
  local -a found fields
  local -i separator=${words[(ie)--]}
  if ((separator < CURRENT)); then # words after -- belong to another program
    shift $separator words
    ((CURRENT -= separator))
    _normal
    return
  fi
  if ((CURRENT == 2)) && [[ $PREFIX != -* ]]; then
    found=(${(f)"$(_tally_commands $program)"})
    if (($#found)); then
      _describe -t commands command found
    else
      _files
    fi
    return
  fi
  if [[ $PREFIX == --*=* ]]; then
    option=${PREFIX%%=*}
    compset -P '*='
  elif [[ $PREFIX != -* && $words[CURRENT-1] == -* ]]; then
    option=$words[CURRENT-1]
  fi
  ((CURRENT == 2)) && command=
  found=(${(f)"$(_tally_options $program $command)"})
  # This command also accepts the options of `meson test`.
  if [[ ${program:t} == tally-meson && $command == test ]]; then
    found+=(${(f)"$(_tally_options meson test)"})
  fi
  if [[ -n $option ]]; then
    for line in $found; do
      fields=("${(@ps:\t:)line}")
      if [[ $fields[1] == $option && $fields[2] == *'|'* ]]; then
        compadd -- ${(s:|:)fields[2]}
        return
      fi
    done
    _files
  elif [[ $PREFIX == -* ]]; then
    for line in $found; do
      fields=("${(@ps:\t:)line}")
      found[(ie)$line]=$fields[1]:$fields[3]
    done
    _describe -o option found
  else
    found=(${(f)"$(_tally_choices $program $command)"})
    if (($#found)); then
      compadd -- $found
    else
      _files
    fi
  fi
}

_tally "$@"
