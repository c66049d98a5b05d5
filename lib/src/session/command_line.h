// Parses command lines by a table of commands.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "session/command_table.h"
#include "support/result.h"
#include "transform/sample_filter.h"

namespace tally {

struct Words {
  std::vector<std::string> words;
  bool open = false;   // no blank follows the last word, so that it may be incomplete
  bool quoted = false; // the last word contains a quote that is not closed
};

// Splits a line at blanks. '…' and "…" preserve blanks, as do brackets that are closed again
// ("parse(char const*, int)"); \ preserves the next character.
Words split_words(std::string_view line);

struct ParsedCommand {
  const CommandSpec *spec = nullptr;
  std::vector<std::string> arguments;
  // The options in the order in which they were given; the value of a flag is "".
  std::vector<std::pair<const OptionSpec *, std::string>> options;
  bool wants_help = false; // --help was given; the rest of the line was not read

  bool has(std::string_view option) const;
  std::string_view value(std::string_view option) const; // the last one given, or the default
  std::vector<std::string> values(std::string_view option) const; // all that were given
  uint64_t number(std::string_view option) const; // value() as a number; 0 if there is none
  // Returns the value of --limit. Without --limit, --json returns 0, which means all rows.
  uint32_t limit() const;
  // Returns what --thread, --part, --event, --from, --to and the patterns select. The values of
  // --from and --to are checked; one that is not a time is the name of a format, and selects
  // nothing.
  SampleFilter filter() const;
  std::string argument(size_t index) const; // "" if it was not given
  // Returns the file that the first argument names, with "~/" expanded. Rejects "-", because the
  // standard streams belong to the debugger.
  Result<std::string> file() const;
};

std::string in_home(std::string_view path); // replaces a leading "~/" by the home directory

// Converts a value that was checked to be a number.
uint64_t number_of(std::string_view value);
// Parses a number of bytes above 0, or of KiB, MiB or GiB: "500000", "64K", "512M", "4G". Anything
// else is invalid_argument, with a message alone.
Result<uint64_t> byte_size_of(std::string_view text);

// Checks a value against its option. The error names the option, the value and the expected values.
Result<void> check_value(const OptionSpec &option, std::string_view value,
                         std::string_view shown_name);

// Finds a setting by its name. Fails with invalid_argument if there is no such setting.
Result<const OptionSpec *> setting_by_name(const CommandTable &table, std::string_view name);

// Parses the words of a command, the first of which is its name. If --help is one of the command's
// options, everything after it is ignored.
Result<ParsedCommand> parse_words(const CommandTable &table, std::vector<std::string> words);
// Splits a line into words and parses them.
Result<ParsedCommand> parse_line(const CommandTable &table, std::string_view line);

} // namespace tally
