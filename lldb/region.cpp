#include "region.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "interpreter.h"
#include "region_locations.h"
#include "source_view.h"
#include "stop.h"

namespace tally_lldb {

namespace {

uint64_t register_of(lldb::SBFrame frame, const char *name) {
  lldb::SBValue value = frame.FindRegister(name);
  return value.IsValid() ? value.GetValueAsUnsigned() : 0;
}

} // namespace

Region::Breakpoint &Region::watch(Breakpoints &breakpoints, const Breakpoint &like,
                                  lldb::SBBreakpoint handle, int32_t kind, uint64_t address) {
  handle.AddName(region_name);
  breakpoints.push_back(std::unique_ptr<Breakpoint>(
      new Breakpoint{this, like.target, handle, kind, address, like.is_function, like.is_x86_64,
                     like.function, true}));
  handle.SetCallback(&Region::on_hit, breakpoints.back().get());
  return *breakpoints.back();
}

Answer Region::begin(lldb::SBDebugger &debugger, const std::vector<std::string> &words) {
  lldb::SBTarget target = debugger.GetSelectedTarget();
  const bool is_function = words.size() < 2 || words[1].empty();
  const char *const triple = target.GetTriple();
  const Breakpoint like{this,
                        target,
                        {},
                        0,
                        0,
                        is_function,
                        std::strncmp(triple ? triple : "", "x86_64", 6) == 0,
                        base_name_of(words[0]),
                        true};
  Breakpoints made;
  Answer answer = Answer::done();
  {
    const AtEntries at_entries(debugger, target);
    for (size_t i = 0; i < (is_function ? 1U : 2U) && answer.is_done(); ++i) {
      lldb::SBBreakpoint breakpoint = breakpoint_at(debugger, target, words[i]);
      if (!breakpoint.IsValid() || breakpoint.GetNumLocations() == 0) {
        answer = Answer::refused(words[i], TALLY_REGION_UNKNOWN);
        if (breakpoint.IsValid())
          target.BreakpointDelete(breakpoint.GetID());
        break;
      }
      watch(made, like, breakpoint, i == 0 ? TALLY_HIT_FIRST : TALLY_HIT_SECOND);
      bool all_inlined = is_function;
      for (uint32_t each = 0; each < breakpoint.GetNumLocations(); ++each) {
        lldb::SBBreakpointLocation location = breakpoint.GetLocationAtIndex(each);
        if (is_function && is_moved_part(location.GetAddress()))
          location.SetEnabled(false);
        else
          all_inlined &= is_inlined(location.GetAddress(), base_name_of(words[i]));
      }
      if (is_function && is_address(words[i])) {
        if (!is_start(breakpoint.GetLocationAtIndex(0).GetAddress()))
          answer = Answer::refused(words[i], TALLY_REGION_WITHIN);
      } else if (all_inlined) {
        answer = Answer::refused(words[i], TALLY_REGION_INLINED);
      }
    }
  }
  if (!answer.is_done()) {
    bury(made);
    return answer;
  }
  end();
  {
    const std::lock_guard lock(mutex_);
    breakpoints_ = std::move(made);
    words_ = words;
  }
  await_first();
  return answer;
}

void Region::refresh(lldb::SBDebugger &debugger) {
  delete_dead();
  const auto is_there = [](Breakpoint &breakpoint) {
    lldb::SBBreakpoint found = breakpoint.target.FindBreakpointByID(breakpoint.handle.GetID());
    if (found.IsValid() && breakpoint.stops && breakpoint.kind != TALLY_HIT_MEASURED &&
        !found.IsEnabled())
      found.SetEnabled(true);
    return found.IsValid();
  };
  // The debugger's thread alone changes the list of breakpoints.
  bool whole = true;
  std::map<int32_t, bool> stops;
  for (const auto &each : breakpoints_) {
    whole &= is_there(*each);
    stops[each->kind] = each->stops;
  }
  Breakpoints gone;
  for (auto *const list : {&returns_, &measures_}) {
    std::vector<std::pair<uint64_t, Breakpoint *>> copy;
    {
      const std::lock_guard lock(mutex_);
      for (const auto &[address, breakpoint] : *list)
        if (breakpoint)
          copy.emplace_back(address, breakpoint.get());
    }
    for (const auto &[address, breakpoint] : copy)
      if (!is_there(*breakpoint)) {
        const std::lock_guard lock(mutex_);
        if (auto node = list->extract(address))
          gone.push_back(std::move(node.mapped()));
      }
  }
  bury(gone);
  if (whole)
    return;
  if (!begin(debugger, std::vector(words_)).is_done()) {
    print_error(debugger, "profile region: its breakpoints were deleted and cannot be set again\n");
    return;
  }
  for (const auto &each : breakpoints_) // a pass between two locations may have begun
    each->stops = stops[each->kind];
}

// Moves breakpoints to dead_, and deletes them if the process is stopped. If a breakpoint were
// deleted while the process runs, a hit that has already happened would stop the process for the
// user.
void Region::bury(Breakpoints &breakpoints) {
  for (auto &each : breakpoints) {
    each->alive = false;
    dead_.push_back(std::move(each));
  }
  breakpoints.clear();
  delete_dead();
}

void Region::delete_dead() {
  for (const auto &each : dead_) {
    lldb::SBProcess process = each->target.GetProcess();
    if (each->handle.IsValid() && !is_running(process))
      each->target.BreakpointDelete(each->handle.GetID());
  }
}

void Region::end() {
  process_gone();
  Breakpoints gone;
  {
    const std::lock_guard lock(mutex_);
    gone.swap(breakpoints_);
  }
  bury(gone);
}

void Region::process_gone() {
  Breakpoints gone;
  std::vector<lldb::SBBreakpointLocation> lifted;
  {
    const std::lock_guard lock(mutex_);
    gone.swap(exits_);
    for (auto &[address, breakpoint] : returns_)
      gone.push_back(std::move(breakpoint));
    returns_.clear();
    for (auto &[address, breakpoint] : measures_)
      if (breakpoint)
        gone.push_back(std::move(breakpoint));
    measures_.clear();
    entries_.clear();
    stop_.reported.clear();
    stop_.id = 0;
    lifted.swap(stop_.lifted);
  }
  steps_.clear();
  for (lldb::SBBreakpointLocation &each : lifted)
    each.SetEnabled(true);
  bury(gone);
  await_first();
}

// Resets the breakpoints to the state in which no thread is inside the region. The session then
// needs only the hits that may begin a pass.
void Region::await_first() {
  for (const auto &each : breakpoints_) {
    each->stops = each->kind == TALLY_HIT_FIRST;
    each->handle.SetEnabled(true);
  }
}

bool Region::on_hit(void *breakpoint, lldb::SBProcess &process, lldb::SBThread &thread,
                    lldb::SBBreakpointLocation &location) noexcept {
  try {
    Breakpoint &each = *static_cast<Breakpoint *>(breakpoint);
    if (each.alive)
      each.owner->hit(each, process, thread, location);
  } catch (...) {
    // A hit that cannot be reported does not count.
  }
  return false; // the process continues
}

// Sets the breakpoints of exits_. This happens at the first hit, when the libraries that define
// these functions are loaded, because LLDB prints a message when a breakpoint gets a new location
// later.
void Region::watch_exits(const Breakpoint &like) {
  {
    const std::lock_guard lock(mutex_);
    if (!exits_.empty())
      return;
  }
  Breakpoints made;
  for (const auto &[name, kind] : exit_functions_)
    watch(made, like, lldb::SBTarget(like.target).BreakpointCreateByName(name.c_str()), kind);
  const std::lock_guard lock(mutex_);
  exits_ = std::move(made);
  exits_stop_ = true;
}

// Enables or disables exits_. They are disabled while no thread is inside the region, where a
// program may throw thousands of exceptions.
void Region::stop_at_exits(bool stop) {
  std::vector<lldb::SBBreakpoint> handles;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(exits_stop_, stop) != stop)
      for (const auto &each : exits_)
        handles.push_back(each->handle);
  }
  for (lldb::SBBreakpoint &each : handles)
    each.SetEnabled(stop);
}

