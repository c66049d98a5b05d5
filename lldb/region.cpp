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

// What leaves a function but its return, by the names that the program or its libraries have.
constexpr std::pair<const char *, int32_t> leaves[] = {
    {"__cxa_begin_catch", TALLY_HIT_CAUGHT}, {"longjmp", TALLY_HIT_JUMPED},
    {"_longjmp", TALLY_HIT_JUMPED},          {"siglongjmp", TALLY_HIT_JUMPED},
    {"__longjmp_chk", TALLY_HIT_JUMPED},
};

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
  bool whole = true;
  const auto is_there = [](Place &place) {
    lldb::SBBreakpoint found = place.target.FindBreakpointByID(place.breakpoint.GetID());
    if (found.IsValid() && found.IsEnabled() != place.stops)
      found.SetEnabled(place.stops);
    return found.IsValid();
  };
  // The debugger's thread alone changes the list of places.
  for (const auto &each : places_)
    whole &= is_there(*each);
  Places gone;
  {
    const std::lock_guard lock(mutex_);
    for (auto at = returns_.begin(); at != returns_.end();)
      if (is_there(*at->second)) {
        ++at;
      } else {
        gone.push_back(std::move(at->second));
        at = returns_.erase(at);
      }
  }
  bury(gone);
  if (whole)
    return;
  if (!begin(debugger, Words(words_)).empty())
    print_error(debugger,
                "profile region: its breakpoints were deleted, and cannot be set again\n");
}

// A breakpoint that is deleted while the process runs may have been hit already, and would stop it
// for nobody.
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
    if (each->breakpoint.IsValid() && !is_running(process)) {
      each->target.BreakpointDelete(each->breakpoint.GetID());
      each->breakpoint = lldb::SBBreakpoint();
    }
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
    gone.swap(leaves_);
    for (auto &[address, place] : returns_)
      gone.push_back(std::move(place));
    returns_.clear();
    entries_.clear();
    told_.clear();
    lifted.swap(lifted_);
  }
  steps_.clear();
  for (lldb::SBBreakpointLocation &each : lifted)
    each.SetEnabled(true);
  bury(gone);
  await_first();
}

// Nobody is inside.
void Region::await_first() {
  for (const auto &each : places_) {
    each->stops = each->kind == TALLY_HIT_FIRST;
    each->breakpoint.SetEnabled(each->stops);
  }
}

bool Region::on_hit(void *place, lldb::SBProcess &process, lldb::SBThread &thread,
                    lldb::SBBreakpointLocation &location) noexcept {
  try {
    Place &each = *static_cast<Place *>(place);
    if (each.alive)
      each.owner->hit(each, process, thread, location);
  } catch (...) {
    // A hit that cannot be told is none.
  }
  return false; // the process goes on
}

// At the first hit, when the libraries that have them are there: LLDB tells the user of a place
// that a breakpoint finds later.
void Region::watch_leaves(const Place &like) {
  {
    const std::lock_guard lock(mutex_);
    if (!leaves_.empty())
      return;
  }
  Places made;
  for (const auto &[name, kind] : leaves)
    watch(made, like, lldb::SBTarget(like.target).BreakpointCreateByName(name), kind);
  const std::lock_guard lock(mutex_);
  leaves_ = std::move(made);
  leaves_stop_ = true;
}

// A program may throw thousands of exceptions while no thread is inside of the region.
void Region::stop_at_leaves(bool stop) {
  std::vector<lldb::SBBreakpoint> breakpoints;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(leaves_stop_, stop) != stop)
      for (const auto &each : leaves_)
        breakpoints.push_back(each->breakpoint);
  }
  for (lldb::SBBreakpoint &each : breakpoints)
    each.SetEnabled(stop);
}

