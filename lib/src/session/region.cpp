#include "session/region.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "session/stop_code.h"

namespace tally {

std::span<const RegionExit> region_exits() {
  using Kind = RegionHit::Kind;
  static constexpr RegionExit exits[] = {
      {"__cxa_begin_catch", Kind::caught}, // C++'s handlers of exceptions call it first
      {"longjmp", Kind::jumped},           // glibc's names of longjmp()
      {"_longjmp", Kind::jumped},          {"siglongjmp", Kind::jumped},
      {"__longjmp_chk", Kind::jumped},
  };
  return exits;
}

// Disassemblers show some prefixes (lock, rep, addr32) as instructions of their own. A breakpoint
// behind a prefix destroys the instruction, therefore the function accepts only names that it
// knows. On 32-bit ARM, any instruction that writes the pc jumps.
bool leads_on(std::string_view instruction) {
  static constexpr std::string_view beginnings[] = {
      "push", "mov", "lea", "sub", "xor", "and", "test", "cmp", "endbr", "nop",     "pxor",
      "cvt",  "add", "stp", "str", "ldp", "ldr", "adrp", "orr", "orl",   "paciasp", "bti"};
  const size_t end = std::min(instruction.find_first_of(" \t"), instruction.size());
  const std::string_view name = instruction.substr(0, end);
  std::string_view operands = instruction.substr(end);
  operands.remove_prefix(std::min(operands.find_first_not_of(" \t"), operands.size()));
  return !name.starts_with("addr") && !operands.starts_with("pc") &&
         std::ranges::any_of(beginnings,
                             [&](std::string_view each) { return name.starts_with(each); });
}

void PassTimes::add(uint64_t ns) {
  if (count_ % stride_ == 0) {
    if (kept_.size() == most_kept) { // keep every second one
      for (size_t i = 0; i < most_kept / 2; ++i)
        kept_[i] = kept_[2 * i];
      kept_.resize(most_kept / 2);
      stride_ *= 2;
    }
    if (count_ % stride_ == 0)
      kept_.push_back(ns);
  }
  ++count_;
  total_ = total_ > UINT64_MAX - ns ? UINT64_MAX : total_ + ns;
  least_ = std::min(least_, ns);
  most_ = std::max(most_, ns);
}

uint64_t PassTimes::median_ns() const {
  if (kept_.empty())
    return 0;
  std::vector<uint64_t> values = kept_;
  const auto middle = values.begin() + static_cast<ptrdiff_t>((values.size() - 1) / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

void StopCost::begins(pid_t tid, const Moment &at) {
  const uint64_t in_group = passes_++ % passes_a_group;
  if (in_group == 0)
    measured_ = 0;
  lacks_ = measured_ < kept && in_group < most_attempts;
  tid_ = lacks_ ? tid : 0;
  from_ = at;
}

void StopCost::ends(pid_t tid, const Moment &at) {
  uncorrected_ += !is_known();
  if (!std::exchange(lacks_, false))
    return;
  tid_ = tid;
  from_ = at;
}

bool StopCost::hit(pid_t tid, RegionHit::Kind kind, const Moment &at) {
  ++count_;
  const bool known = at.ran.turns != 0, was_known = from_.ran.turns != 0;
  if (tid_ != tid)
    return false;
  tid_ = 0;
  if (kind != RegionHit::Kind::measured || known != was_known)
    return false;
  lacks_ = false;
  ++measured_;
  measured({at.running_ns - std::min(from_.running_ns, at.running_ns),
            at.ran.cpu_ns - std::min(from_.ran.cpu_ns, at.ran.cpu_ns)});
  return true;
}

void StopCost::measured(const Spent &spent) {
  wall_.add(spent.wall_ns);
  cpu_.add(spent.cpu_ns);
}

void StopCost::in_pass(const Spent &spent) {
  off_.add(spent.wall_ns - std::min(spent.wall_ns, spent.cpu_ns));
}

Spent StopCost::median() const {
  return {off_.filled == 0 ? wall_.median : off_.median + cpu_.median, cpu_.median};
}

// The passes are disturbed as the measurements are, but they have another number.
Spent StopCost::error(uint64_t passes) const {
  const double ratio =
      static_cast<double>(cpu_.filled) / static_cast<double>(std::max(passes, uint64_t{1}));
  const auto of_both = [&](uint64_t of_cost) {
    return static_cast<uint64_t>(static_cast<double>(of_cost) * std::sqrt(1 + ratio));
  };
  const uint64_t cpu = cpu_.error_of_median();
  return {of_both(off_.filled == 0 ? wall_.error_of_median() : off_.error_of_median() + cpu),
          of_both(cpu)};
}

void StopCost::Newest::add(uint64_t value) {
  values[next] = value;
  next = (next + 1) % kept;
  filled = std::min(filled + 1, kept);
  std::array<uint64_t, kept> sorted = values;
  const auto middle = sorted.begin() + static_cast<ptrdiff_t>((filled - 1) / 2);
  std::ranges::nth_element(sorted.begin(), middle, sorted.begin() + static_cast<ptrdiff_t>(filled));
  median = *middle;
}

// Costs have several likely values, therefore no form of their distribution is assumed. The number
// of those of n values that are below the true median has the standard deviation of half the root
// of n; beyond 3.3 of these is one case in a thousand.
uint64_t StopCost::Newest::error_of_median() const {
  constexpr size_t enough = 5;
  if (filled < enough) // these show nothing of it
    return median;
  std::array<uint64_t, kept> sorted = values;
  std::ranges::sort(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(filled));
  const size_t middle = (filled - 1) / 2;
  const size_t reach = std::min(middle, static_cast<size_t>(1.65 * std::sqrt(filled)));
  return std::max(sorted[middle + reach] - median, median - sorted[middle - reach]);
}

void PassList::add(const Stretch &stretch) {
  if (stretches_.size() == most_kept)
    stretches_.pop_front();
  stretches_.push_back(stretch);
}

std::string Region::name() const {
  return is_function() ? locations_[0] : fmt::format("{} to {}", locations_[0], locations_[1]);
}

std::string Region::words() const {
  return is_function() ? name() + ", from each call until it returns" : name();
}

void Region::add_passes(StackProfile &profile, uint64_t running_ns) const {
  const StringId region = profile.strings.intern(name());
  for (const PassList::Stretch &made : made_.stretches())
    profile.passes.push_back({region, made.tid, made.begin_ns, made.end_ns});
  for (const auto &[key, pass] : open_)
    profile.passes.push_back({region, key, pass.began_ns, std::max(pass.began_ns, running_ns)});
}

// The frame of the pass is gone when the stack pointer is back where the call began, or above it on
// the same stack (stacks grow downward). A signal handler or a coroutine may run on another stack,
// whose addresses prove nothing.
bool Region::has_left(const Pass &pass, uint64_t sp, pid_t pid) const {
  return sp == pass.caller_sp || (sp > pass.caller_sp && on_one_stack(pid, sp, pass.caller_sp));
}

// Registers are read from /proc, because a debugger builds a frame before it reports a register,
// which takes ten times as long.
HeldThread *Region::thread_of(pid_t pid, pid_t tid) {
  constexpr size_t most_threads = 16;
  if (pid == 0)
    return nullptr;
  if (threads_.size() >= most_threads && !threads_.contains(tid))
    threads_.clear();
  return &threads_[tid];
}

bool Region::complete(RegionHit &hit, HeldThread *thread, pid_t pid) {
  const bool lacks = hit.caller_sp == 0 && (hit.kind == RegionHit::Kind::returned ||
                                            hit.kind == RegionHit::Kind::caught || hit.at_entry);
  if (!thread)
    return !lacks;
  const HeldThread::StackPosition at = thread->position(pid, hit.tid);
  if (known_pid_ != pid) {
    known_pid_ = pid;
    note_step_area(region_filter_->stops(), pid);
  }
  if (at.sp == 0)
    return !lacks;
  if (const BreakpointLocation here{{}, at.pc}; !region_filter_->stops().is_stop(at.pc))
    add_stops(region_filter_->stops(), pid, {&here, 1});
  if (!lacks)
    return true;
  if (hit.kind != RegionHit::Kind::returned && !hit.at_entry)
    return false;
  hit.caller_sp = at.sp;
  if (hit.kind == RegionHit::Kind::returned)
    return true;
  hit.caller_sp += sizeof(uint64_t); // the call has pushed the address it returns to
  return read_word(pid, at.sp, hit.return_address);
}

bool Region::returns_to(uint64_t address, pid_t pid) {
  if (!return_addresses_.contains(address) && !is_return_address(pid, address))
    return false;
  return_addresses_.insert(address);
  return true;
}

void Region::begin(pid_t tid, const Pass &pass, uint64_t at_ns) {
  stops_.begins(pass.tid, {pass.began_ns, pass.ran});
  open_.insert_or_assign(tid, pass);
  region_filter_->open(tid, at_ns);
}

void Region::finish(pid_t key, const RegionHit &hit, const HeldThread::Ran &ran, uint64_t at_ns,
                    uint64_t running_ns) {
  const auto open = open_.find(key);
  Pass &pass = open->second;
  const bool other = pass.tid != hit.tid; // it has hit the second location
  if (other) {
    // The stop of this hit comes after the pass.
    const uint64_t stops = 1 + pass.held - hit.holds_all;
    pass.took.wall_ns += running_ns - std::min(running_ns, pass.at_running_ns);
    pass.stops += stops;
    pass.stops_waited += stops;
  }
  const Spent stop = stops_.median();
  const auto without = [](uint64_t all, uint64_t stops, uint64_t one) {
    return all - std::min(all, stops * one);
  };
  passes_.add(without(pass.took.wall_ns, pass.stops_waited, stop.wall_ns) +
              without(pass.ran_ns, pass.stops - pass.stops_waited, stop.cpu_ns));
  if (!other && pass.is_cpu_known)
    cpu_.add(without(pass.took.cpu_ns, pass.stops, stop.cpu_ns));
  stops_in_passes_.all += pass.stops;
  stops_in_passes_.waited += pass.stops_waited;
  made_.add({key, pass.began_ns, std::max(pass.began_ns, running_ns)});
  stops_.ends(hit.tid, {running_ns, ran});
  open_.erase(open);
  region_filter_->close(key, at_ns);
}

void Region::count_stop(const RegionHit &hit, const HeldThread::Ran &ran, uint64_t running_ns) {
  const bool measured = stops_.hit(hit.tid, hit.kind, {running_ns, ran});
  for (auto &[key, pass] : open_) {
    if (pass.tid != hit.tid) {
      pass.held += hit.holds_all;
      continue;
    }
    // A stop schedules the thread twice. If the thread was scheduled more often, it waited for
    // something or was preempted.
    constexpr uint64_t turns_of_a_stop = 2;
    const bool known = ran.turns != 0 && pass.ran.turns != 0;
    const uint64_t stops = 1 + pass.held;
    const Spent spent = {running_ns - std::min(running_ns, pass.at_running_ns),
                         known ? ran.cpu_ns - std::min(ran.cpu_ns, pass.ran.cpu_ns) : 0};
    pass.is_cpu_known &= known;
    pass.took.cpu_ns += spent.cpu_ns;
    pass.stops += stops;
    if (known && ran.turns - pass.ran.turns <= stops * turns_of_a_stop) {
      pass.ran_ns += spent.cpu_ns;
      if (stops == 1 && !measured)
        stops_.in_pass(spent);
    } else {
      pass.took.wall_ns += spent.wall_ns;
      pass.stops_waited += stops;
    }
    pass.at_running_ns = running_ns;
    pass.ran = ran;
    pass.held = 0;
  }
}

// In addition to what chance does, a median errs by a quarter of the cost on a busy machine, where
// a stop after a short pass costs more than others: medians of passes of known times were within
// that. What one stop costs may be anything from a fifth of the median upwards, so that the least
// and the longest pass, being extremes, are less certain. The debugger's part of a stop matters
// only if most passes waited.
Region::Errors Region::errors() const {
  const uint64_t passes = std::max<uint64_t>(passes_.count(), 1);
  const uint64_t stops = (stops_in_passes_.all + passes / 2) / passes;
  const bool waited = 2 * stops_in_passes_.waited > stops_in_passes_.all;
  const Spent cost = stops_.median(), error = stops_.error(passes);
  const auto of = [&](uint64_t wall, uint64_t cpu) {
    return Spent{stops * (waited ? wall : cpu), stops * cpu};
  };
  const Spent one = of(cost.wall_ns, cost.cpu_ns);
  if (2 * stops_.uncorrected() >= passes) // the median may be one of them
    return {one, one};
  const Spent median = of(error.wall_ns + cost.wall_ns / 4, error.cpu_ns + cost.cpu_ns / 4);
  // A median is no less certain than each pass.
  return {one, {std::min(median.wall_ns, one.wall_ns), std::min(median.cpu_ns, one.cpu_ns)}};
}

void Region::give_up(pid_t tid, uint64_t at_ns, uint64_t running_ns) {
  ++unfinished_;
  const auto open = open_.find(tid);
  made_.add({tid, open->second.began_ns, std::max(open->second.began_ns, running_ns)});
  open_.erase(open);
  region_filter_->close(tid, at_ns);
}

uint64_t Region::hit(RegionHit hit, pid_t pid, uint64_t at_ns, uint64_t running_ns) {
  give_up_closed();
  if (hit.kind != RegionHit::Kind::measured)
    stops_.withdraw(hit.tid);
  const bool leaves = hit.kind == RegionHit::Kind::caught || hit.kind == RegionHit::Kind::jumped;
  if (leaves && open_.empty())
    return Session::nobody;
  HeldThread *const thread = thread_of(pid, hit.tid);
  const bool known = complete(hit, thread, pid);
  if (is_function() && !known)
    return Session::look;
  const HeldThread::Ran ran = thread ? thread->ran(pid, hit.tid) : HeldThread::Ran{};
  count_stop(hit, ran, running_ns);
  if (!is_function()) {
    constexpr pid_t all = RegionFilter::all_threads;
    if (hit.kind == RegionHit::Kind::first && !open_.contains(all))
      begin(all, {0, 0, hit.tid, running_ns, running_ns, ran}, at_ns);
    else if (hit.kind == RegionHit::Kind::second && open_.contains(all))
      finish(all, hit, ran, at_ns, running_ns);
    return 0;
  }
  const auto open = open_.find(hit.tid);
  const bool inside = open != open_.end();
  switch (hit.kind) {
  case RegionHit::Kind::first: {
    if (hit.return_address == 0 && !hit.at_entry) {
      ++inlined_;
      return 0;
    }
    // The function calls itself, which is part of the pass. Or it was reached again by tail calls,
    // with the same caller and return address, so that the pass continues.
    if (inside && !has_left(open->second, hit.caller_sp, pid))
      return 0;
    if (inside && open->second.caller_sp == hit.caller_sp &&
        open->second.return_address == hit.return_address)
      return hit.return_address;
    if (inside) // the function was left in a way that is not reported
      give_up(hit.tid, at_ns, running_ns);
    if (!returns_to(hit.return_address, pid)) {
      ++unreturning_;
      return 0;
    }
    begin(hit.tid, {hit.caller_sp, hit.return_address, hit.tid, running_ns, running_ns, ran},
          at_ns);
    return hit.return_address;
  }
  case RegionHit::Kind::returned:
    if (inside && hit.return_address == open->second.return_address &&
        has_left(open->second, hit.caller_sp, pid))
      finish(hit.tid, hit, ran, at_ns, running_ns);
    return is_awaited(hit.return_address) ? hit.return_address : 0;
  case RegionHit::Kind::caught:
    if (inside && has_left(open->second, hit.caller_sp, pid))
      finish(hit.tid, hit, ran, at_ns, running_ns);
    return 0;
  case RegionHit::Kind::jumped: {
    if (!inside)
      return 0;
    const uint64_t sp = stack_pointer_of_jump(pid, hit.jump_buffer);
    if (sp != 0 && has_left(open->second, sp, pid))
      finish(hit.tid, hit, ran, at_ns, running_ns);
    return 0;
  }
  case RegionHit::Kind::second:
  case RegionHit::Kind::measured:
    break;
  }
  return 0;
}

bool Region::is_awaited(uint64_t return_address) const {
  return std::ranges::any_of(
      open_, [&](const auto &each) { return each.second.return_address == return_address; });
}

void Region::end_open(uint64_t at_ns, uint64_t running_ns) {
  threads_.clear();
  return_addresses_.clear();
  known_pid_ = 0;
  while (!open_.empty())
    give_up(open_.begin()->first, at_ns, running_ns);
}

void Region::close() { threads_.clear(); }

void Region::clear() {
  passes_ = cpu_ = {};
  stops_in_passes_ = {};
  made_.clear();
  stops_ = {};
  unfinished_ = inlined_ = unreturning_ = 0;
  for (auto &[tid, pass] : open_)
    pass = {pass.caller_sp, pass.return_address,
            pass.tid}; // the running time restarts at zero, too
}

void Region::give_up_closed() {
  unfinished_ += std::erase_if(
      open_, [this](const auto &each) { return !region_filter_->is_open(each.first); });
}

} // namespace tally