void Region::stop_at(Breakpoint &breakpoint) {
  breakpoint.stops = true;
  if (!breakpoint.handle.IsEnabled())
    breakpoint.handle.SetEnabled(true);
}

void Region::stop_at_return(const Breakpoint &like, uint64_t address) {
  Breakpoint *breakpoint = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = returns_.find(address); at != returns_.end())
      breakpoint = at->second.get();
  }
  if (breakpoint)
    return stop_at(*breakpoint);
  Breakpoints one;
  watch(one, like, lldb::SBTarget(like.target).BreakpointCreateByAddress(address),
        TALLY_HIT_RETURNED, address);
  const std::lock_guard lock(mutex_);
  returns_.emplace(address, std::move(one.front()));
}

static bool has_breakpoint(lldb::SBTarget target, const std::vector<uint64_t> &addresses) {
  for (uint32_t i = 0; i < target.GetNumBreakpoints(); ++i)
    for (const uint64_t address : addresses)
      if (target.GetBreakpointAtIndex(i).FindLocationByAddress(address).IsValid())
        return true;
  return false;
}

// Returns the addresses that a thread which is stopped at `pc` reaches next: those of two more
// instructions, and where the second of these leads. Returns none if one of the instructions may
// lead elsewhere or cannot be read.
std::vector<uint64_t> Region::path_from(lldb::SBTarget target, lldb::SBProcess &process,
                                        const Breakpoint &like, uint64_t pc) {
  std::vector<uint64_t> out;
  lldb::SBInstructionList code = target.ReadInstructions(target.ResolveLoadAddress(pc), 3);
  for (uint32_t i = 0; i < 3; ++i) {
    lldb::SBInstruction each = code.GetInstructionAtIndex(i);
    if (!each.IsValid())
      return {};
    if (!library().tally_leads_on(text_of(each, target).c_str())) {
      const uint64_t to = i == 2 && like.is_x86_64 ? steps_.from(process, {}, pc) : 0;
      if (to == 0 || to == Steps::anywhere || to == Steps::caller)
        return {};
      out.push_back(to);
    }
    pc += each.GetByteSize();
    out.push_back(pc);
  }
  return out;
}