void Region::stop_at_return(const Place &like, uint64_t address, lldb::SBProcess &process,
                            lldb::SBThread &thread) {
  Place *place = nullptr;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = returns_.find(address); at != returns_.end())
      place = at->second.get();
  }
  if (place && place->stops.exchange(true))
    return;
  if (place) {
    place->breakpoint.SetEnabled(true);
  } else {
    Places one;
    place = &watch(one, like, lldb::SBTarget(like.target).BreakpointCreateByAddress(address),
                   TALLY_HIT_RETURNED, address);
    const std::lock_guard lock(mutex_);
    returns_.emplace(address, std::move(one.front()));
  }
  note_who_stands_at(*place, process, thread);
}

bool Region::is_place(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto at = returns_.find(address);
  return entries_.contains(address) || (at != returns_.end() && at->second->stops);
}

// A thread may stand where a breakpoint is set only now.
void Region::note_who_stands_at(Place &place, lldb::SBProcess &process, lldb::SBThread &thread) {
  if (!is_place(steps_.from(process, thread, place.address).to))
    return;
  for (uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread other = process.GetThreadAtIndex(i);
    const lldb::tid_t tid = other.GetThreadID();
    if (tid == thread.GetThreadID() || other.GetFrameAtIndex(0).GetPC() != place.address)
      continue;
    const lldb::SBBreakpointLocation location =
        place.breakpoint.FindLocationByAddress(place.address);
    const std::lock_guard lock(mutex_);
    if (std::ranges::none_of(told_, [&](const Told &each) { return each.tid == tid; }))
      told_.push_back({tid, other, place.address, &place, location, false});
  }
}

// The callbacks of one stop come one after the other, each with its thread.
void Region::enter_stop(Place &place, lldb::SBProcess &process, lldb::SBThread &thread,
                        lldb::SBBreakpointLocation &location) {
  const uint32_t id = process.GetStopID(true);
  const lldb::tid_t tid = thread.GetThreadID();
  const uint64_t at = location.GetLoadAddress();
  std::vector<Told> before;
  std::vector<lldb::SBBreakpointLocation> lifted;
  {
    const std::lock_guard lock(mutex_);
    if (id != stop_id_) {
      stop_id_ = id;
      before.swap(told_);
      lifted.swap(lifted_);
    }
  }
  // One that has not got a processor since then is still to go on from where it stands.
  std::erase_if(before, [&](Told &each) {
    each.is_new = false;
    return each.tid == tid || !each.thread.IsValid() ||
           each.thread.GetFrameAtIndex(0).GetPC() != each.at;
  });
  for (lldb::SBBreakpointLocation &each : lifted)
    each.SetEnabled(true);
  const std::lock_guard lock(mutex_);
  told_.insert(told_.end(), before.begin(), before.end());
  told_.push_back({tid, thread, at, &place, location, true});
}

// Where threads stand whose callbacks are yet to come in this stop. Such a thread stops for the
// user if its breakpoint is gone by then.
std::set<uint64_t> Region::untold(lldb::SBProcess &process) {
  std::set<uint64_t> out;
  for (uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    if (thread.GetStopReason() != lldb::eStopReasonBreakpoint)
      continue;
    const lldb::tid_t tid = thread.GetThreadID();
    const bool is_told = [&] {
      const std::lock_guard lock(mutex_);
      return std::ranges::any_of(told_,
                                 [&](const Told &each) { return each.is_new && each.tid == tid; });
    }();
    if (!is_told)
      out.insert(thread.GetFrameAtIndex(0).GetPC());
  }
  return out;
}

Region::Place *Region::awaited_return(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto at = returns_.find(address);
  return at != returns_.end() && at->second->stops ? at->second.get() : nullptr;
}

// Sees to it that no step that LLDB would make off a place ends at another one; done anew in each
// callback of a stop, which may change where passes end.
void Region::steer_steps(lldb::SBProcess &process) {
  const std::set<uint64_t> untold_at = untold(process);
  std::vector<Told> all;
  {
    const std::lock_guard lock(mutex_);
    all = told_;
  }
  for (Told &each : all)
    if (!untold_at.contains(each.at))
      step_off(process, each);
  const std::lock_guard lock(mutex_);
  told_ = std::move(all);
}

