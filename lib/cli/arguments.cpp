#include "arguments.h"

#include <algorithm>

#include <sys/stat.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <tally/formats.h>

#include "support/number.h"

namespace tally::cli {

namespace {

// Returns the name of an argument, or the name and type of an option: "-o OUT".
std::string shown(const CLI::Option &option) {
  if (option.get_positional())
    return option.get_name();
  return fmt::format("{} {}", option.get_name(), option.get_type_name());
}

std::string missing_in(const CLI::App &command) {
  for (const CLI::Option *option : command.get_options())
    if (option->get_required() && option->count() == 0)
      return fmt::format("{}: expected {}", command.get_name(), shown(*option));
  return {};
}

std::string unexpected_in(const CLI::App &command) {
  const std::vector<std::string> words = command.remaining();
  for (const std::string &word : words)
    if (word.size() > 1 && word.starts_with('-'))
      return fmt::format("{}: unknown option", word.substr(0, word.find('=')));
  if (words.empty())
    return {};
  if (command.get_parent())
    return fmt::format("{}: unexpected '{}'", command.get_name(), words.front());
  return fmt::format("there is no command '{}'", words.front());
}

} // namespace

CLI::Validator whole_number_from(uint64_t least, uint64_t most) {
  return CLI::Validator(
      [=](std::string &text) {
        const auto number = whole_number(text, least, most, {});
        return number ? std::string() : number.error().message;
      },
      {});
}

CLI::Validator one_of(std::vector<std::string> words) {
  return CLI::Validator(
      [words = std::move(words)](std::string &text) {
        return std::ranges::find(words, text) != words.end()
                   ? std::string()
                   : fmt::format("expected one of {}, found '{}'", fmt::join(words, ", "), text);
      },
      {});
}

CLI::Validator known_format() {
  return CLI::Validator(
      [](std::string &text) {
        const auto format = format_by_name(text);
        return format ? std::string() : format.error().message;
      },
      {});
}

CLI::Validator file_name() {
  return CLI::Validator(
      [](std::string &text) { return text.empty() ? "expected a file, found ''" : std::string(); },
      {});
}

CLI::Validator folder() {
  return CLI::Validator(
      [](std::string &text) {
        struct stat info {};
        return ::stat(text.c_str(), &info) == 0 && S_ISDIR(info.st_mode)
                   ? std::string()
                   : fmt::format("'{}' is not a directory", text);
      },
      {});
}

const CLI::App &command_given(const CLI::App &app) {
  const auto given = app.get_subcommands();
  return given.empty() ? app : *given.front();
}

std::string explain(const CLI::App &app, const CLI::ParseError &error) {
  const CLI::App &command = command_given(app);
  const std::string what = error.what();
  if (dynamic_cast<const CLI::RequiredError *>(&error) ||
      dynamic_cast<const CLI::ExtrasError *>(&error)) {
    // Report unknown words before missing ones: a wrong word may have been meant as the missing
    // one.
    std::string text = unexpected_in(command);
    if (text.empty())
      text = missing_in(command);
    if (!text.empty() && &command != &app)
      return text;
    std::vector<std::string> names;
    for (const CLI::App *each : app.get_subcommands({}))
      names.push_back(each->get_name());
    return text.empty()           ? fmt::format("expected a command: {}", fmt::join(names, ", "))
           : text.ends_with('\'') ? fmt::format("{} (there are: {})", text, fmt::join(names, ", "))
                                  : text;
  }
  if (dynamic_cast<const CLI::ArgumentMismatch *>(&error)) {
    std::string name = what.substr(0, what.find_first_of(": "));
    if (!name.starts_with('-')) // CLI11 omits the dashes of flags
      name.insert(0, "--");
    if (const CLI::Option *option = command.get_option_no_throw(name)) {
      if (option->get_items_expected_max() == 0)
        return fmt::format("{}: takes no value", name);
      return option->count() > 1
                 ? fmt::format("{}: given more than once", name)
                 : fmt::format("{}: expected a value: {}", name, option->get_type_name());
    }
  }
  return what;
}

} // namespace tally::cli
