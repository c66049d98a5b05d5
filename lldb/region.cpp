#include "region.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <string_view>
#include <utility>

#include "interpreter.h"
#include "stop.h"

namespace tally_lldb {

namespace {

bool is_address(const std::string &word) { return word[0] == '*' || word.starts_with("0x"); }

// "parse.c:10", with a path or without; a colon of C++'s is none.
bool split_place(const std::string &word, std::string &file, uint32_t &line) {
  const size_t colon = word.rfind(':');
  if (colon == word.npos || colon == 0 || word[colon - 1] == ':')
    return false;
  const char *const begin = word.data() + colon + 1, *const end = word.data() + word.size();
  const auto [rest, failed] = std::from_chars(begin, end, line);
  if (failed != std::errc() || rest != end)
    return false;
  file = word.substr(0, colon);
  return true;
}

// Where "parse" or "parse+4" is by the symbols; invalid if that is no such expression, or names
// several functions. LLDB 14 cannot evaluate "parse+4" of C++'s functions, and LLDB 19 no name once
// the process has exited.
lldb::SBAddress address_by_name(lldb::SBTarget target, const std::string &expression) {
  const size_t plus = std::min(expression.find('+'), expression.size());
  uint64_t offset = 0;
  if (plus < expression.size()) {
    const bool is_hex = expression.compare(plus + 1, 2, "0x") == 0;
    const char *const end = expression.data() + expression.size();
    const auto [rest, failed] =
        std::from_chars(expression.data() + plus + (is_hex ? 3 : 1), end, offset, is_hex ? 16 : 10);
    if (failed != std::errc() || rest != end)
      return {};
  }
  lldb::SBSymbolContextList named = target.FindFunctions(expression.substr(0, plus).c_str());
  if (named.GetSize() != 1)
    return {};
  lldb::SBSymbolContext context = named.GetContextAtIndex(0);
  lldb::SBAddress at = context.GetSymbol().GetStartAddress();
  if (!at.IsValid())
    at = context.GetFunction().GetStartAddress();
  return at.IsValid() && at.OffsetAddress(offset) ? at : lldb::SBAddress();
}

// The value of what LLDB takes for an address: "0x1234", "parse", "parse+4". A breakpoint at the
// number alone would not follow the program to where it is loaded.
lldb::SBAddress address_of(lldb::SBDebugger &debugger, lldb::SBTarget target,
                           const std::string &expression) {
  if (lldb::SBAddress named = address_by_name(target, expression); named.IsValid())
    return named;
  const uint32_t before = target.GetNumBreakpoints();
  interpret(debugger, target, "breakpoint set -a " + as_word(expression));
  if (target.GetNumBreakpoints() == before)
    return {};
  lldb::SBBreakpoint made = target.GetBreakpointAtIndex(before);
  lldb::SBAddress at = made.GetLocationAtIndex(0).GetAddress();
  target.BreakpointDelete(made.GetID());
  if (at.IsValid() && !at.GetSection().IsValid())
    at = target.ResolveFileAddress(at.GetOffset());
  return at;
}

// As `break` of GDB: "*0x1234", "*parse", "file:line", a function; LLDB's "0x1234", too.
lldb::SBBreakpoint breakpoint_at(lldb::SBDebugger &debugger, lldb::SBTarget target,
                                 const std::string &word) {
  if (is_address(word)) {
    lldb::SBAddress at = address_of(debugger, target, word.substr(word[0] == '*' ? 1 : 0));
    return at.IsValid() ? target.BreakpointCreateBySBAddress(at) : lldb::SBBreakpoint();
  }
  std::string file;
  uint32_t line = 0;
  return split_place(word, file, line) ? target.BreakpointCreateByLocation(file.c_str(), line)
                                       : target.BreakpointCreateByName(word.c_str());
}

// Breakpoints of functions stand at their very first instruction, for the length of a scope: one
// behind the prologue is not passed by a call that leaves early.
class AtEntries {
public:
  AtEntries(lldb::SBDebugger &debugger, lldb::SBTarget target)
      : debugger_(debugger), target_(target) {
    const std::string told =
        interpret(debugger_, target_, "settings show target.skip-prologue").text;
    was_ = told.find("= false") == told.npos;
    set(false);
  }
  AtEntries(const AtEntries &) = delete;
  ~AtEntries() { set(was_); }

private:
  void set(bool skip) {
    interpret(debugger_, target_,
              std::string("settings set target.skip-prologue ") + (skip ? "true" : "false"));
  }
  lldb::SBDebugger &debugger_;
  lldb::SBTarget target_;
  bool was_;
};

// "ns::parse(int)" is "parse"; an address has no name.
std::string base_name_of(const std::string &word) {
  if (is_address(word))
    return {};
  const std::string name = word.substr(0, word.find('('));
  return name.substr(name.rfind(':') + 1); // npos + 1 is 0
}

// A function that is split begins where its symbol does; LLDB takes the lowest address.
lldb::SBAddress start_of(lldb::SBAddress address) {
  lldb::SBAddress start = address.GetSymbol().GetStartAddress();
  return start.IsValid() ? start : address.GetFunction().GetStartAddress();
}

// Whether a call may begin there: at the symbol, or where none is known.
bool is_start(lldb::SBAddress address) {
  lldb::SBAddress start = start_of(address);
  return !start.IsValid() || start.GetFileAddress() == address.GetFileAddress();
}

// What the compiler has moved elsewhere is nobody's entry: newer LLDBs stop there, too.
bool is_moved_part(lldb::SBAddress address) {
  const char *const name = address.GetSymbol().GetName();
  return name && std::string_view(name).ends_with(".cold");
}

// Whether it lies in a copy of something that is inlined; not, where the function itself begins
// with such a copy of another.
bool is_inlined(lldb::SBAddress address, const std::string &function) {
  if (!address.GetBlock().GetContainingInlinedBlock().IsValid())
    return false;
  lldb::SBFunction whole = address.GetFunction();
  const char *const name = whole.GetName();
  return !name || start_of(address).GetFileAddress() != address.GetFileAddress() ||
         std::string(name).find(function) == std::string::npos;
}

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
  const std::lock_guard lock(mutex_);
  places_ = std::move(made);
  words_ = words;
  return {};
}

void Region::refresh(lldb::SBDebugger &debugger) {
  delete_dead();
  bool whole = true;
  const auto is_there = [](Place &place) {
    lldb::SBBreakpoint found = place.target.FindBreakpointByID(place.breakpoint.GetID());
    if (found.IsValid() && !found.IsEnabled())
      found.SetEnabled(true);
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
  {
    const std::lock_guard lock(mutex_);
    gone.swap(leaves_);
    for (auto &[address, place] : returns_)
      gone.push_back(std::move(place));
    returns_.clear();
    entries_.clear();
  }
  bury(gone);
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
  std::vector<lldb::SBBreakpoint> leaves;
  {
    const std::lock_guard lock(mutex_);
    if (std::exchange(leaves_stop_, stop) != stop)
      for (const auto &each : leaves_)
        leaves.push_back(each->breakpoint);
  }
  for (lldb::SBBreakpoint &each : leaves)
    each.SetEnabled(stop);
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

void Region::hit(Place &place, lldb::SBProcess &process, lldb::SBThread &thread,
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
    if (hit.return_address == 0 && hit.at_entry == 0)
      location.SetEnabled(false); // an inlined copy may be a loop's begin: once is enough
    watch_leaves(place);
  }
  const auto pid = static_cast<int32_t>(process.GetProcessID());
  uint64_t returns_to = session_.region_hit(pid, hit);
  if (returns_to == UINT64_MAX) {
    look();
    returns_to = session_.region_hit(pid, hit);
  }
  if (returns_to == UINT64_MAX - 1)
    stop_at_leaves(false);
  if (returns_to == 0 || returns_to >= UINT64_MAX - 1)
    return;
  stop_at_leaves(true);
  {
    const std::lock_guard lock(mutex_);
    if (returns_.contains(returns_to))
      return;
  }
  Places one;
  watch(one, place, place.target.BreakpointCreateByAddress(returns_to), TALLY_HIT_RETURNED,
        returns_to);
  const std::lock_guard lock(mutex_);
  returns_.emplace(returns_to, std::move(one.front()));
}

} // namespace tally_lldb
