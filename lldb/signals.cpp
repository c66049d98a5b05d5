#include "signals.h"

#include <utility>

namespace tally_lldb {

namespace {

void set(lldb::SBUnixSignals signals, int number, Handling handling) {
  signals.SetShouldSuppress(number, handling.suppress);
  signals.SetShouldStop(number, handling.stop);
  signals.SetShouldNotify(number, handling.notify);
}

} // namespace

void Signals::handle(lldb::SBProcess process, int number, Handling handling) {
  if (process_.GetUniqueID() != process.GetUniqueID())
    before_.clear(); // the previous process's settings ended with it
  process_ = process;
  lldb::SBUnixSignals signals = process.GetUnixSignals();
  before_.try_emplace(number,
                      Handling{signals.GetShouldSuppress(number), signals.GetShouldStop(number),
                               signals.GetShouldNotify(number)});
  set(signals, number, handling);
}

bool Signals::stops(lldb::SBProcess process, int number) const {
  const auto at = before_.find(number);
  return at != before_.end() ? at->second.stop : process.GetUnixSignals().GetShouldStop(number);
}

void Signals::restore() {
  for (const auto &[number, handling] : std::exchange(before_, {}))
    set(process_.GetUnixSignals(), number, handling);
}

} // namespace tally_lldb
