#include "collect/wait_clock.h"

#include <algorithm>
#include <utility>

#include "support/sort.h"

namespace tally {

void WaitClock::begin(pid_t tid, Why why, uint64_t at_ns, bool counts) {
  Thread thread;
  thread.why = why;
  thread.is_out = why != Why::unknown;
  thread.since_ns = at_ns;
  thread.counts = counts;
  threads_.insert_or_assign(tid, std::move(thread));
}

void WaitClock::runs_from(pid_t tid, uint64_t at_ns) { threads_[tid].in_ns = at_ns; }

void WaitClock::runs_until(pid_t tid, uint64_t at_ns) {
  const auto at = threads_.find(tid);
  if (at == threads_.end() || at->second.in_ns == 0 || at_ns <= at->second.in_ns)
    return;
  at->second.cpu_ns += at_ns - at->second.in_ns;
  at->second.in_ns = at_ns;
}

void WaitClock::sampled(pid_t tid, std::span<const uint64_t> stack, Call call, bool counts) {
  Thread &thread = threads_[tid];
  thread.was_sampled = true;
  thread.call = call;
  thread.counts = counts;
  thread.stack.assign(stack.begin(), stack.end());
}

WaitClock::Why WaitClock::why_of(const Thread &thread, bool preempted) const {
  if (preempted)
    return Why::queued;
  // Without a sample, a debugger's stop cannot be told from a wait.
  if (traced_ && !unsampled_ && (!thread.was_sampled || thread.call != Call::inside))
    return Why::held;
  return Why::waits;
}

void WaitClock::out(pid_t tid, uint64_t at_ns, bool preempted, bool counts) {
  Thread &thread = threads_[tid];
  if (!thread.was_sampled) { // the ring had no room for it
    thread.stack.clear();
    thread.counts = counts;
  }
  thread.why = why_of(thread, preempted);
  thread.is_out = true;
  thread.since_ns = at_ns;
  thread.seen_ns = 0;
  thread.ran_ns = thread.in_ns != 0 && at_ns > thread.in_ns ? at_ns - thread.in_ns : 0;
  thread.cpu_ns += thread.ran_ns;
  thread.in_ns = 0;
  thread.continued = thread.why == Why::waits && thread.continues;
  if (thread.why == Why::waits)
    thread.continues = false;
  else if (thread.why == Why::held && thread.was_sampled)
    thread.continues = thread.call == Call::interrupted;
  thread.was_sampled = false;
}

std::optional<WaitClock::Interval> WaitClock::in(pid_t tid, uint64_t at_ns) {
  const auto at = threads_.find(tid);
  if (at == threads_.end()) {
    threads_[tid].in_ns = at_ns;
    return std::nullopt;
  }
  Thread &thread = at->second;
  thread.was_sampled = false;
  thread.in_ns = at_ns;
  if (thread.seen_ns > at_ns)
    thread.stack.clear();
  if (!std::exchange(thread.is_out, false) || at_ns < thread.since_ns || thread.why == Why::unknown)
    return std::nullopt;
  return Interval{thread.why,       thread.counts, at_ns - thread.since_ns,
                  thread.continued, thread.ran_ns, thread.stack};
}

void WaitClock::hold(pid_t tid) {
  const auto at = threads_.find(tid);
  if (at != threads_.end() && at->second.is_out)
    at->second.why = Why::held;
}

std::vector<pid_t> WaitClock::unseen(uint64_t before_ns) const {
  std::vector<pid_t> out;
  for (const auto &[tid, thread] : threads_)
    if (thread.is_out && thread.why == Why::waits && thread.stack.empty() &&
        thread.since_ns <= before_ns)
      out.push_back(tid);
  return out;
}

void WaitClock::seen(pid_t tid, uint64_t at_ns, std::span<const uint64_t> stack) {
  const auto at = threads_.find(tid);
  if (at == threads_.end() || !at->second.is_out)
    return;
  at->second.stack.assign(stack.begin(), stack.end());
  at->second.seen_ns = at_ns;
}

uint64_t WaitClock::take_cpu_ns(pid_t tid) {
  const auto at = threads_.find(tid);
  return at == threads_.end() ? 0 : std::exchange(at->second.cpu_ns, 0);
}

void WaitClock::restart(uint64_t at_ns) {
  for (auto &[tid, thread] : threads_)
    if (thread.is_out)
      thread.since_ns = std::max(thread.since_ns, at_ns);
    else if (thread.in_ns != 0)
      thread.in_ns = std::max(thread.in_ns, at_ns);
}

std::vector<pid_t> WaitClock::threads() const {
  std::vector<pid_t> out;
  for (const auto &[tid, thread] : threads_)
    out.push_back(tid);
  return out;
}

std::vector<pid_t> WaitClock::open() const {
  std::vector<pid_t> out;
  for (const auto &[tid, thread] : threads_)
    if (thread.is_out && (thread.why == Why::waits || thread.why == Why::queued))
      out.push_back(tid);
  sort_stably(out);
  return out;
}

} // namespace tally