// Lets threads that were stopped at `pc` report TALLY_HIT_MEASURED two instructions later, or not.
// LLDB's steps off the breakpoint at `pc`, and off the one that measures, must not end at other
// breakpoints (see steps.h), therefore it does nothing where these are; nor where steer_steps() may
// spare a step, as its cost would be missing.
void Region::measure(const Breakpoint &like, lldb::SBProcess &process, uint64_t pc, bool measures) {
  lldb::SBTarget target = like.target;
  Breakpoint *known = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const auto at = measures_.find(pc);
    if (at == measures_.end() ? !measures : !at->second)
      return;
    if (at != measures_.end())
      known = at->second.get();
  }
  if (known) {
    lldb::SBBreakpoint handle = known->handle;
    measures = measures && known->unasked < most_unasked && !steps_.is_near(pc) &&
               !has_breakpoint(target, known->path);
    known->is_awaited = measures;
    if (handle.IsEnabled() != measures &&
        (measures || !is_pending(stopped_threads(process), std::nullopt)))
      handle.SetEnabled(measures);
    return;
  }
  std::vector<uint64_t> path = path_from(target, process, like, pc);
  Breakpoints one;
  if (!path.empty() && !steps_.is_near(pc) && !has_breakpoint(target, path)) {
    const uint64_t to = path[1];
    path.erase(path.begin() + 1);
    Breakpoint &made = watch(one, like, target.BreakpointCreateByAddress(to), TALLY_HIT_MEASURED);
    made.path = std::move(path);
    made.is_awaited = true;
  }
  const std::lock_guard lock(mutex_);
  measures_.emplace(pc, one.empty() ? nullptr : std::move(one.front()));
}

