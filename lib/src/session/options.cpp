#include "session/options.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tally/formats.h>

#include "support/number.h"

namespace tally {

namespace {

// Returns the index of the bracket that closes the one at `open`; `open` itself if there is none.
size_t closing_bracket(std::string_view line, size_t open) {
  const char begin = line[open], end = begin == '(' ? ')' : '>';
  size_t depth = 0;
  for (size_t i = open; i < line.size() && line[i] != '"' && line[i] != '\''; ++i) {
    depth += line[i] == begin;
    if (line[i] == end && line[i - 1] != '-' && --depth == 0)
      return i;
  }
  return open;
}

} // namespace

Words split_words(std::string_view line) {
  Words out;
  std::string word;
  bool in_word = false;
  char quote = 0;
  size_t closed_at = 0; // where the current bracket closes
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (!quote && i >= closed_at && (c == '(' || c == '<'))
      closed_at = closing_bracket(line, i);
    if (blank && !quote && i >= closed_at) {
      if (in_word)
        out.words.push_back(std::exchange(word, {}));
      in_word = false;
      continue;
    }
    in_word = true;
    if (quote && c == quote)
      quote = 0;
    else if (!quote && (c == '"' || c == '\''))
      quote = c;
    else if (c == '\\' && quote != '\'' && i + 1 < line.size())
      word += line[++i];
    else
      word += c;
  }
  if (in_word)
    out.words.push_back(word);
  out.open = in_word;
  out.quoted = quote != 0;
  return out;
}

std::string_view ParsedCommand::value(std::string_view option) const {
  if (const auto at = options.find(option); at != options.end())
    return at->second;
  const OptionSpec *known = find_option(spec->options, option);
  return known ? known->fallback : std::string_view();
}

uint32_t number_of(std::string_view value) {
  return static_cast<uint32_t>(std::strtoul(std::string(value).c_str(), nullptr, 10));
}

uint32_t ParsedCommand::limit() const {
  if (has("json") && !has("limit"))
    return 0;
  return number_of(value("limit"));
}

SampleFilter ParsedCommand::filter() const {
  SampleFilter out;
  out.thread = value("thread");
  if (has("part"))
    out.part = number_of(value("part"));
  return out;
}

Result<std::string> ParsedCommand::file() const {
  const std::string &path = arguments[0];
  if (path == "-")
    return fail(ErrorCode::invalid_argument,
                "standard input and output are the debugger's own: name a file", "-");
  return in_home(path);
}

std::string in_home(std::string_view path) {
  const char *home = std::getenv("HOME");
  return home && path.starts_with("~/") ? home + std::string(path.substr(1)) : std::string(path);
}

const CommandSpec *find_command(std::string_view name) {
  for (const CommandSpec &command : profile_commands())
    if (command.name == name)
      return &command;
  return nullptr;
}

const OptionSpec *find_option(std::span<const OptionSpec> options, std::string_view name) {
  for (const OptionSpec &option : options)
    if (option.name == name)
      return &option;
  return nullptr;
}

Result<const OptionSpec *> setting_by_name(std::string_view name) {
  if (const OptionSpec *setting = find_option(profile_settings(), name))
    return setting;
  std::vector<std::string_view> names;
  for (const OptionSpec &each : profile_settings())
    names.push_back(each.name);
  return fail(ErrorCode::invalid_argument,
              fmt::format("there is no setting '{}' (there are: {})", name, fmt::join(names, ", ")),
              "profile config");
}

std::vector<std::string_view> choices(const OptionSpec &option) {
  std::vector<std::string_view> out;
  std::string_view rest = option.values;
  if (rest.find('|') == rest.npos)
    return out;
  while (true) {
    const size_t bar = std::min(rest.find('|'), rest.size());
    out.push_back(rest.substr(0, bar));
    if (bar == rest.size())
      return out;
    rest.remove_prefix(bar + 1);
  }
}

