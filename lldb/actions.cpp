#include "actions.h"

#include <cstdlib>
#include <sstream>
#include <utility>

#include "agent_load.h"
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

Refused Actions::act(lldb::SBDebugger &debugger, Act act, const Words &words,
                     const std::vector<int32_t> &signals) {
  const auto process = [&] { return debugger.GetSelectedTarget().GetProcess(); };
  switch (act) {
  case Act::preload:
    preload_ = words;
    return std::nullopt;
  case Act::end_preload:
    preload_.clear();
    return std::nullopt;
  case Act::load:
    for (const int32_t number : signals)
      signals_.handle(process(), number, {false, false, false});
    return load_agent(session_, process(), words);
  case Act::interrupt:
    if (interpret(debugger, "target stop-hook list").text.find("State: enabled") !=
        std::string::npos)
      return Refusal{
          "stop-hooks would run at each interrupt: enter `target stop-hook disable` first"};
    interrupter_.begin(signals, words[0] == "stacks");
    return std::nullopt;
  case Act::end_interrupt:
    interrupter_.end();
    return std::nullopt;
  case Act::watch_region:
    return region_.begin(debugger, words);
  case Act::end_region:
    region_.end();
    return std::nullopt;
  case Act::restore_signals:
    signals_.restore();
    return std::nullopt;
  default:
    return Refusal{};
  }
}

void Actions::put_off(Act act, const Words &words, const std::vector<int32_t> &signals) {
  const std::lock_guard lock(mutex_);
  later_.push_back({act, words, signals});
}

void Actions::catch_up(lldb::SBDebugger &debugger) {
  std::vector<Later> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(later_);
  }
  for (const Later &each : all)
    act(debugger, each.act, each.words, each.signals);
}

void Actions::before_launch(lldb::SBDebugger &debugger) {
  if (preload_.empty())
    return;
  launched_ = debugger.GetSelectedTarget();
  std::optional<std::string> theirs = variable_of(debugger, launched_, "LD_PRELOAD");
  if (const char *const inherited = std::getenv("LD_PRELOAD"); inherited && !theirs)
    theirs = inherited;
  const size_t equals = preload_[1].find('=');
  const std::pair<std::string, std::string> ours[] = {
      {"LD_PRELOAD", preload_[0] + (theirs && !theirs->empty() ? ":" + *theirs : "")},
      {preload_[1].substr(0, equals), preload_[1].substr(equals + 1)}};
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
