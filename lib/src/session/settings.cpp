#include "session/settings.h"

#include <fmt/format.h>

#include "session/command_help.h"
#include "session/command_line.h"

namespace tally {

Settings::Settings(const CommandTable &table) : table_(table) {
  for (const OptionSpec &setting : table.settings)
    values_.emplace(setting.name, setting.fallback);
}

std::string_view Settings::value(std::string_view name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? std::string_view() : std::string_view(at->second);
}

Result<void> Settings::set(std::string_view name, std::string_view value) {
  TALLY_TRY(setting, setting_by_name(table_, name));
  TALLY_CHECK(check_value(*setting, value, name));
  values_.find(name)->second = value;
  return {};
}

Result<std::string> configure(Settings &values, const CommandTable &table,
                              const ParsedCommand &command) {
  if (command.arguments.empty()) {
    std::string out;
    for (const OptionSpec &each : table.settings)
      out += fmt::format("{:<20} {}\n", fmt::format("{} {}", each.name, values.value(each.name)),
                         one_line(each.summary));
    return out;
  }
  const std::string &name = command.arguments[0];
  if (command.arguments.size() > 1) {
    TALLY_CHECK(values.set(name, command.arguments[1]));
    return "";
  }
  TALLY_TRY(setting, setting_by_name(table, name));
  return fmt::format("{} {}\n", setting->name, values.value(name));
}

} // namespace tally
