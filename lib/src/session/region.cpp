#include "session/region.h"

#include <algorithm>

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

uint64_t StopTimes::add(uint64_t wall_ns, uint64_t cpu_ns, uint64_t turns, uint64_t stops) {
  cpu_ns = std::min(cpu_ns, wall_ns);
  // A debugger stops the thread at the breakpoint, and again after it has stepped over the
  // instruction there, so each stop schedules the thread twice. If the thread was scheduled more
  // often, it waited for something or was preempted, and the interval measures more than the stops.
  constexpr uint64_t turns_of_a_stop = 2;
  if (turns != 0 && turns <= stops * turns_of_a_stop) {
    measured_ += stops;
    measured_ns_ += wall_ns - cpu_ns;
    return cpu_ns;
  }
  return std::max(cpu_ns, wall_ns - std::min(wall_ns, stops * mean_ns()));
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
  open_.insert_or_assign(tid, pass);
  region_filter_->open(tid, at_ns);
}

void Region::finish(pid_t key, const RegionHit &hit, uint64_t at_ns, uint64_t running_ns) {
  const auto open = open_.find(key);
  const Pass &pass = open->second;
  uint64_t took = pass.took_ns;
  if (pass.tid != hit.tid) // one thread hit the first location, another one the second
    took += stops_.add(running_ns - std::min(running_ns, pass.at_running_ns), 0, 0, 1);
  passes_.add(took);
  made_.add({key, pass.began_ns, std::max(pass.began_ns, running_ns)});
  open_.erase(open);
  region_filter_->close(key, at_ns);
}

void Region::count_stop(const RegionHit &hit, const HeldThread::Ran &ran, uint64_t running_ns) {
  stops_.count();
  for (auto &[key, pass] : open_) {
    if (pass.tid != hit.tid) {
      pass.held += hit.holds_all;
      continue;
    }
    const bool known = ran.turns != 0 && pass.ran.turns != 0;
    pass.took_ns += stops_.add(running_ns - std::min(running_ns, pass.at_running_ns),
                               known ? ran.cpu_ns - pass.ran.cpu_ns : 0,
                               known ? ran.turns - pass.ran.turns : 0, 1 + pass.held);
    pass.at_running_ns = running_ns;
    pass.ran = ran;
    pass.held = 0;
  }
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
      finish(all, hit, at_ns, running_ns);
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
      finish(hit.tid, hit, at_ns, running_ns);
    return is_awaited(hit.return_address) ? hit.return_address : 0;
  case RegionHit::Kind::caught:
    if (inside && has_left(open->second, hit.caller_sp, pid))
      finish(hit.tid, hit, at_ns, running_ns);
    return 0;
  case RegionHit::Kind::jumped: {
    if (!inside)
      return 0;
    const uint64_t sp = stack_pointer_of_jump(pid, hit.jump_buffer);
    if (sp != 0 && has_left(open->second, sp, pid))
      finish(hit.tid, hit, at_ns, running_ns);
    return 0;
  }
  case RegionHit::Kind::second:
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
  passes_ = {};
  made_.clear();
  stops_ = {};
  unfinished_ = inlined_ = unreturning_ = 0;
  for (auto &[tid, pass] : open_)
    pass.began_ns = pass.at_running_ns = pass.took_ns = 0; // the running time restarts at zero, too
}

void Region::give_up_closed() {
  unfinished_ += std::erase_if(
      open_, [this](const auto &each) { return !region_filter_->is_open(each.first); });
}

} // namespace tally
