#include "session/command_line.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>
#include <utility>

#include <sys/stat.h>

#include <fmt/format.h>

#include "collect/sampler.h"
#include "formats/formats.h"
#include "session/command_help.h"
#include "support/alternatives.h"
#include "support/duration.h"
#include "support/number.h"
#include "support/pattern.h"
#include "support/text.h"

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

// Makes an error with a message alone.
tl::unexpected<Error> unfit(std::string message) {
  return fail(ErrorCode::invalid_argument, std::move(message));
}

std::string not_among(const std::vector<std::string_view> &allowed, std::string_view value) {
  return fmt::format("expected one of {}, found '{}'", joined_text(allowed, ", "), value);
}

// Accepts a number from 0 to `most`, which may have a fraction.
Result<void> check_decimal(std::string_view value, double most) {
  double number = 0;
  const char *const last = value.data() + value.size();
  const auto [end, fault] = std::from_chars(value.data(), last, number);
  if (fault != std::errc() || end != last || !(number >= 0 && number <= most))
    return unfit(fmt::format("expected 0 to {}, found '{}'", most, value));
  return {};
}

bool is_directory(std::string_view path) {
  struct stat info {};
  return ::stat(std::string(path).c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

// Checks a value of a kind that says all about it. The error has a message alone.
Result<void> check_kind(ValueKind kind, std::string_view value) {
  const auto without_value = [](const auto &result) {
    return result ? Result<void>() : unfit(result.error().message);
  };
  switch (kind) {
  case ValueKind::size:
    return without_value(byte_size_of(value));
  case ValueKind::percent:
    return check_decimal(value, 100);
  case ValueKind::growth:
    return check_decimal(value, 1'000'000);
  case ValueKind::time:
    return without_value(duration_of(value));
  case ValueKind::pattern:
    return value.empty() ? unfit("expected a pattern, found ''")
                         : without_value(Pattern::compile(std::string(value), ""));
  case ValueKind::file:
    return value.empty() ? unfit("expected a file, found ''") : Result<void>();
  case ValueKind::directory:
    return is_directory(value) ? Result<void>()
                               : unfit(fmt::format("'{}' is not a directory", value));
  case ValueKind::profile_format:
    return without_value(profile_format_by_name(value));
  case ValueKind::any_format:
    return without_value(format_by_name(value));
  case ValueKind::format_or_time:
    return check_kind(is_like_duration(value) ? ValueKind::time : ValueKind::any_format, value);
  case ValueKind::events:
    return without_value(events_by_names(value));
  case ValueKind::text:
  case ValueKind::event:
  case ValueKind::thread:
  case ValueKind::process:
  case ValueKind::function:
  case ValueKind::source:
    return value.empty() ? unfit("expected a value, found ''") : Result<void>();
  case ValueKind::flag:
  case ValueKind::choice:
  case ValueKind::anything:
  case ValueKind::setting:
  case ValueKind::number:
  case ValueKind::part:
    break;
  }
  return {};
}

Result<void> check_choice(std::string_view values, std::string_view value) {
  const std::vector<std::string_view> allowed = alternatives(values);
  return std::ranges::find(allowed, value) != allowed.end() ? Result<void>()
                                                            : unfit(not_among(allowed, value));
}

} // namespace

std::string_view OptionSpec::word() const {
  if (!values.empty())
    return values;
  switch (kind) {
  case ValueKind::number:
  case ValueKind::part:
    return "N";
  case ValueKind::size:
    return "BYTES";
  case ValueKind::percent:
  case ValueKind::growth:
    return "PCT";
  case ValueKind::time:
    return "T";
  case ValueKind::pattern:
    return "RE";
  case ValueKind::file:
    return "FILE";
  case ValueKind::directory:
    return "DIR";
  case ValueKind::profile_format:
  case ValueKind::any_format:
    return "FORMAT";
  case ValueKind::format_or_time:
    return "FORMAT/T";
  case ValueKind::events:
    return "EVENT[,EVENT]";
  case ValueKind::event:
    return "NAME";
  case ValueKind::thread:
    return "THREAD";
  case ValueKind::process:
    return "PROCESS";
  case ValueKind::flag:
  case ValueKind::choice:
  case ValueKind::text:
  case ValueKind::anything:
  case ValueKind::setting:
  case ValueKind::function:
  case ValueKind::source:
    break;
  }
  return {};
}

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

bool ParsedCommand::has(std::string_view option) const {
  return std::ranges::any_of(options, [&](const auto &each) { return each.first->name == option; });
}

std::string_view ParsedCommand::value(std::string_view option) const {
  for (auto each = options.rbegin(); each != options.rend(); ++each)
    if (each->first->name == option)
      return each->second;
  const OptionSpec *known = find_option(spec->options, option);
  return known ? known->fallback : std::string_view();
}

std::vector<std::string> ParsedCommand::values(std::string_view option) const {
  std::vector<std::string> out;
  for (const auto &[spec_of_it, given] : options)
    if (spec_of_it->name == option)
      out.push_back(given);
  return out;
}

uint64_t number_of(std::string_view value) {
  return std::strtoull(std::string(value).c_str(), nullptr, 10);
}

Result<uint64_t> byte_size_of(std::string_view text) {
  constexpr std::string_view units = "KMG";
  uint64_t bytes = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bytes);
  const std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  const size_t power = unit.empty() ? 0 : units.find(unit) + 1;
  if (error != std::errc() || bytes == 0 || unit.size() > 1 || (!unit.empty() && power == 0) ||
      bytes > UINT64_MAX >> 10 * power)
    return unfit(fmt::format("expected a number of bytes such as 500M or 4G, found '{}'", text));
  return bytes << 10 * power;
}

