// Tables of commands: their arguments, options and help. The parser, the help, the completion and
// the error messages of `profile` and of the `tally` program all read them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "support/result.h"

namespace tally {

// Says what an option or an argument takes. How the help names it, how it is checked and how it is
// completed follows from this.
enum class ValueKind : uint8_t {
  flag,           // none: the option is given or not
  choice,         // one of the alternatives "a|b|c"
  text,           // anything but ""
  anything,       // even "": the command itself checks it
  setting,        // of the table of commands, and then its value
  number,         // a whole one, from `least` to `most`
  size,           // of memory: 4G
  percent,        // 0 to 100
  growth,         // a percentage from 0 on
  time,           // a duration: 1.2s
  pattern,        // PCRE2
  file,           // not ""
  directory,      // an existing one
  profile_format, // one that profiles can be written in
  any_format,
  format_or_time, // a value that begins like a number is a time
  events,         // what perf samples, separated by commas
  event,          // this and the following: of the profile that is shown
  thread,
  process,
  part, // a number from `least` to `most`
  function,
  source, // a file, or a function
};

// An option of a command, or a setting, which always has a default.
struct OptionSpec {
  std::string_view name; // "frequency", typed as --frequency; "o", typed as -o
  ValueKind kind = ValueKind::flag;
  std::string_view values = {};     // "a|b|c" for a choice; otherwise a word in place of the kind's
  std::string_view fallback = {};   // the default; empty if there is none
  std::string_view summary = {};    // the lines of its help
  char letter = 0;                  // a second form: 'F', typed as -F
  std::string_view other_name = {}; // a third form: "value", typed as --value
  uint64_t least = 0, most = 0;     // the range of a number
  bool required = false;
  bool repeats = false; // each occurrence adds a value

  bool is_flag() const { return kind == ValueKind::flag; }
  std::string_view word() const; // of the value in the help: "HZ", "a|b|c"; "" for a flag
};

struct ArgumentSpec {
  std::string_view name;    // "FILE"; "a|b" for a choice
  std::string_view summary; // the lines of its help
  ValueKind kind = ValueKind::anything;
};

// The arguments of a command: "FILE", "NAME [VALUE]", "IN...", "a|b"; empty for none. `first` says
// how the first one is completed.
struct ArgumentList {
  constexpr ArgumentList(const char *words, ValueKind kind = ValueKind::anything)
      : text(words), first(kind) {}
  std::string_view text;
  ValueKind first;
};

struct CommandSpec {
  std::string_view name;
  ArgumentList arguments = "";
  std::span<const OptionSpec> options;
  std::string_view summary; // one line, as in a list of commands
  std::string_view details; // further lines; may be empty
  std::string_view example;
  std::span<const ArgumentSpec> about_arguments = {}; // empty if `details` explains them
  std::string (*more_help)() = nullptr;               // returns further sections of the help
  bool options_end = false; // all words after the first argument are arguments, too
};

// Who types the commands. In a debugger an error repeats the usage, and the last of several equal
// options counts, so that an alias can have defaults of its own. In a shell the user is referred to
// --help, and an option that is given twice is an error, because one of its values would be lost.
enum class Prompt : uint8_t { debugger, shell };

// A command and the function that performs it, in a list that has all of a table.
template <class Run> struct CommandRow {
  Run *run;
  CommandSpec spec;
};
template <class Run, size_t Count>
constexpr std::array<CommandSpec, Count> specs_of(const CommandRow<Run> (&rows)[Count]) {
  std::array<CommandSpec, Count> out{};
  for (size_t i = 0; i < Count; ++i)
    out[i] = rows[i].spec;
  return out;
}

struct CommandTable {
  std::string_view name; // "profile"
  Prompt prompt;
  std::span<const CommandSpec> commands;
  std::span<const OptionSpec> settings = {}; // of the command `config`; each has a default

  const CommandSpec *find(std::string_view command) const; // null if there is none
};

// Returns null if there is no such option.
const OptionSpec *find_option(std::span<const OptionSpec> options, std::string_view name);
// Returns the option as the user types it, "--frequency" or "-o".
std::string shown_name(const OptionSpec &option);

} // namespace tally
