// Parses the `profile` command line.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tally/result.h>
#include <tally/sample_filter.h>

#include "session/session.h"

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
  std::map<std::string, std::string, std::less<>> options; // without "--"; flags are ""

  bool has(std::string_view option) const { return options.find(option) != options.end(); }
  std::string_view value(std::string_view option) const; // the given value, or the default
  // Returns the value of --limit. Without --limit, --json returns 0, which means all rows.
  uint32_t limit() const;
  SampleFilter filter() const; // the samples that --thread and --part select
  // Returns the file that the first argument names, with "~/" expanded. Rejects "-", because the
  // standard streams belong to the debugger.
  Result<std::string> file() const;
};

std::string in_home(std::string_view path); // replaces a leading "~/" by the home directory

// Converts a value that parse_command() or set() has checked.
uint32_t number_of(std::string_view value);

const CommandSpec *find_command(std::string_view name);
const OptionSpec *find_option(std::span<const OptionSpec> options, std::string_view name);
Result<const OptionSpec *> setting_by_name(std::string_view name);
// Returns the alternatives of "a|b|c"; empty if the option takes any other kind of value.
std::vector<std::string_view> choices(const OptionSpec &option);

Result<ParsedCommand> parse_command(std::string_view line);
// Checks a value against its option. The error names the option, the value and the expected values.
Result<void> check_value(const OptionSpec &option, std::string_view value,
                         std::string_view shown_name);

} // namespace tally
