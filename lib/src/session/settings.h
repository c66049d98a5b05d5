// The settings of the `profile` commands.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include <tally/result.h>

namespace tally {

class Settings {
public:
  Settings(); // the defaults of profile_table().settings

  // Returns the value of a setting; empty if there is no such setting.
  std::string_view value(std::string_view name) const;
  // Changes a setting. Fails with invalid_argument if there is no such setting or if it does not
  // accept the value.
  Result<void> set(std::string_view name, std::string_view value);

private:
  std::map<std::string, std::string, std::less<>> values_;
};

} // namespace tally