// Notes that this thread's callback has been called. LLDB calls the callbacks of one stop one after
// the other. The first one of a new stop re-enables the locations in stop_.lifted.
void Region::enter_stop(lldb::SBProcess &process, lldb::SBThread &thread) {
  const uint32_t id = process.GetStopID(true);
  const lldb::tid_t tid = thread.GetThreadID();
  std::vector<lldb::SBBreakpointLocation> lifted;
  {
    const std::lock_guard lock(mutex_);
    if (id != stop_.id) {
      stop_.id = id;
      stop_.reported.clear();
      lifted.swap(stop_.lifted);
    }
    stop_.reported.insert(tid);
  }
  for (lldb::SBBreakpointLocation &each : lifted)
    each.SetEnabled(true);
}

// Returns the threads with their pcs. LLDB may still have to call another thread's callback for
// this stop (is_pending). If that thread's breakpoint is disabled by then, the thread stops for the
// user.
std::vector<Region::StoppedThread> Region::stopped_threads(lldb::SBProcess &process) {
  std::vector<StoppedThread> out;
  for (uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    const bool is_hit = thread.GetStopReason() == lldb::eStopReasonBreakpoint;
    const lldb::tid_t tid = thread.GetThreadID();
    const uint64_t pc = thread.GetFrameAtIndex(0).GetPC();
    const std::lock_guard lock(mutex_);
    out.push_back({thread, pc, is_hit && !stop_.reported.contains(tid)});
  }
  return out;
}

bool Region::is_pending(const std::vector<StoppedThread> &threads,
                        std::optional<uint64_t> address) {
  return std::ranges::any_of(threads, [&](const StoppedThread &each) {
    return each.is_pending && (!address || each.pc == *address);
  });
}

Region::EnabledLocation Region::enabled_at(uint64_t address) {
  std::vector<Breakpoint *> breakpoints;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = returns_.find(address); at != returns_.end())
      breakpoints.push_back(at->second.get());
    for (const auto &each : breakpoints_)
      breakpoints.push_back(each.get());
  }
  for (Breakpoint *const each : breakpoints)
    if (lldb::SBBreakpointLocation at = each->handle.FindLocationByAddress(address);
        at.IsValid() && each->handle.IsEnabled() && at.IsEnabled())
      return {each, at};
  return {};
}

// Returns whether the thread's step off its breakpoint may end at another one that is enabled.
bool Region::leads_to_breakpoint(lldb::SBProcess &process, const StoppedThread &thread,
                                 const Breakpoint &breakpoint) {
  const std::vector<uint64_t> behind = steps_.behind(thread.pc);
  const uint64_t to = breakpoint.is_x86_64 ? steps_.from(process, thread.thread, thread.pc) : 0;
  return to == Steps::anywhere || (to != 0 && enabled_at(to).breakpoint) ||
         std::ranges::any_of(behind, [&](uint64_t each) { return enabled_at(each).breakpoint; });
}

// Ensures that no step that LLDB makes off a breakpoint of the region ends at another one (see
// steps.h). This function disables the breakpoint that the step would leave. If the session does
// not need hits there, the breakpoint stays disabled. Otherwise only the location is disabled,
// until the first callback of the next stop. That is usually the callback of the breakpoint that
// the step leads to. Each callback calls this function, because a callback may change where passes
// end. This function does nothing unless a step off one breakpoint may lead to another one, because
// reading the pcs of many threads is slow.
void Region::steer_steps(lldb::SBProcess &process) {
  if (!steps_.are_any_near())
    return;
  const std::vector<StoppedThread> threads = stopped_threads(process);
  for (const StoppedThread &each : threads) {
    if (!steps_.is_near(each.pc))
      continue;
    EnabledLocation here = enabled_at(each.pc);
    if (!here.breakpoint || !leads_to_breakpoint(process, each, *here.breakpoint))
      continue;
    // Skip a breakpoint at which the hit of another thread is pending. Otherwise that hit would
    // stop the process for the user, because this location or the whole breakpoint would be
    // disabled.
    if (std::ranges::any_of(threads, [&](const StoppedThread &other) {
          return other.is_pending &&
                 (other.pc == each.pc ||
                  (!here.breakpoint->stops &&
                   here.breakpoint->handle.FindLocationByAddress(other.pc).IsValid()));
        }))
      continue;
    if (!here.breakpoint->stops) {
      here.breakpoint->handle.SetEnabled(false);
      continue;
    }
    here.location.SetEnabled(false);
    const std::lock_guard lock(mutex_);
    stop_.lifted.push_back(here.location);
  }
}