uint64_t ParsedCommand::number(std::string_view option) const { return number_of(value(option)); }

uint32_t ParsedCommand::limit() const {
  return has("json") && !has("limit") ? 0 : static_cast<uint32_t>(number("limit"));
}

SampleFilter ParsedCommand::filter() const {
  SampleFilter out;
  out.thread = value("thread");
  out.process = value("process");
  if (has("part"))
    out.part = static_cast<uint32_t>(number("part"));
  out.event = value("event");
  const auto time = [&](std::string_view option) -> std::optional<uint64_t> {
    if (!is_like_duration(value(option)))
      return std::nullopt;
    return duration_of(value(option)).value();
  };
  out.focus = value("focus");
  out.ignore = value("ignore");
  out.hide = value("hide");
  out.fold = value("fold");
  out.no_inlines = has("no-inlines");
  out.from_ns = time("from");
  out.to_ns = time("to");
  return out;
}

std::string ParsedCommand::argument(size_t index) const {
  return index < arguments.size() ? arguments[index] : std::string();
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

const CommandSpec *CommandTable::find(std::string_view command) const {
  const auto found = std::ranges::find(commands, command, &CommandSpec::name);
  return found == commands.end() ? nullptr : &*found;
}

const OptionSpec *find_option(std::span<const OptionSpec> options, std::string_view name) {
  const auto found = std::ranges::find_if(options, [name](const OptionSpec &each) {
    return each.name == name || (!name.empty() && each.other_name == name);
  });
  return found == options.end() ? nullptr : &*found;
}

std::string shown_name(const OptionSpec &option) {
  return fmt::format("{}{}", option.name.size() == 1 ? "-" : "--", option.name);
}

Result<void> check_value(const OptionSpec &option, std::string_view value,
                         std::string_view shown_name) {
  if (option.kind == ValueKind::number || option.kind == ValueKind::part) {
    TALLY_CHECK(whole_number(value, option.least, option.most, std::string(shown_name)));
    return {};
  }
  auto checked = option.kind == ValueKind::choice ? check_choice(option.values, value)
                                                  : check_kind(option.kind, value);
  if (!checked)
    checked.error().source = shown_name;
  return checked;
}

namespace {

// Returns the least and the greatest number of arguments: 1 and 2 for "NAME [VALUE]".
std::pair<size_t, size_t> argument_counts(const CommandSpec &command) {
  size_t least = 0, most = 0;
  for (const std::string &word : split_words(command.arguments.text).words) {
    most = word.find("...") == word.npos ? most + 1 : SIZE_MAX;
    least += word.starts_with('[') ? 0 : 1;
  }
  return {least, most};
}

// Parses the words of one command.
class WordParser {
public:
  WordParser(const CommandTable &table, const CommandSpec &command, std::vector<std::string> words)
      : table_(table), words_(std::move(words)) {
    parsed_.spec = &command;
  }

  Result<ParsedCommand> parse() {
    bool options_over = false;
    for (next_ = 1; next_ < words_.size() && !parsed_.wants_help;) {
      std::string word = std::move(words_[next_++]);
      if (options_over || !word.starts_with('-') || word == "-")
        options_over = add_argument(std::move(word)) || options_over;
      else if (word == "--")
        options_over = true;
      else if (word.starts_with("--"))
        TALLY_CHECK(long_option(word));
      else
        TALLY_CHECK(letters(word));
    }
    if (!parsed_.wants_help)
      TALLY_CHECK(check_counts());
    return std::move(parsed_);
  }

private:
  // Returns whether only arguments may follow.
  bool add_argument(std::string word) {
    auto &arguments = parsed_.arguments;
    // In a debugger, `const` belongs to the name of a member function.
    if (table_.prompt == Prompt::debugger && word == "const" && !arguments.empty() &&
        arguments.back().ends_with(')'))
      arguments.back() += " const";
    else
      arguments.push_back(std::move(word));
    return parsed_.spec->options_end;
  }

  Result<void> long_option(const std::string &word) {
    const size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    TALLY_TRY(option, option_of(name));
    if (equals == word.size())
      return option->is_flag() ? add(*option, {}) : add_next(*option);
    if (option->is_flag())
      return fail(ErrorCode::invalid_argument, "takes no value", name);
    // In a shell, an empty word after = is more often a variable that is not set than a value.
    if (equals + 1 == word.size() && table_.prompt == Prompt::shell)
      return fail(ErrorCode::invalid_argument, "expected a value, found ''", name);
    return add(*option, word.substr(equals + 1));
  }

  // Returns the option of this name or, if there is none, the only one whose name begins so.
  Result<const OptionSpec *> option_of(const std::string &name) const {
    const std::string_view word = std::string_view(name).substr(2);
    if (word.size() < 2)
      return unknown(name);
    if (const OptionSpec *const option = find_option(parsed_.spec->options, word))
      return option;
    std::vector<const OptionSpec *> found;
    std::vector<std::string> names;
    for (const OptionSpec &option : parsed_.spec->options)
      if (option.name.starts_with(word)) {
        found.push_back(&option);
        names.push_back(shown_name(option));
      }
    if (found.empty())
      return unknown(name);
    if (found.size() > 1)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("several options begin so: {}", joined_text(names, ", ")), name);
    return found.front();
  }

  // Parses "-F", "-F4000" and, for flags, "-bg".
  Result<void> letters(const std::string &word) {
    for (size_t i = 1; i < word.size(); ++i) {
      const auto &options = parsed_.spec->options;
      const auto option = std::ranges::find_if(options, [&](const OptionSpec &each) {
        return each.letter == word[i] || (each.name.size() == 1 && each.name[0] == word[i]);
      });
      if (option == options.end())
        return unknown(i == 1 ? word.substr(0, word.find('=')) : fmt::format("-{}", word[i]));
      if (!option->is_flag())
        return i + 1 < word.size() ? add(*option, word.substr(i + 1)) : add_next(*option);
      TALLY_CHECK(add(*option, {}));
    }
    return {};
  }

  Result<void> add_next(const OptionSpec &option) {
    if (next_ == words_.size())
      return fail(ErrorCode::invalid_argument, fmt::format("expected a value: {}", option.word()),
                  shown_name(option));
    return add(option, std::move(words_[next_++]));
  }

  Result<void> add(const OptionSpec &option, std::string value) {
    if (!option.is_flag())
      TALLY_CHECK(check_value(option, value, shown_name(option)));
    if (table_.prompt == Prompt::shell && !option.repeats && !option.is_flag() &&
        parsed_.has(option.name))
      return fail(ErrorCode::invalid_argument, "given more than once", shown_name(option));
    parsed_.wants_help = parsed_.wants_help || option.name == "help";
    parsed_.options.emplace_back(&option, std::move(value));
    return {};
  }

  Result<void> check_counts() {
    const CommandSpec &spec = *parsed_.spec;
    const auto [least, most] = argument_counts(spec);
    if (parsed_.arguments.size() < least)
      return of_command(
          fmt::format("expected {}", spec.about_arguments.empty()
                                         ? spec.arguments.text
                                         : spec.about_arguments[parsed_.arguments.size()].name));
    if (parsed_.arguments.size() > most)
      return of_command(fmt::format("unexpected '{}'", parsed_.arguments[most]));
    for (const OptionSpec &option : spec.options)
      if (option.required && !parsed_.has(option.name))
        return of_command(fmt::format("expected {} {}", shown_name(option), option.word()));
    for (size_t i = 0; i < parsed_.arguments.size() && !spec.about_arguments.empty(); ++i) {
      const ArgumentSpec &argument =
          spec.about_arguments[std::min(i, spec.about_arguments.size() - 1)];
      const std::string &value = parsed_.arguments[i];
      if (argument.kind == ValueKind::choice) {
        if (auto checked = check_choice(argument.name, value); !checked)
          return of_command(std::move(checked.error().message));
      } else if (auto checked = check_kind(argument.kind, value); !checked) {
        checked.error().source = argument.name;
        return checked;
      }
    }
    return {};
  }

  tl::unexpected<Error> unknown(std::string name) const {
    return fail(ErrorCode::invalid_argument, with_usage("unknown option"), std::move(name));
  }

  tl::unexpected<Error> of_command(std::string message) const {
    const std::string name(parsed_.spec->name);
    return fail(ErrorCode::invalid_argument, with_usage(std::move(message)),
                table_.prompt == Prompt::shell ? name : fmt::format("{} {}", table_.name, name));
  }

  std::string with_usage(std::string message) const {
    if (table_.prompt == Prompt::shell)
      return message;
    return fmt::format("{}; usage: {}", message, command_usage(table_, *parsed_.spec));
  }

  const CommandTable &table_;
  std::vector<std::string> words_;
  size_t next_ = 0; // the index of the next word
  ParsedCommand parsed_;
};

// The error of a line that does not begin with a command. In a shell, it does not name the program,
// because `tally` precedes each message.
tl::unexpected<Error> no_command(const CommandTable &table, std::string message) {
  return fail(ErrorCode::invalid_argument, std::move(message),
              table.prompt == Prompt::shell ? std::string() : std::string(table.name));
}

// Returns the names of commands or settings, separated by commas.
template <class Spec> std::string names_of(std::span<const Spec> all) {
  std::string out;
  for (const Spec &each : all)
    out += fmt::format("{}{}", out.empty() ? "" : ", ", each.name);
  return out;
}

} // namespace

Result<const OptionSpec *> setting_by_name(const CommandTable &table, std::string_view name) {
  if (const OptionSpec *setting = find_option(table.settings, name))
    return setting;
  return fail(
      ErrorCode::invalid_argument,
      fmt::format("there is no setting '{}' (there are: {})", name, names_of(table.settings)),
      fmt::format("{} config", table.name));
}

Result<ParsedCommand> parse_words(const CommandTable &table, std::vector<std::string> words) {
  if (words.empty())
    return no_command(table, table.prompt == Prompt::shell
                                 ? "expected a command: " + names_of(table.commands)
                                 : fmt::format("expected a command: see `help {}`", table.name));
  if (const CommandSpec *const command = table.find(words[0]))
    return WordParser(table, *command, std::move(words)).parse();
  return no_command(table, fmt::format("there is no command '{}' (there are: {})", words[0],
                                       names_of(table.commands)));
}

Result<ParsedCommand> parse_line(const CommandTable &table, std::string_view line) {
  Words split = split_words(line);
  if (split.quoted)
    return no_command(table, fmt::format("a quote is not closed: {}", split.words.back()));
  return parse_words(table, std::move(split.words));
}

} // namespace tally
