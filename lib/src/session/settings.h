// The settings of a group of commands.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "session/command_table.h"
#include "support/result.h"

namespace tally {

class Settings {
public:
  explicit Settings(const CommandTable &table); // with the defaults of its settings

  // Returns the value of a setting; empty if there is no such setting.
  std::string_view value(std::string_view name) const;
  // Changes a setting. Fails with invalid_argument if there is no such setting or if it does not
  // accept the value.
  Result<void> set(std::string_view name, std::string_view value);

private:
  const CommandTable &table_;
  std::map<std::string, std::string, std::less<>> values_;
};

struct ParsedCommand;
// Performs the command `config` of a table: shows settings, or sets one. Returns the text to print.
Result<std::string> configure(Settings &values, const CommandTable &table,
                              const ParsedCommand &command);

} // namespace tally
