#include "region.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "interpreter.h"
#include "region_places.h"
#include "stop.h"

namespace tally_lldb {

namespace {

std::string refusal_of(tally_region_refusal why, const std::string &word) {
  return std::to_string(why) + " " + word;
}

uint64_t register_of(lldb::SBFrame frame, const char *name) {
  lldb::SBValue value = frame.FindRegister(name);
  return value.IsValid() ? value.GetValueAsUnsigned() : 0;
}

} // namespace

Region::Place &Region::watch(Places &places, const Place &like, lldb::SBBreakpoint breakpoint,
                             int32_t kind, uint64_t address) {
  breakpoint.AddName(region_name);
  places.push_back(
      std::unique_ptr<Place>(new Place{this, like.target, breakpoint, kind, address,
                                       like.is_function, like.is_x86_64, like.function, true}));
  breakpoint.SetCallback(&Region::on_hit, places.back().get());
  return *places.back();
}

std::string Region::begin(lldb::SBDebugger &debugger, const Words &words) {
  lldb::SBTarget target = debugger.GetSelectedTarget();
  const bool is_function = words.size() < 2 || words[1].empty();
  const char *const triple = target.GetTriple();
  const Place like{this,
                   target,
                   {},
                   0,
                   0,
                   is_function,
                   std::strncmp(triple ? triple : "", "x86_64", 6) == 0,
                   base_name_of(words[0]),
                   true};
  Places made;
  std::string refusal;
  {
    const AtEntries at_entries(debugger, target);
    for (size_t i = 0; i < (is_function ? 1U : 2U) && refusal.empty(); ++i) {
      lldb::SBBreakpoint breakpoint = breakpoint_at(debugger, target, words[i]);
      if (!breakpoint.IsValid() || breakpoint.GetNumLocations() == 0) {
        refusal = refusal_of(TALLY_REGION_UNKNOWN, words[i]);
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
          refusal = refusal_of(TALLY_REGION_WITHIN, words[i]);
      } else if (all_inlined) {
        refusal = refusal_of(TALLY_REGION_INLINED, words[i]);
      }
    }
  }
  if (!refusal.empty()) {
    bury(made);
    return refusal;
  }
  end();
  {
    const std::lock_guard lock(mutex_);
    places_ = std::move(made);
    words_ = words;
  }
  await_first();
  return {};
}

void Region::refresh(lldb::SBDebugger &debugger) {
  delete_dead();
  const auto is_there = [](Place &place) {
    lldb::SBBreakpoint found = place.target.FindBreakpointByID(place.breakpoint.GetID());
    if (found.IsValid() && place.stops && !found.IsEnabled())
      found.SetEnabled(true);
    return found.IsValid();
  };
  // The debugger's thread alone changes the list of places.
  bool whole = true;
  std::map<int32_t, bool> stops;
  for (const auto &each : places_) {
    whole &= is_there(*each);
    stops[each->kind] = each->stops;
  }
  std::vector<std::pair<uint64_t, Place *>> returns;
  {
    const std::lock_guard lock(mutex_);
    for (const auto &[address, place] : returns_)
      returns.emplace_back(address, place.get());
  }
  Places gone;
  for (const auto &[address, place] : returns)
    if (!is_there(*place)) {
      const std::lock_guard lock(mutex_);
      if (auto node = returns_.extract(address))
        gone.push_back(std::move(node.mapped()));
    }
  bury(gone);
  if (whole)
    return;
  if (!begin(debugger, Words(words_)).empty()) {
    print_error(debugger, "profile region: its breakpoints were deleted and cannot be set again\n");
    return;
  }
  for (const auto &each : places_) // a pass between two locations may have begun
    each->stops = stops[each->kind];
}

// Moves breakpoints to dead_, and deletes them if the process is stopped. If a breakpoint were
// deleted while the process runs, a hit that has already happened would stop it for the user.
void Region::bury(Places &places) {
  for (auto &each : places) {
    each->alive = false;
    dead_.push_back(std::move(each));
  }
  places.clear();
  delete_dead();
}

void Region::delete_dead() {
  for (const auto &each : dead_) {
    lldb::SBProcess process = each->target.GetProcess();
    if (each->breakpoint.IsValid() && !is_running(process))
      each->target.BreakpointDelete(each->breakpoint.GetID());
  }
}

void Region::end() {
  process_gone();
  Places gone;
  {
    const std::lock_guard lock(mutex_);
    gone.swap(places_);
  }
  bury(gone);
}

void Region::process_gone() {
  Places gone;
  std::vector<lldb::SBBreakpointLocation> lifted;
  {
    const std::lock_guard lock(mutex_);
    gone.swap(exits_);
    for (auto &[address, place] : returns_)
      gone.push_back(std::move(place));
    returns_.clear();
    entries_.clear();
    told_.clear();
    stop_id_ = 0;
    lifted.swap(lifted_);
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
  for (const auto &each : places_) {
    each->stops = each->kind == TALLY_HIT_FIRST;
    each->breakpoint.SetEnabled(true);
  }
}

bool Region::on_hit(void *place, lldb::SBProcess &process, lldb::SBThread &thread,
                    lldb::SBBreakpointLocation &location) noexcept {
  try {
    Place &each = *static_cast<Place *>(place);
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
void Region::watch_exits(const Place &like) {
  {
    const std::lock_guard lock(mutex_);
    if (!exits_.empty())
      return;
  }
  Places made;
  for (const auto &[name, kind] : exit_functions_)
    watch(made, like, lldb::SBTarget(like.target).BreakpointCreateByName(name.c_str()), kind);
  const std::lock_guard lock(mutex_);
  exits_ = std::move(made);
  exits_stop_ = true;
}

// Enables or disables exits_. They are disabled while no thread is inside the region, where a
// program may throw thousands of exceptions.
void Region::stop_at_exits(bool stop) {
  std::vector<lldb::SBBreakpoint> breakpoints;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(exits_stop_, stop) != stop)
      for (const auto &each : exits_)
        breakpoints.push_back(each->breakpoint);
  }
  for (lldb::SBBreakpoint &each : breakpoints)
    each.SetEnabled(stop);
}

void Region::stop_at(Place &place) {
  place.stops = true;
  if (!place.breakpoint.IsEnabled())
    place.breakpoint.SetEnabled(true);
}

void Region::stop_at_return(const Place &like, uint64_t address) {
  Place *place = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = returns_.find(address); at != returns_.end())
      place = at->second.get();
  }
  if (place)
    return stop_at(*place);
  Places one;
  watch(one, like, lldb::SBTarget(like.target).BreakpointCreateByAddress(address),
        TALLY_HIT_RETURNED, address);
  const std::lock_guard lock(mutex_);
  returns_.emplace(address, std::move(one.front()));
}

