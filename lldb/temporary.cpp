#include "temporary.h"

#include "stop.h"

namespace tally_lldb {

namespace {

// Returns the address behind the prologue, where LLDB's own breakpoints on functions are.
lldb::SBAddress behind_prologue(lldb::SBTarget &target, uint64_t entry) {
  lldb::SBAddress at = target.ResolveLoadAddress(entry);
  lldb::SBFunction function = at.GetFunction();
  const uint64_t skipped =
      function.IsValid() ? function.GetPrologueByteSize() : at.GetSymbol().GetPrologueByteSize();
  return target.ResolveLoadAddress(entry + skipped);
}

} // namespace

std::optional<size_t> Temporary::begin(lldb::SBDebugger &debugger,
                                       std::span<const uint64_t> entries) {
  look();
  lldb::SBTarget target = debugger.GetSelectedTarget();
  lldb::SBProcess process = target.GetProcess();
  if (!is_stopped(process))
    return std::nullopt;
  if (process.GetUniqueID() != process_)
    by_entry_.clear();
  target_ = target;
  process_ = process.GetUniqueID();
  size_t done = 0;
  for (const uint64_t entry : entries) {
    const auto there = by_entry_.find(entry);
    if (there == by_entry_.end() || !target.FindBreakpointByID(there->second).IsValid()) {
      lldb::SBAddress address = behind_prologue(target, entry);
      lldb::SBBreakpoint breakpoint = target.BreakpointCreateBySBAddress(address);
      if (!breakpoint.IsValid() || breakpoint.GetNumResolvedLocations() == 0) {
        target.BreakpointDelete(breakpoint.GetID());
        continue;
      }
      breakpoint.SetOneShot(true);
      by_entry_[entry] = breakpoint.GetID();
    }
    ++done;
  }
  return done;
}

void Temporary::look() {
  if (by_entry_.empty())
    return;
  lldb::SBProcess process = target_.GetProcess();
  const bool is_there = process.IsValid() && process.GetUniqueID() == process_ &&
                        (is_stopped(process) || is_running(process));
  if (is_there)
    return;
  for (const auto &[entry, id] : by_entry_)
    target_.BreakpointDelete(id);
  by_entry_.clear();
}

} // namespace tally_lldb
