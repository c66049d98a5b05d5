#compdef tally tally-meson
# zsh completions for tally and tally-meson. All words come from the output of their --help.

# Prints the help of a program or of its command. `_call_program` is not used, because it evaluates
# its words, and these were typed but not entered. The program may be typed with quotes and a tilde.
_tally_help() {
  command ${(Q)~1} ${@[2,-1]} --help 2>/dev/null
}

# Prints a line "COMMAND:DESCRIPTION" for each command of a program.
_tally_commands() {
  _tally_help "$@" |
    awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 }
         on && /^  [^ ]/ { name = $1; sub(/^ +[^ ]+ +/, ""); print name ":" $0 }'
}

# Prints a line "OPTION<Tab>VALUES<Tab>DESCRIPTION" for each option of a command. --help describes
# options beside them, or in lines that are indented by more.
_tally_options() {
  _tally_help "$@" | awk '
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

# Prints the names of the paragraph of a command's help that reads "FORMAT is one of this, that."
_tally_formats() {
  _tally_help "$@" | awk '
    /(FORMAT|FMT) is one of / { on = 1; sub(/.* is one of /, "") }
    on {
      names = $0
      last = sub(/[.].*/, "", names)
      gsub(/[ ,]+/, "\n", names)
      print names
      if (last) exit
    }'
}

# Prints the values of an argument whose help reads "this|that".
_tally_choices() {
  _tally_help "$@" |
    awk '/^Arguments:/ { on = 1; next } /^$/ { on = 0 }
         on && $1 ~ /\|/ { gsub(/\|/, "\n", $1); print $1 }'
}

_tally() {
  local program=$words[1] command=$words[2] option= line
  # A relative path may lead to a stranger's program, which is not run before the command is.
  [[ $program == */* && $program != /* ]] && program=${program##*/}
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
  fi
  ((CURRENT == 2)) && command=
  [[ -n ${command//[a-z]/} ]] && return 1 # no command has such a name
  found=(${(f)"$(_tally_options $program $command)"})
  # This command also accepts the options of `meson test`.
  if [[ ${program:t} == tally-meson && $command == test ]]; then
    found+=(${(f)"$(_tally_options meson test)"})
  fi
  # The word before is an option that takes a value, if its line names values.
  if [[ -z $option && $PREFIX != -* && $words[CURRENT-1] == -* ]]; then
    for line in $found; do
      fields=("${(@ps:\t:)line}")
      [[ $fields[1] == $words[CURRENT-1] && -n $fields[2] ]] && option=$fields[1]
    done
  fi
  if [[ -n $option ]]; then
    for line in $found; do
      fields=("${(@ps:\t:)line}")
      if [[ $fields[1] == $option && $fields[2] == *'|'* ]]; then
        compadd -- ${(s:|:)fields[2]}
        return
      fi
      if [[ $fields[1] == $option && $fields[2] == (FORMAT|FMT)* ]]; then
        compadd -- ${(f)"$(_tally_formats $program $command)"}
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