// Notes that this thread's callback has been called. LLDB calls the callbacks of one stop one after
// the other. The first one of a new stop re-enables the locations in lifted_.
void Region::enter_stop(lldb::SBProcess &process, lldb::SBThread &thread) {
  const uint32_t id = process.GetStopID(true);
  const lldb::tid_t tid = thread.GetThreadID();
  std::vector<lldb::SBBreakpointLocation> lifted;
  {
    const std::lock_guard lock(mutex_);
    if (id != stop_id_) {
      stop_id_ = id;
      told_.clear();
      lifted.swap(lifted_);
    }
    told_.insert(tid);
  }
  for (lldb::SBBreakpointLocation &each : lifted)
    each.SetEnabled(true);
}

// Returns the threads with their pcs. LLDB may still have to call another thread's callback for
// this stop (is_untold). If that thread's breakpoint is disabled by then, it stops for the user.
std::vector<Region::Standing> Region::standing(lldb::SBProcess &process) {
  std::vector<Standing> out;
  for (uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    const bool is_hit = thread.GetStopReason() == lldb::eStopReasonBreakpoint;
    const lldb::tid_t tid = thread.GetThreadID();
    const uint64_t pc = thread.GetFrameAtIndex(0).GetPC();
    const std::lock_guard lock(mutex_);
    out.push_back({thread, pc, is_hit && !told_.contains(tid)});
  }
  return out;
}

