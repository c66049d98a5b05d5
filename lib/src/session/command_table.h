// Tables of commands: their arguments, options and help. The parser, the help, the completion and
// the error messages of `profile` and of the `tally` program all read them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include <tally/result.h>

namespace tally {

// Checks a value. The error has a message alone; the parser adds the option's name.
using ValueCheck = Result<void>(std::string_view value);
// The following checks are for OptionSpec::check and ArgumentSpec::check.
ValueCheck check_events;         // events that perf can sample, or "clock"
ValueCheck check_profile_format; // a format that profiles can be written in
ValueCheck check_any_format;
ValueCheck check_time;           // a duration such as 1.2s
ValueCheck check_format_or_time; // a value that begins like a number is a time
ValueCheck check_file_name;      // not empty
ValueCheck check_directory;      // an existing directory
ValueCheck check_percent;        // 0 to 100
ValueCheck check_growth;         // a percentage from 0 on
ValueCheck check_pattern;        // PCRE2
ValueCheck check_nothing;        // any value, even an empty one: the command itself checks it

// An option of a command, or a setting, which always has a default.
struct OptionSpec {
  std::string_view name;            // "frequency", typed as --frequency; "o", typed as -o
  std::string_view values = {};     // "a|b|c" for a choice, "HZ", "N", "FILE"; empty for a flag
  std::string_view fallback = {};   // the default; empty if there is none
  std::string_view summary = {};    // the lines of its help
  char letter = 0;                  // a second form: 'F', typed as -F
  std::string_view other_name = {}; // a third form: "value", typed as --value
  uint64_t least = 0, most = 0;     // the range of a whole number; 0 and 0 for other values
  ValueCheck *check = nullptr;      // checks other values; if null, any value but "" is valid
  bool required = false;
  bool repeats = false; // each occurrence adds a value
};

struct ArgumentSpec {
  std::string_view name;    // "FILE"; "a|b" for a choice
  std::string_view summary; // the lines of its help
  ValueCheck *check = nullptr;
};

struct CommandSpec {
  std::string_view name;
  std::string_view arguments; // "FILE", "NAME [VALUE]", "IN...", "a|b"; empty for none
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