Result<void> check_value(const OptionSpec &option, std::string_view value,
                         std::string_view shown_name) {
  if (const auto allowed = choices(option); !allowed.empty()) {
    if (std::ranges::find(allowed, value) == allowed.end())
      return fail(ErrorCode::invalid_argument,
                  fmt::format("expected one of {}, found '{}'", fmt::join(allowed, ", "), value),
                  std::string(shown_name));
  } else if (option.values == "HZ") {
    TALLY_CHECK(whole_number(value, 1, 1000000, std::string(shown_name)));
  } else if (option.values == "N") {
    TALLY_CHECK(whole_number(value, 0, UINT32_MAX, std::string(shown_name)));
  } else if (option.values == "FORMAT") {
    if (auto format = profile_format_by_name(value); !format) {
      Error error = format.error();
      error.source = shown_name;
      return fail(std::move(error));
    }
  }
  return {};
}

namespace {

// Returns the least and the greatest number of arguments: 1 and 2 for "NAME [VALUE]".
std::pair<size_t, size_t> argument_counts(const CommandSpec &command) {
  size_t least = 0, most = 0;
  for (const std::string &word : split_words(command.arguments).words) {
    ++most;
    least += word.starts_with('[') ? 0 : 1;
  }
  return {least, most};
}

} // namespace

Result<ParsedCommand> parse_command(std::string_view line) {
  const Words split = split_words(line);
  if (split.words.empty())
    return fail(ErrorCode::invalid_argument, "expected a command: see `help profile`", "profile");
  if (split.quoted)
    return fail(ErrorCode::invalid_argument,
                fmt::format("a quote is not closed: {}", split.words.back()), "profile");
  ParsedCommand parsed;
  parsed.spec = find_command(split.words[0]);
  if (!parsed.spec) {
    std::vector<std::string_view> names;
    for (const CommandSpec &command : profile_commands())
      names.push_back(command.name);
    return fail(ErrorCode::invalid_argument,
                fmt::format("there is no command '{}' (there are: {})", split.words[0],
                            fmt::join(names, ", ")),
                "profile");
  }
  const std::string command = fmt::format("profile {}", parsed.spec->name);
  bool options_over = false;
  for (size_t i = 1; i < split.words.size(); ++i) {
    std::string_view word = split.words[i];
    if (options_over || !word.starts_with('-') || word == "-") {
      // `const` belongs to the name of a member function.
      if (word == "const" && !parsed.arguments.empty() && parsed.arguments.back().ends_with(')'))
        parsed.arguments.back() += " const";
      else
        parsed.arguments.emplace_back(word);
      continue;
    }
    if (word == "--") {
      options_over = true;
      continue;
    }
    const size_t equals = std::min(word.find('='), word.size());
    const std::string_view shown = word.substr(0, equals);
    const OptionSpec *option =
        shown.starts_with("--") ? find_option(parsed.spec->options, shown.substr(2)) : nullptr;
    if (!option)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("unknown option; usage: {}", command_usage(*parsed.spec)),
                  std::string(shown));
    std::string value;
    if (option->values.empty()) {
      if (equals < word.size())
        return fail(ErrorCode::invalid_argument, "takes no value", std::string(shown));
    } else if (equals < word.size()) {
      value = word.substr(equals + 1);
    } else if (i + 1 < split.words.size()) {
      value = split.words[++i];
    } else {
      return fail(ErrorCode::invalid_argument, fmt::format("expected a value: {}", option->values),
                  std::string(shown));
    }
    if (!option->values.empty())
      TALLY_CHECK(check_value(*option, value, shown));
    parsed.options.insert_or_assign(std::string(option->name), std::move(value));
  }
  const auto [least, most] = argument_counts(*parsed.spec);
  if (parsed.arguments.size() < least)
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("expected {}; usage: {}", parsed.spec->arguments, command_usage(*parsed.spec)),
        command);
  if (parsed.arguments.size() > most)
    return fail(ErrorCode::invalid_argument,
                fmt::format("unexpected '{}'; usage: {}", parsed.arguments[most],
                            command_usage(*parsed.spec)),
                command);
  return parsed;
}

} // namespace tally
