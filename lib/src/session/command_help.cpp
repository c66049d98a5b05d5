#include "session/command_help.h"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>

namespace tally {

namespace {

// LLDB wraps lines that are wider than its terminal.
constexpr size_t help_width = 80;
constexpr size_t summary_column = 26;

// Returns the lines for one option or argument: what is typed, and beside it what it means. The
// explanation begins in a line of its own if it does not fit beside the words.
std::string entry(const std::string &typed, std::string_view summary) {
  size_t widest = 0;
  for (size_t at = 0; at <= summary.size();) {
    const size_t end = std::min(summary.find('\n', at), summary.size());
    widest = std::max(widest, end - at);
    at = end + 1;
  }
  const std::string left = "  " + typed;
  const size_t column = summary_column + widest <= help_width ? summary_column : 8;
  std::string out = left;
  if (left.size() < column)
    out.resize(column, ' ');
  else
    out += '\n' + std::string(column, ' ');
  for (const char c : summary)
    out += c == '\n' ? '\n' + std::string(column, ' ') : std::string(1, c);
  return out + '\n';
}

std::string typed_as(const OptionSpec &option, bool is_setting) {
  std::string out = is_setting ? std::string(option.name) : shown_name(option);
  if (option.letter)
    out = fmt::format("-{}, {}", option.letter, out);
  if (!option.other_name.empty())
    out += fmt::format(", --{}", option.other_name);
  if (!option.is_flag())
    out += fmt::format(" {}", option.word());
  if (option.repeats)
    out += " ...";
  return out;
}

} // namespace

std::string one_line(std::string_view summary) {
  std::string out(summary);
  std::ranges::replace(out, '\n', ' ');
  return out;
}

std::string option_lines(std::span<const OptionSpec> options, bool are_settings) {
  std::string out;
  for (const OptionSpec &option : options) {
    std::string summary(option.summary);
    if (option.required)
      summary += " (required)";
    if (!option.fallback.empty()) {
      const std::string fallback = fmt::format("(default {})", option.fallback);
      const size_t last = summary.size() - (summary.rfind('\n') + 1); // npos + 1 is 0
      const bool fits = summary_column + last + 1 + fallback.size() <= help_width ||
                        summary_column + last > help_width;
      summary += (fits ? ' ' : '\n') + fallback;
    }
    out += entry(typed_as(option, are_settings), summary);
  }
  return out;
}

std::string command_usage(const CommandTable &table, const CommandSpec &command) {
  std::string out = fmt::format("{} {}", table.name, command.name);
  const bool in_shell = table.prompt == Prompt::shell;
  if (in_shell)
    out += " [OPTIONS]";
  if (!command.arguments.text.empty())
    out += fmt::format(" {}", command.arguments.text);
  if (in_shell)
    return out;
  for (const OptionSpec &option : command.options)
    out += option.is_flag() ? fmt::format(" [{}]", shown_name(option))
                            : fmt::format(" [{} {}]", shown_name(option), option.word());
  return out;
}

std::string command_help(const CommandTable &table, const CommandSpec &command) {
  std::string summary(command.summary);
  summary[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(summary[0])));
  std::string out = fmt::format("{}.\nUsage: {}\n", summary, command_usage(table, command));
  if (!command.details.empty())
    out += fmt::format("\n{}\n", command.details);
  if (!command.about_arguments.empty())
    out += "\nArguments:\n";
  for (const ArgumentSpec &argument : command.about_arguments)
    out += entry(std::string(argument.name), argument.summary);
  if (!command.options.empty())
    out += "\nOptions:\n" + option_lines(command.options);
  if (command.more_help)
    out += command.more_help();
  return out + fmt::format("\nExample: {}", command.example);
}

std::string command_list(const CommandTable &table, std::string_view begin, size_t width) {
  std::string out;
  for (const CommandSpec &command : table.commands)
    out += fmt::format("{}{:<{}} {}\n", begin, command.name, width, command.summary);
  return out;
}

} // namespace tally