bool Region::is_untold(const std::vector<Standing> &threads, std::optional<uint64_t> address) {
  return std::ranges::any_of(threads, [&](const Standing &each) {
    return each.is_untold && (!address || each.pc == *address);
  });
}

Region::Stand Region::stand_at(uint64_t address) {
  std::vector<Place *> places;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = returns_.find(address); at != returns_.end())
      places.push_back(at->second.get());
    for (const auto &each : places_)
      places.push_back(each.get());
  }
  for (Place *const each : places)
    if (lldb::SBBreakpointLocation at = each->breakpoint.FindLocationByAddress(address);
        at.IsValid() && each->breakpoint.IsEnabled() && at.IsEnabled())
      return {each, at};
  return {};
}

// Returns whether the thread's step off its breakpoint may end at another one that is enabled.
bool Region::leads_to_place(lldb::SBProcess &process, const Standing &thread, const Place &place) {
  const std::vector<uint64_t> behind = steps_.behind(thread.pc);
  const uint64_t to = place.is_x86_64 ? steps_.from(process, thread.thread, thread.pc) : 0;
  return to == Steps::anywhere || (to != 0 && stand_at(to).place) ||
         std::ranges::any_of(behind, [&](uint64_t each) { return stand_at(each).place; });
}

// Ensures that no step that LLDB makes off a breakpoint of the region ends at another one (see
// steps.h). It disables the breakpoint that the step would leave. If the session does not need hits
// there, the breakpoint stays disabled. Otherwise only the location is disabled, until the first
// callback of the next stop, which is usually that of the breakpoint the step leads to. Each
// callback repeats this, because it may have changed where passes end. It is done only if two
// breakpoints are that near, because reading the pcs of many threads is slow.
void Region::steer_steps(lldb::SBProcess &process) {
  if (!steps_.are_any_near())
    return;
  const std::vector<Standing> threads = standing(process);
  for (const Standing &each : threads) {
    if (!steps_.is_near(each.pc))
      continue;
    Stand here = stand_at(each.pc);
    if (!here.place || !leads_to_place(process, each, *here.place))
      continue;
    // Another thread's hit is pending at what would be disabled: all locations, or this one.
    if (std::ranges::any_of(threads, [&](const Standing &other) {
          return other.is_untold &&
                 (other.pc == each.pc ||
                  (!here.place->stops &&
                   here.place->breakpoint.FindLocationByAddress(other.pc).IsValid()));
        }))
      continue;
    if (!here.place->stops) {
      here.place->breakpoint.SetEnabled(false);
      continue;
    }
    here.location.SetEnabled(false);
    const std::lock_guard lock(mutex_);
    lifted_.push_back(here.location);
  }
}

// Adds the addresses of all breakpoints to steps_ at the first hit in a process. The address of a
// breakpoint in a library that is loaded later is added when it is hit.
void Region::note_places(const Place &place, lldb::SBProcess &process,
                         lldb::SBBreakpointLocation &location) {
  const bool is_first = !steps_.has_places();
  steps_.add_place(process, location.GetLoadAddress(), place.is_x86_64);
  if (!is_first)
    return;
  std::vector<lldb::SBBreakpoint> breakpoints;
  {
    const std::lock_guard lock(mutex_);
    for (const auto &each : places_)
      breakpoints.push_back(each->breakpoint);
  }
  for (lldb::SBBreakpoint &each : breakpoints)
    for (uint32_t i = 0; i < each.GetNumLocations(); ++i)
      if (const uint64_t at = each.GetLocationAtIndex(i).GetLoadAddress();
          at != LLDB_INVALID_ADDRESS)
        steps_.add_place(process, at, place.is_x86_64);
}

