#include "collect/wait_polls.h"

#include <algorithm>
#include <string>
#include <utility>

#include "collect/proc_info.h"
#include "support/clock.h"

namespace tally {

namespace {

bool has_ended(pid_t tid) {
  const auto status = process_status(std::to_string(tid));
  return status && status->state == 'Z';
}

} // namespace

void WaitPolls::poll(std::span<const pid_t> tids, bool held, const Unwind &unwind, const Add &add) {
  ++round_;
  // At a stop, the hold with which it began is no longer among the times.
  const int64_t were_held = held ? std::max<int64_t>(newly_held(), 0) : newly_held();
  for (const pid_t tid : tids) {
    const auto now = read_(tid);
    if (!now)
      continue;
    const auto [at, is_new] = threads_.try_emplace(tid, Thread{*now, 0, {}, round_});
    Thread &thread = at->second;
    thread.round = round_;
    if (is_new)
      continue;
    const RunDelay::Account before = std::exchange(thread.read, *now);
    if (now->cpu_ns < before.cpu_ns || now->queued_ns < before.queued_ns) { // of another thread
      thread.ahead_ns = 0;
      thread.stack.clear();
      continue;
    }
    const bool has_run = now->cpu_ns != before.cpu_ns || now->queued_ns != before.queued_ns;
    if (has_run)
      thread.stack.clear();
    if (thread.stack.empty() && !held) {
      if (const auto seen = look_.at(tid, true)) {
        if (!seen->is_held)
          thread.stack = unwind(tid, *seen);
      } else if (!has_run && has_ended(tid)) {
        continue; // the first thread of a process stays until the last one ends
      }
    }
    const auto passed = static_cast<int64_t>(now->at_ns - before.at_ns) - were_held;
    const uint64_t queued = now->queued_ns - before.queued_ns;
    const int64_t waited = passed - static_cast<int64_t>(now->cpu_ns - before.cpu_ns) -
                           static_cast<int64_t>(queued) - thread.ahead_ns;
    thread.ahead_ns = std::max<int64_t>(-waited, 0);
    add({tid, now->at_ns, static_cast<uint64_t>(std::max<int64_t>(waited, 0)), queued,
         thread.stack});
  }
  std::erase_if(threads_, [this](const auto &known) { return known.second.round != round_; });
}

int64_t WaitPolls::newly_held() {
  const uint64_t before = std::exchange(held_ns_, held_(now_ns()));
  return static_cast<int64_t>(held_ns_ - before);
}

void WaitPolls::restart() {
  newly_held();
  for (auto &[tid, thread] : threads_) {
    thread.read = read_(tid).value_or(thread.read);
    thread.ahead_ns = 0;
    thread.stack.clear();
  }
}

} // namespace tally