// Adds the addresses of all breakpoints to steps_ at the first hit in a process. The address of a
// breakpoint in a library that is loaded later is added when it is hit.
void Region::note_addresses(const Breakpoint &breakpoint, lldb::SBProcess &process,
                            lldb::SBBreakpointLocation &location) {
  const bool is_first = !steps_.has_addresses();
  steps_.add_address(process, location.GetLoadAddress(), breakpoint.is_x86_64);
  if (!is_first)
    return;
  std::vector<lldb::SBBreakpoint> handles;
  {
    const std::lock_guard lock(mutex_);
    for (const auto &each : breakpoints_)
      handles.push_back(each->handle);
  }
  for (lldb::SBBreakpoint &each : handles)
    for (uint32_t i = 0; i < each.GetNumLocations(); ++i)
      if (const uint64_t at = each.GetLocationAtIndex(i).GetLoadAddress();
          at != LLDB_INVALID_ADDRESS)
        steps_.add_address(process, at, breakpoint.is_x86_64);
}

bool Region::is_entry(const Breakpoint &breakpoint, lldb::SBBreakpointLocation &location) {
  const uint64_t at = location.GetLoadAddress();
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = entries_.find(at); known != entries_.end())
      return known->second;
  }
  lldb::SBAddress address = location.GetAddress();
  lldb::SBAddress start = start_of(address);
  const bool is_named = !breakpoint.function.empty(); // otherwise the user gave an entry's address
  const bool entry =
      breakpoint.is_x86_64 &&
      (!is_named || (start.IsValid() && start.GetLoadAddress(breakpoint.target) == at &&
                     !is_inlined(address, breakpoint.function)));
  const std::lock_guard lock(mutex_);
  return entries_[at] = entry;
}

// For a region between two locations: enables the breakpoint at the other location. After a hit at
// one location, only a hit at the other location has an effect.
void Region::stop_at_other(const Breakpoint &breakpoint) {
  Breakpoint *other = nullptr;
  {
    const std::lock_guard lock(mutex_);
    for (const auto &each : breakpoints_)
      if (each->kind != breakpoint.kind)
        other = each.get();
  }
  if (other)
    stop_at(*other);
}

void Region::hit(Breakpoint &breakpoint, lldb::SBProcess &process, lldb::SBThread &thread,
                 lldb::SBBreakpointLocation &location) {
  enter_stop(process, thread);
  if (breakpoint.kind != TALLY_HIT_MEASURED) // measure() looks for others on its path
    note_addresses(breakpoint, process, location);
  report(breakpoint, process, thread, location);
  steer_steps(process);
}

