#include <tally/interrupt.h>

#include <algorithm>
#include <exception>

#include <fmt/format.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/proc_info.h"
#include "support/clock.h"

namespace tally {

namespace {

// A stop that was asked for and never came: the target is busy elsewhere, or lost it.
constexpr uint64_t given_up_after_ns = 2'000'000'000;

constexpr uint64_t own_bit = uint64_t{1} << (InterruptClock::native_signal - 1);

// A signal that a thread blocks would wait there, and find the process undebugged one day.
bool can_be_interrupted(pid_t pid, pid_t tid) {
  const auto status = process_status(fmt::format("{}/task/{}", pid, tid));
  return status && status->state != 'Z' && status->state != 'X' &&
         (status->signals_blocked & own_bit) == 0;
}

} // namespace

void InterruptClock::set(pid_t pid, uint32_t frequency_hz) {
  const std::lock_guard lock(mutex_);
  pid_ = pid;
  const uint32_t most = pid == 0 ? most_remote_hz : most_native_hz;
  period_ns_ = 1'000'000'000 / std::clamp<uint32_t>(frequency_hz, 1, most);
  running_ = false;
  awaited_.clear();
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
  return std::max<uint64_t>(wait, cost_ns_ * run_per_stop);
}

size_t InterruptClock::interrupt() {
  const std::lock_guard lock(mutex_);
  if (!running_ || !problem_.empty())
    return 0;
  try {
    return pid_ == 0 ? interrupt_remote() : interrupt_threads();
  } catch (const std::exception &) {
    return 0; // no memory: the next round may find some
  }
}

size_t InterruptClock::interrupt_remote() {
  const uint64_t now = now_ns();
  if (const auto at = awaited_.find(any_thread);
      at != awaited_.end() && now - at->second.sent_at_ns < given_up_after_ns)
    return 0;
  awaited_.insert_or_assign(any_thread, Awaited{now, false});
  sent_at_ns_ = now;
  round_counted_ = false;
  return 1;
}

size_t InterruptClock::interrupt_threads() {
  const auto process = process_status(std::to_string(pid_));
  if (!process)
    return 0;
  if ((process->signals_caught & own_bit) != 0) {
    problem_ = fmt::format("the program handles SIG{} itself", native_signal);
    return 0;
  }
  const std::vector<pid_t> tids = thread_ids(pid_);
  const auto is_gone = [&](const auto &each) {
    return std::ranges::find(tids, each.first) == tids.end();
  };
  std::erase_if(awaited_, is_gone);
  const uint64_t now = now_ns();
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
    if (awaited_.contains(tid) || !can_be_interrupted(pid_, tid))
      continue;
    awaited_.emplace(tid, Awaited{now, false});
    if (::syscall(SYS_tgkill, pid_, tid, native_signal) == 0)
      ++sent;
    else
      awaited_.erase(tid);
  }
  return sent;
}

InterruptClock::Stop InterruptClock::take(pid_t tid) {
  const std::lock_guard lock(mutex_);
  const auto at = awaited_.find(tid);
  if (at == awaited_.end())
    return Stop::theirs;
  const bool stale = at->second.stale;
  awaited_.erase(at);
  if (stale)
    return Stop::stale;
  rounds_ += round_counted_ ? 0 : 1;
  round_counted_ = true;
  return Stop::ours;
}

void InterruptClock::done() {
  const std::lock_guard lock(mutex_);
  cost_ns_ = now_ns() - sent_at_ns_;
}

uint64_t InterruptClock::rounds() const {
  const std::lock_guard lock(mutex_);
  return rounds_;
}

void InterruptClock::clear() {
  const std::lock_guard lock(mutex_);
  rounds_ = 0;
}

std::string InterruptClock::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

} // namespace tally
