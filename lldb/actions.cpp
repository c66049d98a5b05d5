#include "actions.h"

#include <cstdlib>
#include <sstream>
#include <utility>

#include "interpreter.h"

namespace tally_lldb {

namespace {

// Returns the value of a variable in target.env-vars, which the next run gets in addition to LLDB's
// own environment. Returns nothing if the variable is not set there.
std::optional<std::string> variable_of(lldb::SBDebugger &debugger, lldb::SBTarget target,
                                       const std::string &name) {
  std::istringstream lines(interpret(debugger, target, "settings show target.env-vars").text);
  for (std::string line; std::getline(lines, line);) {
    line.erase(0, line.find_first_not_of(' '));
    if (line.starts_with(name + "="))
      return line.substr(name.size() + 1);
  }
  return {};
}

void set_variable(lldb::SBDebugger &debugger, lldb::SBTarget target, const std::string &name,
                  const std::optional<std::string> &value) {
  interpret(debugger, target,
            value ? "settings set target.env-vars " + as_word(name + "=" + *value)
                  : "settings remove target.env-vars " + name);
}

} // namespace

void Actions::preload(std::string library, std::string variable) {
  const std::lock_guard lock(mutex_);
  preload_ = {std::move(library), std::move(variable)};
}

void Actions::put_off(std::function<void(tally::Front &)> what) {
  const std::lock_guard lock(mutex_);
  later_.push_back(std::move(what));
}

void Actions::catch_up(tally::Front &performer) {
  std::vector<std::function<void(tally::Front &)>> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(later_);
  }
  for (const auto &each : all)
    each(performer);
}

void Actions::before_launch(lldb::SBDebugger &debugger) {
  std::pair<std::string, std::string> wanted;
  {
    const std::lock_guard lock(mutex_);
    wanted = preload_;
  }
  const auto &[library, setting] = wanted;
  if (library.empty())
    return;
  launched_ = debugger.GetSelectedTarget();
  std::optional<std::string> theirs = variable_of(debugger, launched_, "LD_PRELOAD");
  if (const char *const inherited = std::getenv("LD_PRELOAD"); inherited && !theirs)
    theirs = inherited;
  const size_t equals = setting.find('=');
  const std::pair<std::string, std::string> ours[] = {
      {"LD_PRELOAD", library + (theirs && !theirs->empty() ? ":" + *theirs : "")},
      {setting.substr(0, equals), setting.substr(equals + 1)}};
  for (const auto &[name, value] : ours) {
    variables_.emplace(name, Variable{value, variable_of(debugger, launched_, name)});
    set_variable(debugger, launched_, name, value);
  }
}

void Actions::after_launch(lldb::SBDebugger &debugger) {
  for (const auto &[name, variable] : std::exchange(variables_, {}))
    if (variable_of(debugger, launched_, name) == variable.ours) // the user has not changed it
      set_variable(debugger, launched_, name, variable.theirs);
}

} // namespace tally_lldb