void Region::report(Breakpoint &breakpoint, lldb::SBProcess &process, lldb::SBThread &thread,
                    lldb::SBBreakpointLocation &location) {
  tally_hit hit{};
  hit.size = sizeof hit;
  hit.kind = breakpoint.kind;
  hit.tid = static_cast<int32_t>(thread.GetThreadID());
  hit.return_address = breakpoint.address;
  hit.holds_all = 1;
  const auto look = [&] {
    lldb::SBFrame frame = thread.GetFrameAtIndex(0);
    if (breakpoint.kind == TALLY_HIT_RETURNED) {
      hit.caller_sp = frame.GetSP();
      return;
    }
    hit.at_entry = 0;
    lldb::SBFrame caller = frame.IsInlined() ? lldb::SBFrame() : thread.GetFrameAtIndex(1);
    hit.caller_sp = caller.IsValid() ? caller.GetSP() : 0;
    hit.return_address = caller.IsValid() ? caller.GetPC() : 0;
  };
  if (breakpoint.is_function) {
    // If at_entry is set, the library reads the registers itself. Not every LLDB can unwind from a
    // `.cold` part.
    const bool at_entry =
        breakpoint.kind == TALLY_HIT_CAUGHT
            ? breakpoint.is_x86_64 && is_start(location.GetAddress())
            : breakpoint.kind == TALLY_HIT_FIRST && is_entry(breakpoint, location);
    hit.at_entry = at_entry ? 1 : 0;
    if (breakpoint.kind == TALLY_HIT_JUMPED)
      hit.jump_buffer = register_of(thread.GetFrameAtIndex(0), "rdi");
    else if (breakpoint.kind == TALLY_HIT_FIRST && hit.at_entry == 0)
      look();
  }
  const uint64_t at = location.GetLoadAddress();
  if (breakpoint.is_function && breakpoint.kind == TALLY_HIT_FIRST) {
    if (hit.return_address == 0 && hit.at_entry == 0 && !is_pending(stopped_threads(process), at))
      location.SetEnabled(false); // an inlined copy may begin a loop, and one hit is enough
    watch_exits(breakpoint);
  }
  const auto pid = static_cast<int32_t>(process.GetProcessID());
  std::optional<uint64_t> returns_to = session_.region_hit(pid, hit);
  if (!returns_to && find_sampled_(pid))
    returns_to = session_.region_hit(pid, hit);
  if (returns_to == TALLY_HIT_LOOK) {
    look();
    returns_to = session_.region_hit(pid, hit);
  }
  if (!returns_to || *returns_to == TALLY_HIT_LOOK)
    return;
  if (breakpoint.kind == TALLY_HIT_MEASURED) {
    // A loop begins there if it is hit without a hit before it.
    if (!breakpoint.is_awaited.exchange(false) && ++breakpoint.unasked >= most_unasked &&
        !is_pending(stopped_threads(process), std::nullopt))
      breakpoint.handle.SetEnabled(false);
    return;
  }
  if (!breakpoint.is_function) {
    breakpoint.stops = false;
    stop_at_other(breakpoint);
  } else if (breakpoint.kind == TALLY_HIT_RETURNED) {
    // A dispatcher's other calls return here, too. Most calls of a function come from one place, so
    // that the breakpoint is disabled only when such a call has returned.
    const bool was_awaited = breakpoint.stops.exchange(*returns_to != 0);
    if (!was_awaited && !breakpoint.stops && !is_pending(stopped_threads(process), at))
      breakpoint.handle.SetEnabled(false);
  } else if (*returns_to == TALLY_HIT_NOBODY) {
    if (!is_pending(stopped_threads(process), std::nullopt))
      stop_at_exits(false);
  } else if (*returns_to != 0 && !is_over(pid, hit, *returns_to, process, thread, at)) {
    stop_at_exits(true);
    steps_.add_address(process, *returns_to, breakpoint.is_x86_64);
    stop_at_return(breakpoint, *returns_to);
  }
  measure(breakpoint, process, at, session_.region_measures());
}

// Returns whether the function's first instruction is its return, so that the pass ends with the
// next step. The return has then been reported to the session.
bool Region::is_over(int32_t pid, tally_hit hit, uint64_t returns_to, lldb::SBProcess &process,
                     lldb::SBThread &thread, uint64_t entry) {
  if (hit.at_entry == 0 || steps_.from(process, thread, entry) != returns_to)
    return false;
  hit.kind = TALLY_HIT_RETURNED;
  hit.return_address = returns_to;
  hit.caller_sp = thread.GetFrameAtIndex(0).GetSP() + sizeof(uint64_t);
  const std::optional<uint64_t> awaited = session_.region_hit(pid, hit);
  return awaited && *awaited == 0;
}

} // namespace tally_lldb
