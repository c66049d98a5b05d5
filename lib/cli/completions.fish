# fish completions for tally and tally-meson. All words come from the output of their --help.

# Prints a line "COMMAND<Tab>DESCRIPTION" for each command of a program.
function __tally_commands
    command $argv --help 2>/dev/null |
        awk '/^Commands:/ { on = 1; next } /^$/ { on = 0 }
             on && /^  [^ ]/ { name = $1; sub(/^ +[^ ]+ +/, ""); print name "\t" $0 }'
end

# Prints a line "OPTION<Tab>VALUES<Tab>DESCRIPTION" for each option of a command. --help describes
# options beside them, or in lines that are indented by more.
function __tally_options
    command $argv --help 2>/dev/null | awk '
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
end

# Prints the names of the paragraph of a command's help that reads "FORMAT is one of this, that."
function __tally_formats
    command $argv --help 2>/dev/null | awk '
        /(FORMAT|FMT) is one of / { on = 1; sub(/.* is one of /, "") }
        on {
            names = $0
            last = sub(/[.].*/, "", names)
            count = split(names, each, /[ ,]+/)
            for (i = 1; i <= count; ++i)
                if (each[i] != "")
                    print each[i]
            if (last) exit
        }'
end

# Prints the values of an option whose help reads "--option this|that", or "--option FORMAT".
function __tally_values
    set -l option $argv[1]
    for line in (__tally_options $argv[2..-1])
        set -l fields (string split \t -- $line)
        if test "$fields[1]" = $option; and string match -q '*|*' -- $fields[2]
            string split '|' -- $fields[2]
            return
        end
        if test "$fields[1]" = $option; and string match -qr '^(FORMAT|FMT)' -- $fields[2]
            __tally_formats $argv[2..-1]
            return
        end
    end
end

# Prints the values of an argument whose help reads "this|that".
function __tally_choices
    command $argv --help 2>/dev/null |
        awk '/^Arguments:/ { on = 1; next } /^$/ { on = 0 }
             on && $1 ~ /\|/ { gsub(/\|/, "\n", $1); print $1 }'
end

function __tally_words
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    # A relative path may lead to a stranger's program, which is not run before the command is.
    if string match -q -- '*/*' $program; and not string match -q -- '/*' $program
        set program (string replace -r '.*/' '' -- $program)
    end
    set -l found
    # Words after -- belong to another program.
    if contains -- -- $words; or not type -q $program
        __fish_complete_path $current
        return
    end
    if string match -q -- '--*=*' $current
        set -l option (string split -m 1 = -- $current)[1]
        set found $option=(__tally_values $option $program $words[2])
    else if string match -q -- '-*' $current
        set -l lines (__tally_options $program $words[2])
        # This command also accepts the options of `meson test`.
        if string match -q -- '*tally-meson' $program; and test "$words[2]" = test
            set -a lines (__tally_options meson test)
        end
        set found (string replace -r '\t.*\t' \t -- $lines)
    else if test (count $words) -eq 1
        set found (__tally_commands $program)
    else if string match -q -- '-*' $words[-1]
        set found (__tally_values $words[-1] $program $words[2])
    else
        set found (__tally_choices $program $words[2])
    end
    if set -q found[1]
        printf '%s\n' $found
    else
        __fish_complete_path $current
    end
end

# This file is installed under the name of each program. The last one that is loaded replaces the
# completions of the others, which are the same.
for program in tally tally-meson
    complete -c $program -e
    complete -c $program -f -a '(__tally_words)'
end
