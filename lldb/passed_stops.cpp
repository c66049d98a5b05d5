#include "passed_stops.h"

#include <cstdlib>
#include <memory>

namespace tally_lldb {

namespace {

// Returns whether LLDB may pass an SBBreakpoint or an SBBreakpointLocation. If it is not restricted
// to a thread, one of the two types has the thread index UINT32_MAX and the other has 0.
template <class Breakpoint> bool may_be_passed(Breakpoint &each) {
  const auto given = [](const char *text) { return text && *text; };
  const uint32_t thread = each.GetThreadIndex();
  return given(each.GetCondition()) || each.GetIgnoreCount() > 0 || each.GetAutoContinue() ||
         each.GetThreadID() != LLDB_INVALID_THREAD_ID || (thread != 0 && thread != UINT32_MAX) ||
         given(each.GetThreadName());
}

std::string real_path(lldb::SBFileSpec file) {
  char path[4096];
  if (file.GetPath(path, sizeof path) == 0)
    return {};
  const std::unique_ptr<char, void (*)(void *)> real(::realpath(path, nullptr), &std::free);
  return real ? real.get() : "";
}

BreakpointLocation location_of(lldb::SBBreakpointLocation &location) {
  lldb::SBAddress address = location.GetAddress();
  lldb::SBSection section = address.GetSection();
  if (section.IsValid())
    if (std::string file = real_path(address.GetModule().GetFileSpec()); !file.empty())
      return {std::move(file), section.GetFileOffset() + address.GetOffset()};
  const lldb::addr_t loaded = location.GetLoadAddress();
  return {{}, loaded == LLDB_INVALID_ADDRESS ? 0 : loaded};
}

} // namespace

std::vector<BreakpointLocation> passed_stops(lldb::SBTarget target) {
  std::vector<BreakpointLocation> out;
  for (uint32_t i = 0; i < target.GetNumBreakpoints(); ++i) {
    lldb::SBBreakpoint breakpoint = target.GetBreakpointAtIndex(i);
    if (!breakpoint.IsEnabled())
      continue;
    const bool all = may_be_passed(breakpoint);
    for (size_t k = 0; k < breakpoint.GetNumLocations(); ++k) {
      lldb::SBBreakpointLocation location = breakpoint.GetLocationAtIndex(static_cast<uint32_t>(k));
      if (!location.IsEnabled() || !(all || may_be_passed(location)))
        continue;
      if (BreakpointLocation found = location_of(location); found.address != 0)
        out.push_back(std::move(found));
    }
  }
  return out;
}

} // namespace tally_lldb
