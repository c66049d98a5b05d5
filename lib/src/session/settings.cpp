#include "session/settings.h"

#include "session/command_line.h"
#include "session/profile_table.h"

namespace tally {

Settings::Settings() {
  for (const OptionSpec &setting : profile_table().settings)
    values_.emplace(setting.name, setting.fallback);
}

std::string_view Settings::value(std::string_view name) const {
  const auto at = values_.find(name);
  return at == values_.end() ? std::string_view() : std::string_view(at->second);
}

Result<void> Settings::set(std::string_view name, std::string_view value) {
  TALLY_TRY(setting, setting_by_name(profile_table(), name));
  TALLY_CHECK(check_value(*setting, value, name));
  values_.find(name)->second = value;
  return {};
}

} // namespace tally
