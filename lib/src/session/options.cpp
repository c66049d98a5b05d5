#include "session/options.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <dirent.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tally/formats.h>

#include "support/number.h"

namespace tally {

Words split_words(std::string_view line) {
  Words out;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (blank && !quote) {
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
  const char *home = std::getenv("HOME");
  return home && path.starts_with("~/") ? home + path.substr(1) : path;
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
    if (auto format = format_by_name(value); !format) {
      Error error = format.error();
      error.source = shown_name;
      return fail(std::move(error));
    }
  }
  return {};
}

namespace {

// "NAME [VALUE]": one at least, two at most.
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
                fmt::format("a quote is opened and not closed: {}", split.words.back()), "profile");
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

namespace {

void add_files(std::string_view prefix, std::vector<std::string> &out) {
  const size_t slash = prefix.rfind('/');
  const std::string folder(slash == prefix.npos ? std::string_view() : prefix.substr(0, slash + 1));
  const std::string_view begin = slash == prefix.npos ? prefix : prefix.substr(slash + 1);
  DIR *dir = ::opendir(folder.empty() ? "." : folder.c_str());
  if (!dir)
    return;
  while (const dirent *entry = ::readdir(dir)) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(begin) || (name.starts_with('.') && begin.empty()))
      continue;
    out.push_back(folder + std::string(name) + (entry->d_type == DT_DIR ? "/" : ""));
  }
  ::closedir(dir);
}

void add_matching(std::string_view candidate, std::string_view begin,
                  std::vector<std::string> &out) {
  if (candidate.starts_with(begin))
    out.emplace_back(candidate);
}

} // namespace

std::vector<std::string> complete_words(std::string_view line, const WordsOf &words_of) {
  Words split = split_words(line);
  if (!split.open)
    split.words.emplace_back();
  const std::string last = split.words.back();
  std::vector<std::string> out;
  const auto finish = [&] {
    std::ranges::sort(out);
    return out;
  };
  if (split.words.size() == 1) {
    for (const CommandSpec &command : profile_commands())
      add_matching(command.name, last, out);
    return finish();
  }
  const CommandSpec *command = find_command(split.words[0]);
  if (!command)
    return out;
  const auto add_words = [&](std::string_view kind) {
    if (words_of)
      for (const std::string &word : words_of(kind))
        add_matching(word, last, out);
  };
  const auto add_values = [&](const OptionSpec &option) {
    for (std::string_view choice : choices(option))
      add_matching(choice, last, out);
    if (option.values == "FORMAT")
      for (const Format &format : formats())
        if (format.write_costs || format.write_stacks)
          add_matching(format.name, last, out);
    if (option.values == "THREAD")
      add_words("THREAD");
    else if (option.name == "part")
      add_words("part");
  };
  const std::string &before = split.words[split.words.size() - 2];
  if (before.starts_with("--"))
    if (const OptionSpec *option = find_option(command->options, before.substr(2));
        option && !option->values.empty()) {
      add_values(*option);
      return finish();
    }
  if (last.starts_with('-')) {
    for (const OptionSpec &option : command->options)
      add_matching(fmt::format("--{}", option.name), last, out);
    return finish();
  }
  if (command->name == "config") {
    if (split.words.size() == 2)
      for (const OptionSpec &setting : profile_settings())
        add_matching(setting.name, last, out);
    else if (const OptionSpec *setting = find_option(profile_settings(), split.words[1]);
             setting && split.words.size() == 3)
      add_values(*setting);
    return finish();
  }
  if (command->arguments.starts_with("FILE")) {
    if (command->arguments == "FILE|previous")
      add_matching("previous", last, out);
    add_files(last, out);
    return finish();
  }
  if (split.words.size() == 2 && command->arguments.find("FUNCTION") != command->arguments.npos)
    add_words("FUNCTION");
  if (last.empty()) {
    for (const OptionSpec &option : command->options)
      out.push_back(fmt::format("--{}", option.name));
  }
  return finish();
}

} // namespace tally
