// Writes a manual page to standard output:
//
//   tally-manual TEMPLATE [NAME=VALUE]...
//
// The template is written in man(7). In it, @NAME@ stands for the value, and the names in
// sections() stand for what the tables of commands and formats say, as the help does. It runs while
// Tally is built, and is not installed.
#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <tally/version.h>

#include "formats/formats.h"
#include "session/command_help.h"
#include "session/coverage_table.h"
#include "session/profile_table.h"
#include "support/roff_text.h"
#include "support/text.h"
#include "table.h"

namespace tally::cli {

namespace {

std::string bold(std::string_view text) { return fmt::format("\\fB{}\\fR", roff_text(text)); }
std::string italic(std::string_view text) { return fmt::format("\\fI{}\\fR", roff_text(text)); }

// Returns sentences as one line. What stands between backticks becomes bold.
std::string prose(std::string_view text) {
  std::string out;
  const std::string line = one_line(text);
  bool typed = false;
  for (size_t at = 0; at <= line.size(); typed = !typed) {
    const size_t end = std::min(line.find('`', at), line.size());
    const std::string_view piece = std::string_view(line).substr(at, end - at);
    out += typed ? bold(piece) : roff_text(piece);
    at = end + 1;
  }
  return out;
}

// Returns "FORMAT[:FILE]" or "none|fp|dwarf" with fonts: capitals stand for what the user chooses,
// small letters are typed as they are.
std::string syntax(std::string_view text) {
  const auto is_name = [](char c) { return (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto is_typed = [](char c) { return (c >= 'a' && c <= 'z') || c == '-'; };
  std::string out;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    const auto extend = [&](auto belongs) {
      while (end < text.size() && belongs(text[end]))
        ++end;
      return text.substr(at, end - at);
    };
    if (is_name(text[at]))
      out += italic(extend(is_name));
    else if (is_typed(text[at]))
      out += bold(extend(is_typed));
    else
      out += roff_text(text.substr(at, 1));
    at = end;
  }
  return out;
}

// Returns a paragraph with its term in the margin. Both are man(7) already.
std::string entry(const std::string &term, const std::string &text) {
  return fmt::format(".TP\n{}\n{}\n", term, text);
}

std::string option_entry(const OptionSpec &option) {
  std::string term = option.letter ? bold(fmt::format("-{}", option.letter)) + ", " : "";
  term += bold(shown_name(option));
  if (!option.other_name.empty())
    term += ", " + bold(fmt::format("--{}", option.other_name));
  if (!option.is_flag())
    term += ' ' + syntax(option.word());
  if (option.repeats)
    term += " ...";
  std::string text = prose(option.summary);
  if (option.required)
    text += " (required)";
  if (!option.fallback.empty())
    text += fmt::format(" (default {})", roff_text(option.fallback));
  return entry(term, text);
}

// Returns the further sections of a help: sentences, and below headings lists, whose entries are
// indented by two columns and continue in lines that are indented by more.
std::string further_help(std::string_view text) {
  std::string out;
  bool entry_has_text = false;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view line = text.substr(at, end - at);
    at = end + 1;
    const size_t indent = std::min(line.find_first_not_of(' '), line.size());
    if (indent == line.size())
      continue;
    if (indent == 0) {
      out += fmt::format(".PP\n{}\n", prose(line));
    } else if (indent == 2) {
      const size_t gap = std::min(line.find("  ", indent), line.size());
      const size_t summary = std::min(line.find_first_not_of(' ', gap), line.size());
      out += fmt::format(".TP\n{}\n", syntax(line.substr(indent, gap - indent)));
      entry_has_text = summary < line.size();
      if (entry_has_text)
        out += prose(line.substr(summary)) + '\n';
    } else {
      out += fmt::format("{}{}\n", entry_has_text ? ".br\n" : "", prose(line.substr(indent)));
      entry_has_text = true;
    }
  }
  return out;
}

std::string command_section(const CommandTable &table, const CommandSpec &command) {
  std::string summary(command.summary);
  summary[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(summary[0])));
  std::string out =
      fmt::format(".SS {} {}\n{}\n.PP\n{}.\n", roff_text(table.name), roff_text(command.name),
                  syntax(command_usage(table, command)), prose(summary));
  if (!command.details.empty())
    out += fmt::format(".PP\n{}\n", prose(command.details));
  for (const ArgumentSpec &argument : command.about_arguments)
    out += entry(syntax(argument.name), prose(argument.summary));
  for (const OptionSpec &option : command.options)
    if (option.name != "help") // described once, for all commands
      out += option_entry(option);
  if (command.more_help)
    out += further_help(command.more_help());
  return out +
         fmt::format(".PP\nExample:\n.PP\n.RS 4\n.EX\n{}\n.EE\n.RE\n", roff_text(command.example));
}

std::string command_sections(const CommandTable &table) {
  std::string out;
  for (const CommandSpec &command : table.commands)
    out += command_section(table, command);
  return out;
}

std::string format_entry(const Format &format) {
  const bool reads = format.read || format.read_counters || format.read_coverage ||
                     format.read_pcs || format.read_addresses;
  // Counters are written as they were read.
  const bool writes = format.writes_profiles() || format.write_coverage || format.writes_counters();
  std::string text = fmt::format("{} ({})", prose(format.summary),
                                 reads && writes ? "read and written"
                                 : reads         ? "read"
                                                 : "written");
  if (!format.file_names.empty())
    text += fmt::format("\n.br\nFile names: {}", roff_text(joined_text(format.file_names, ", ")));
  return entry(bold(format.name), text);
}

std::map<std::string, std::string, std::less<>> sections() {
  std::string options, all_formats;
  for (const OptionSpec &option : tally_program().options)
    options += option_entry(option);
  for (const Format &format : formats())
    all_formats += format_entry(format);
  return {
      {"version", roff_text(TALLY_VERSION)},
      {"tally-description", prose(tally_program().description)},
      {"tally-options", options},
      {"tally-commands", command_sections(tally_table())},
      {"tally-example", roff_text(tally_program().example)},
      {"profile-commands", command_sections(profile_table())},
      {"coverage-commands", command_sections(coverage_table())},
      {"formats", all_formats},
  };
}

int refuse(const std::string &message) {
  std::fputs(fmt::format("tally-manual: {}\n", message).c_str(), stderr);
  return 1;
}

int write_page(const char *path, std::span<char *const> definitions) {
  std::ifstream file(path, std::ios::binary);
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  if (!file || page.empty())
    return refuse(fmt::format("{}: cannot be read", path));
  auto values = sections();
  for (const std::string_view word : definitions)
    values.insert_or_assign(std::string(word.substr(0, word.find('='))),
                            roff_text(word.substr(word.find('=') + 1)));
  std::string out;
  size_t at = 0;
  while (true) {
    const size_t begin = page.find('@', at);
    out.append(page, at, begin - at); // all that is left if `begin` is npos
    if (begin == page.npos)
      break;
    const size_t end = page.find('@', begin + 1);
    const auto value = values.find(page.substr(begin + 1, end - begin - 1));
    if (end == page.npos || value == values.end())
      return refuse(fmt::format("{}: '{}' has no value", path, page.substr(begin, end - begin)));
    out += value->second;
    // A section stands in a line of its own, and ends with the end of a line.
    at = end + (value->second.ends_with('\n') && page.substr(end + 1, 1) == "\n" ? 2 : 1);
  }
  std::fputs(out.c_str(), stdout);
  return std::fflush(stdout) == 0 && !std::ferror(stdout) ? 0 : refuse("cannot write");
}

} // namespace

} // namespace tally::cli

int main(int argc, char **argv) {
  if (argc < 2) {
    std::fputs("Usage: tally-manual TEMPLATE [NAME=VALUE]...\n", stderr);
    return 2;
  }
  return tally::cli::write_page(argv[1], std::span(argv + 2, argv + argc));
}
