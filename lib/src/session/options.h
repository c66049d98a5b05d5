// The words of a command line, and what they may be.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tally/result.h>
#include <tally/sample_filter.h>
#include <tally/session.h>

namespace tally {

struct Words {
  std::vector<std::string> words;
  bool open = false;   // the last word may still grow: no blank follows it
  bool quoted = false; // and a quote is open in it
};

// Splits at blanks. '…' and "…" keep blanks, \ keeps the next character; so do brackets that are
// closed again, as in "parse(char const*, int)".
Words split_words(std::string_view line);

struct ParsedCommand {
  const CommandSpec *spec = nullptr;
  std::vector<std::string> arguments;
  std::map<std::string, std::string, std::less<>> options; // without "--"; flags are ""

  bool has(std::string_view option) const { return options.find(option) != options.end(); }
  std::string_view value(std::string_view option) const; // what was given, or the default
  uint32_t limit() const;      // of the option; 0, all, where JSON is wanted and no limit is given
  SampleFilter filter() const; // by --thread and --part
  // The file that the first argument names. "-" means a program's own streams: here they are the
  // debugger's.
  Result<std::string> file() const;
};

std::string in_home(std::string_view path); // "~/" is the user's home

uint32_t number_of(std::string_view value); // that parse_command() or set() has checked

const CommandSpec *find_command(std::string_view name);
const OptionSpec *find_option(std::span<const OptionSpec> options, std::string_view name);
Result<const OptionSpec *> setting_by_name(std::string_view name);
std::vector<std::string_view> choices(const OptionSpec &option); // empty: not a choice

Result<ParsedCommand> parse_command(std::string_view line);
// Checks a value against its option; the error names option, value and what was expected.
Result<void> check_value(const OptionSpec &option, std::string_view value,
                         std::string_view shown_name);

} // namespace tally
