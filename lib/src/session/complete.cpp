#include "session/complete.h"

#include <algorithm>

#include <dirent.h>

#include <fmt/format.h>

#include "collect/sampler.h"
#include "formats/formats.h"
#include "session/command_line.h"
#include "support/alternatives.h"
#include "support/sort.h"

namespace tally {

namespace {

void add_matching(std::string_view candidate, std::string_view begin,
                  std::vector<std::string> &out) {
  if (candidate.starts_with(begin))
    out.emplace_back(candidate);
}

void add_files(std::string_view prefix, std::vector<std::string> &out) {
  const size_t slash = prefix.rfind('/');
  const std::string folder(slash == prefix.npos ? std::string_view() : prefix.substr(0, slash + 1));
  const std::string_view begin = slash == prefix.npos ? prefix : prefix.substr(slash + 1);
  DIR *dir = ::opendir(folder.empty() ? "." : in_home(folder).c_str());
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

// Adds the path of a source, and its last components, if they begin as typed.
void add_source(std::string_view path, std::string_view typed, std::vector<std::string> &out) {
  add_matching(path, typed, out);
  if (!typed.starts_with('/'))
    for (size_t at = path.find('/'); at != path.npos; at = path.find('/', at + 1)) {
      const std::string_view end = path.substr(at + 1);
      // Offer at most one component more than the user has typed.
      if (std::ranges::count(end, '/') <= std::ranges::count(typed, '/'))
        add_matching(end, typed, out);
    }
}

// Reports whether the word must be quoted to be typed literally.
bool needs_quotes(std::string_view word) { return word.find_first_of(" \t'\"\\") != word.npos; }

// A line that the user is typing.
struct Typed {
  const CommandSpec *command = nullptr; // null if the command is unknown or still being typed
  std::vector<std::string> words;       // from the command to the word that is completed
  bool quoted = false;

  Typed(const CommandTable &table, std::string_view line) {
    Words split = split_words(line);
    if (!split.open)
      split.words.emplace_back();
    words = std::move(split.words);
    quoted = split.quoted;
    if (words.size() > 1)
      command = table.find(words[0]);
  }
  const std::string &last() const { return words.back(); }
  // Returns the option whose value the last word is; null if it is not an option's value.
  const OptionSpec *option() const { return option_before(words.size() - 1); }
  // Returns the number of arguments before the last word, without options and their values.
  size_t arguments_before() const {
    size_t count = 0;
    for (size_t i = 1; i + 1 < words.size(); ++i)
      count += !words[i].starts_with('-') && !option_before(i);
    return count;
  }
  // Returns the kind of the first argument if the last word may be that.
  ValueKind first_argument() const {
    return command && !option() && !last().starts_with('-') && arguments_before() == 0
               ? command->arguments.first
               : ValueKind::anything;
  }

private:
  const OptionSpec *option_before(size_t at) const {
    if (at < 2 || !words[at - 1].starts_with('-'))
      return nullptr;
    const std::string_view word = words[at - 1];
    const bool is_long = word.starts_with("--");
    const OptionSpec *const found = find_option(command->options, word.substr(is_long ? 2 : 1));
    return found && is_long == (found->name.size() > 1) && !found->is_flag() ? found : nullptr;
  }
};

std::vector<std::string> values_of(const OptionSpec &option, const WordsOf &words_of) {
  std::vector<std::string> out;
  switch (option.kind) {
  case ValueKind::choice:
    for (const std::string_view choice : alternatives(option.values))
      out.emplace_back(choice);
    break;
  case ValueKind::profile_format:
    for (const Format &format : formats())
      if (format.writes_profiles())
        out.emplace_back(format.name);
    break;
  case ValueKind::events:
    out.emplace_back("clock");
    for (const std::string_view event : event_names())
      out.emplace_back(event);
    break;
  case ValueKind::event:
  case ValueKind::thread:
  case ValueKind::process:
  case ValueKind::part:
    if (words_of)
      out = words_of(option.kind);
    break;
  default:
    break;
  }
  return out;
}

// Returns the end of the operator's name that begins at `at`, or `at` if none begins there. Its
// symbols, as in operator<, are not brackets.
size_t operator_end(std::string_view name, size_t at) {
  constexpr std::string_view word = "operator";
  if (!name.substr(at).starts_with(word))
    return at;
  size_t end = at + word.size();
  if (name.substr(end).starts_with("()"))
    return end + 2;
  while (end < name.size() && std::string_view("<>=-!*").find(name[end]) != std::string_view::npos)
    ++end;
  return end;
}

// The indexes at which the parts of a function's name begin.
struct NameParts {
  std::vector<size_t> components; // of "ns", "Parser" and "parse"
  size_t template_arguments = 0;  // of the last component; if it has none, equal to `parameters`
  size_t parameters = 0;          // the end of the name if it has none

  explicit NameParts(std::string_view name) : parameters(name.size()) {
    size_t depth = 0, open = name.npos;
    components.push_back(0);
    for (size_t i = 0; i < name.size(); ++i) {
      if (const size_t end = operator_end(name, i); depth == 0 && end != i) {
        // A conversion's type, `new` or the parameters follow.
        open = name.npos;
        parameters = std::min(name.find('(', end), name.size());
        break;
      }
      const char c = name[i];
      if (c == '(' && depth == 0 && !name.substr(i).starts_with("(anonymous namespace)")) {
        parameters = i;
        break;
      }
      if (c == '<' && depth == 0)
        open = i;
      if (c == '<' || c == '(')
        ++depth;
      else if ((c == '>' || c == ')') && depth > 0)
        --depth;
      else if (depth == 0 && c == ' ') // the name follows the return type
        components = {i + 1};
      else if (depth == 0 && c == ':' && name.substr(i).starts_with("::")) {
        components.push_back(++i + 1);
        open = name.npos;
      }
    }
    template_arguments = std::min(open, parameters);
  }
};

} // namespace

std::vector<std::string> function_words(std::string_view function, std::string_view typed,
                                        bool quoted) {
  std::vector<std::string> out;
  const NameParts parts(function);
  for (const size_t begin : parts.components) {
    const std::string_view name = function.substr(begin);
    if (!name.starts_with(typed))
      continue;
    const auto offer = [&](size_t end) {
      const std::string_view word = function.substr(begin, end - begin);
      if (word.size() >= typed.size() && word.find('\'') == word.npos &&
          (quoted || !needs_quotes(word)))
        out.emplace_back(word);
    };
    offer(parts.template_arguments);
    if (quoted || typed.size() > parts.template_arguments - begin) {
      offer(parts.parameters);
      offer(function.size());
    }
  }
  return out;
}

std::optional<std::string> symbol_to_complete(const CommandTable &table, std::string_view line) {
  const Typed typed(table, line);
  const ValueKind kind = typed.first_argument();
  if (kind != ValueKind::function && kind != ValueKind::source)
    return {};
  return typed.last();
}

std::vector<std::string> complete_words(const CommandTable &table, std::string_view line,
                                        const WordsOf &words_of) {
  const Typed typed(table, line);
  const std::string &last = typed.last();
  std::vector<std::string> out;
  const auto finish = [&] {
    sort_stably(out);
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  };
  if (typed.words.size() == 1) {
    for (const CommandSpec &command : table.commands)
      add_matching(command.name, last, out);
    return finish();
  }
  if (!typed.command)
    return out;
  const CommandSpec &command = *typed.command;
  const auto add_values = [&](const OptionSpec &option, std::string_view before = {}) {
    if (option.kind == ValueKind::events && last.rfind(',') != last.npos)
      before = std::string_view(last).substr(0, last.rfind(',') + 1);
    for (const std::string &value : values_of(option, words_of))
      if (typed.quoted || !needs_quotes(value))
        add_matching(fmt::format("{}{}", before, value), last, out);
  };
  if (const OptionSpec *option = typed.option()) {
    add_values(*option);
    if (option->kind == ValueKind::file)
      add_files(last, out);
    return finish();
  }
  if (last.starts_with('-')) {
    const size_t equals = last.find('=');
    for (const OptionSpec &option : command.options)
      if (equals == last.npos) {
        add_matching(shown_name(option), last, out);
        if (!option.other_name.empty())
          add_matching(fmt::format("--{}", option.other_name), last, out);
      } else if (find_option(std::span(&option, 1), last.substr(2, equals - 2))) {
        add_values(option, last.substr(0, equals + 1));
      }
    return finish();
  }
  if (command.arguments.first == ValueKind::setting) {
    const size_t number = typed.arguments_before();
    if (number == 0)
      for (const OptionSpec &setting : table.settings)
        add_matching(setting.name, last, out);
    else if (const OptionSpec *setting = find_option(table.settings, typed.words[1]);
             setting && number == 1)
      add_values(*setting);
    return finish();
  }
  const ValueKind first = typed.first_argument();
  if ((first == ValueKind::function || first == ValueKind::source) && words_of) {
    for (const std::string &function : words_of(ValueKind::function))
      for (std::string &word : function_words(function, last, typed.quoted))
        out.push_back(std::move(word));
    if (first == ValueKind::source && !last.empty())
      for (const std::string &path : words_of(ValueKind::source))
        if (typed.quoted || !needs_quotes(path))
          add_source(path, last, out);
  } else if (first == ValueKind::file) {
    for (const std::string_view word : alternatives(command.arguments.text))
      if (word == "previous") // is typed as it is
        add_matching(word, last, out);
    add_files(last, out);
    return finish();
  }
  if (last.empty() && !typed.quoted)
    for (const OptionSpec &option : command.options)
      out.push_back(shown_name(option));
  return finish();
}

} // namespace tally