// A place at which a hit would mean nothing is disabled, and LLDB makes no step. Where other
// threads are awaited, a jump is made here in its place; what else leads to another place is run
// with this one disabled until the process stops, which is at once.
void Region::step_off(lldb::SBProcess &process, Told &told) {
  if (!told.place->stops) {
    told.place->breakpoint.SetEnabled(false);
    return;
  }
  if (!told.place->is_function || !told.place->is_x86_64)
    return;
  constexpr int most_jumps = 16; // a circle of them has no end
  for (int i = 0; i < most_jumps; ++i) {
    const Step step = steps_.from(process, told.thread, told.at);
    if (!is_place(step.to))
      return;
    Place *const returned = awaited_return(step.to);
    if (!returned || !step.is_jump || !told.thread.GetFrameAtIndex(0).SetPC(step.to))
      break;
    told.at = step.to;
    told.place = returned;
    told.location = returned->breakpoint.FindLocationByAddress(told.at);
  }
  if (!told.location.IsEnabled())
    return;
  told.location.SetEnabled(false);
  const std::lock_guard lock(mutex_);
  lifted_.push_back(told.location);
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
  const bool is_named = !place.function.empty(); // else the user has given the address of an entry
  const bool entry = place.is_x86_64 &&
                     (!is_named || (start.IsValid() && start.GetLoadAddress(place.target) == at &&
                                    !is_inlined(address, place.function)));
  const std::lock_guard lock(mutex_);
  return entries_[at] = entry;
}

// Between two places, a hit of the first means nothing until one of the second, and vice versa.
void Region::stop_at_other(const Place &place) {
  Place *other = nullptr;
  {
    const std::lock_guard lock(mutex_);
    for (const auto &each : places_)
      if (each->kind != place.kind)
        other = each.get();
  }
  if (other && !other->stops.exchange(true))
    other->breakpoint.SetEnabled(true);
}

void Region::hit(Place &place, lldb::SBProcess &process, lldb::SBThread &thread,
                 lldb::SBBreakpointLocation &location) {
  enter_stop(place, process, thread, location);
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
    hit.at_entry = place.kind == TALLY_HIT_FIRST && is_entry(place, location) ? 1 : 0;
    if (place.kind == TALLY_HIT_JUMPED)
      hit.jump_buffer = register_of(thread.GetFrameAtIndex(0), "rdi");
    else if (place.kind == TALLY_HIT_FIRST && hit.at_entry == 0)
      look();
  }
  if (place.is_function && place.kind == TALLY_HIT_FIRST) {
    if (hit.return_address == 0 && hit.at_entry == 0 &&
        !untold(process).contains(location.GetLoadAddress()))
      location.SetEnabled(false); // an inlined copy may be a loop's begin: once is enough
    watch_leaves(place);
  }
  const auto pid = static_cast<int32_t>(process.GetProcessID());
  uint64_t returns_to = session_.region_hit(pid, hit);
  if (returns_to == UINT64_MAX) {
    look();
    returns_to = session_.region_hit(pid, hit);
  }
  if (place.kind == TALLY_HIT_RETURNED && returns_to == 0)
    place.stops = false;
  if (!place.is_function) {
    place.stops = false;
    stop_at_other(place);
  }
  if (returns_to == UINT64_MAX - 1 && untold(process).empty())
    stop_at_leaves(false);
  if (returns_to == 0 || returns_to >= UINT64_MAX - 1)
    return;
  if (hit.at_entry != 0 &&
      steps_.from(process, thread, location.GetLoadAddress()).to == returns_to) {
    // The function is a return, and nothing else: its pass is over with this step.
    hit.kind = TALLY_HIT_RETURNED;
    hit.return_address = returns_to;
    hit.caller_sp = thread.GetFrameAtIndex(0).GetSP() + sizeof(uint64_t);
    session_.region_hit(pid, hit);
    return;
  }
  stop_at_leaves(true);
  stop_at_return(place, returns_to, process, thread);
}

} // namespace tally_lldb
