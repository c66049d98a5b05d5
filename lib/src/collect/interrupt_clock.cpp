#include <tally/interrupt.h>

#include <algorithm>
#include <exception>

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/proc_info.h"
#include "support/clock.h"

namespace tally {

namespace {

// A stop that was asked for and does not come: the thread sleeps where no signal reaches it, or the
// target has lost it, which it does before it runs.
constexpr uint64_t given_up_after_ns = 2'000'000'000;
constexpr uint64_t remote_given_up_after_ns = 250'000'000;

// However slow the machine is, it is looked at sometimes.
constexpr uint64_t longest_wait_ns = 1'000'000'000;

// Ignored by default: one that is still on its way when the debugger leaves the process does it no
// harm. A real-time signal would end it, but is seldom one that a program comes to handle.
constexpr int candidates[] = {SIGURG, SIGWINCH, 44, 43, 45, 42, 46, 41, 47, 40};
constexpr int real_time = candidates[2];

uint64_t bit_of(int signal) { return uint64_t{1} << (signal - 1); }

// Whether the thread waits for a signal by its number (sigwait() and the like): it would get ours,
// and no debugger sees that.
bool waits_for_signals(pid_t pid, pid_t tid) {
  const auto text = read_small_file(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
  return text && text->starts_with(fmt::format("{} ", SYS_rt_sigtimedwait));
}

enum class Can : uint8_t { be_interrupted, not_now, not_at_all };

// A signal that a thread blocks would wait there, and find the process undebugged one day; so would
// one that is sent while the debugger holds the thread.
Can can_thread(pid_t pid, pid_t tid, int signal) {
  const auto status = process_status(fmt::format("{}/task/{}", pid, tid));
  constexpr std::string_view runs = "RSDI"; // not stopped, traced, dead
  if (!status || runs.find(status->state) == runs.npos)
    return Can::not_now;
  if ((status->signals_blocked & bit_of(signal)) != 0 ||
      (status->state == 'S' && waits_for_signals(pid, tid)))
    return Can::not_at_all;
  return Can::be_interrupted;
}

} // namespace

int InterruptClock::free_signal(pid_t pid) {
  const auto process =
      pid == 0 ? std::optional<ProcessStatus>() : process_status(std::to_string(pid));
  if (!process)
    return real_time;
  const auto is_free = [&](int signal) { return (process->signals_caught & bit_of(signal)) == 0; };
  const auto *const found = std::ranges::find_if(candidates, is_free);
  return found != std::end(candidates) ? *found : real_time;
}

void InterruptClock::set(pid_t pid, int signal, uint32_t frequency_hz) {
  const std::lock_guard lock(mutex_);
  pid_ = pid;
  signal_ = signal;
  const uint32_t most = pid == 0 ? most_remote_hz : most_native_hz;
  period_ns_ = 1'000'000'000 / std::clamp<uint32_t>(frequency_hz, 1, most);
  running_ = false;
  awaited_.clear();
  late_ = 0;
  cost_ns_ = 0;
  problem_.clear();
}

void InterruptClock::resumed() {
  const std::lock_guard lock(mutex_);
  running_ = true;
}

void InterruptClock::stopped() {
  const std::lock_guard lock(mutex_);
  running_ = false;
  for (auto &[tid, each] : awaited_)
    each.stale = true;
}

uint64_t InterruptClock::wait_ns() {
  const std::lock_guard lock(mutex_);
  // ±50 %: what the program does in step with us would otherwise be seen always or never.
  const uint64_t half = period_ns_ / 2;
  const uint64_t wait = std::uniform_int_distribution<uint64_t>(half, period_ns_ + half)(random_);
  return std::max(wait, std::min(cost_ns_ * run_per_stop, longest_wait_ns));
}

size_t InterruptClock::interrupt() {
  const std::lock_guard lock(mutex_);
  if (!problem_.empty())
    return given_up;
  if (!running_)
    return 0;
  try {
    return pid_ == 0 ? interrupt_remote() : interrupt_threads();
  } catch (const std::exception &) {
    return 0; // no memory: the next round may find some
  }
}

size_t InterruptClock::interrupt_remote() {
  const uint64_t now = now_ns();
  if (const auto at = awaited_.find(any_thread); at != awaited_.end()) {
    if (now - at->second.sent_at_ns < remote_given_up_after_ns)
      return 0;
    ++late_;
  }
  awaited_.insert_or_assign(any_thread, Awaited{now, false});
  sent_at_ns_ = now;
  round_counted_ = false;
  return 1;
}

size_t InterruptClock::interrupt_threads() {
  const auto process = process_status(std::to_string(pid_));
  if (!process)
    return 0;
  if ((process->signals_caught & bit_of(signal_)) != 0) {
    problem_ =
        fmt::format("the program handles {} itself, which interrupts it", signal_name(signal_));
    return given_up;
  }
  const std::vector<pid_t> tids = thread_ids(pid_);
  const uint64_t now = now_ns();
  // One that GDB took without asking us does not come any more.
  const auto is_over = [&](const auto &each) {
    if (now - each.second.sent_at_ns < given_up_after_ns)
      return false;
    const auto status = process_status(fmt::format("{}/task/{}", pid_, each.first));
    return !status || (status->signals_pending & bit_of(signal_)) == 0;
  };
  std::erase_if(awaited_, is_over);
  // One signal at a time for each thread, and a round only when the last one is over.
  const auto on_its_way = [&](const auto &each) {
    return !each.second.stale && now - each.second.sent_at_ns < given_up_after_ns;
  };
  if (std::ranges::any_of(awaited_, on_its_way))
    return 0;
  sent_at_ns_ = now;
  round_counted_ = false;
  size_t sent = 0;
  for (const pid_t tid : tids) {
    if (awaited_.contains(tid))
      continue;
    const Can can = can_thread(pid_, tid, signal_);
    missed_ += can == Can::not_at_all;
    if (can != Can::be_interrupted)
      continue;
    awaited_.emplace(tid, Awaited{now, false});
    if (::syscall(SYS_tgkill, pid_, tid, signal_) == 0)
      ++sent;
    else
      awaited_.erase(tid);
  }
  return sent;
}

InterruptClock::Stop InterruptClock::take(pid_t tid) {
  const std::lock_guard lock(mutex_);
  const auto at = awaited_.find(tid);
  if (at == awaited_.end()) {
    if (late_ == 0)
      return Stop::theirs;
    --late_;
    return Stop::stale;
  }
  const bool stale = at->second.stale;
  awaited_.erase(at);
  if (stale)
    return Stop::stale;
  rounds_ += round_counted_ ? 0 : 1;
  round_counted_ = true;
  return Stop::ours;
}

void InterruptClock::withdraw() {
  const std::lock_guard lock(mutex_);
  awaited_.erase(any_thread);
}

void InterruptClock::done() {
  const std::lock_guard lock(mutex_);
  cost_ns_ = now_ns() - sent_at_ns_;
}

uint64_t InterruptClock::rounds() const {
  const std::lock_guard lock(mutex_);
  return rounds_;
}

uint64_t InterruptClock::missed() const {
  const std::lock_guard lock(mutex_);
  return missed_;
}

void InterruptClock::clear() {
  const std::lock_guard lock(mutex_);
  rounds_ = missed_ = 0;
}

std::string InterruptClock::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

} // namespace tally