bool Region::is_entry(const Place &place, lldb::SBBreakpointLocation &location) {
  const uint64_t at = location.GetLoadAddress();
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = entries_.find(at); known != entries_.end())
      return known->second;
  }
  lldb::SBAddress address = location.GetAddress();
  lldb::SBAddress start = start_of(address);
  const bool is_named = !place.function.empty(); // otherwise the user gave an entry's address
  const bool entry = place.is_x86_64 &&
                     (!is_named || (start.IsValid() && start.GetLoadAddress(place.target) == at &&
                                    !is_inlined(address, place.function)));
  const std::lock_guard lock(mutex_);
  return entries_[at] = entry;
}

// Enables the breakpoint at the other location of a region between two. After a hit of one, only a
// hit of the other has an effect.
void Region::stop_at_other(const Place &place) {
  Place *other = nullptr;
  {
    const std::lock_guard lock(mutex_);
    for (const auto &each : places_)
      if (each->kind != place.kind)
        other = each.get();
  }
  if (other)
    stop_at(*other);
}

void Region::hit(Place &place, lldb::SBProcess &process, lldb::SBThread &thread,
                 lldb::SBBreakpointLocation &location) {
  enter_stop(process, thread);
  note_places(place, process, location);
  tell(place, process, thread, location);
  steer_steps(process);
}

void Region::tell(Place &place, lldb::SBProcess &process, lldb::SBThread &thread,
                  lldb::SBBreakpointLocation &location) {
  tally_hit hit{};
  hit.size = sizeof hit;
  hit.kind = place.kind;
  hit.tid = static_cast<int32_t>(thread.GetThreadID());
  hit.return_address = place.address;
  hit.holds_all = 1;
  const auto look = [&] {
    lldb::SBFrame frame = thread.GetFrameAtIndex(0);
    if (place.kind == TALLY_HIT_RETURNED) {
      hit.caller_sp = frame.GetSP();
      return;
    }
    hit.at_entry = 0;
    lldb::SBFrame caller = frame.IsInlined() ? lldb::SBFrame() : thread.GetFrameAtIndex(1);
    hit.caller_sp = caller.IsValid() ? caller.GetSP() : 0;
    hit.return_address = caller.IsValid() ? caller.GetPC() : 0;
  };
  if (place.is_function) {
    // If at_entry is set, the library reads the registers itself. Not every LLDB can unwind from a
    // `.cold` part.
    const bool at_entry = place.kind == TALLY_HIT_CAUGHT
                              ? place.is_x86_64 && is_start(location.GetAddress())
                              : place.kind == TALLY_HIT_FIRST && is_entry(place, location);
    hit.at_entry = at_entry ? 1 : 0;
    if (place.kind == TALLY_HIT_JUMPED)
      hit.jump_buffer = register_of(thread.GetFrameAtIndex(0), "rdi");
    else if (place.kind == TALLY_HIT_FIRST && hit.at_entry == 0)
      look();
  }
  const uint64_t at = location.GetLoadAddress();
  if (place.is_function && place.kind == TALLY_HIT_FIRST) {
    if (hit.return_address == 0 && hit.at_entry == 0 && !is_untold(standing(process), at))
      location.SetEnabled(false); // an inlined copy may begin a loop, and one hit is enough
    watch_exits(place);
  }
  const auto pid = static_cast<int32_t>(process.GetProcessID());
  std::optional<uint64_t> returns_to = session_.region_hit(pid, hit);
  if (returns_to == TALLY_HIT_LOOK) {
    look();
    returns_to = session_.region_hit(pid, hit);
  }
  if (!returns_to || *returns_to == TALLY_HIT_LOOK)
    return;
  if (!place.is_function) {
    place.stops = false;
    stop_at_other(place);
  } else if (place.kind == TALLY_HIT_RETURNED) {
    place.stops = *returns_to != 0;
  } else if (*returns_to == TALLY_HIT_NOBODY) {
    if (!is_untold(standing(process), std::nullopt))
      stop_at_exits(false);
  } else if (*returns_to != 0 && !is_over(pid, hit, *returns_to, process, thread, at)) {
    stop_at_exits(true);
    steps_.add_place(process, *returns_to, place.is_x86_64);
    stop_at_return(place, *returns_to);
  }
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
