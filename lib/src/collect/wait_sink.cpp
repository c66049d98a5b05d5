#include "collect/wait_sink.h"

#include <algorithm>
#include <array>
#include <utility>

#include <linux/perf_event.h>

#include "stacks/truncation_mark.h"
#include "support/sort.h"

namespace tally {

std::vector<StackCollector::Value> WaitSink::values(int64_t tick_ns) {
  return {{"cpu", "nanoseconds", tick_ns},
          {"wait", "nanoseconds", 0},
          {"queued", "nanoseconds", 0},
          {"waits", "count", 1}};
}

void WaitSink::leaves(pid_t tid, uint64_t pc, std::span<const uint64_t> stack,
                      WaitClock::Call call) {
  // A debugger holds a thread inside of a call that creates another one, and of exec.
  if (traced_ && call == WaitClock::Call::inside &&
      (creating_calls_.are_before(pc) || std::exchange(executed_, 0) == tid))
    call = WaitClock::Call::none;
  clock_.sampled(tid, stack, call, true);
}

void WaitSink::switched(pid_t tid, uint64_t at_ns, uint16_t misc) {
  RegionFilter *const region = collector_.region_filter();
  if ((misc & PERF_RECORD_MISC_SWITCH_OUT) != 0)
    clock_.out(tid, at_ns, (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) != 0,
               !region || region->holds(tid, at_ns));
  else if (const auto ended = clock_.in(tid, at_ns)) {
    ended_.push_back(
        {{tid, ended->ns, ended->why == WaitClock::Why::queued, 0, ended->ran_ns, at_ns},
         ended->why,
         ended->counts,
         ended->continues,
         stacks_.size(),
         ended->stack.size()});
    stacks_.insert(stacks_.end(), ended->stack.begin(), ended->stack.end());
  }
}

void WaitSink::settle() {
  sort_stably(ended_, {}, [](const Ended &one) { return one.interval.tid; });
  settle(ended_);
  ended_.clear();
  stacks_.clear();
}

void WaitSink::settle(std::span<Ended> ended) {
  std::vector<RunDelay::Interval> intervals;
  for (const Ended &one : ended)
    intervals.push_back(one.interval);
  delay_.divide(intervals);
  for (size_t i = 0; i < ended.size(); ++i) {
    const Ended &one = ended[i];
    if (unsampled_) // the CPU time is that of the records, without the work of switches
      unsampled_ns_[one.interval.tid] +=
          static_cast<int64_t>(one.interval.ns) - static_cast<int64_t>(intervals[i].ns);
    const auto stack = std::span(stacks_).subspan(one.stack_begin, one.stack_size);
    if (one.counts && one.why != WaitClock::Why::held)
      add(one.interval.tid, {one.why, true, intervals[i].ns, one.continues, 0, stack},
          one.interval.end_ns, intervals[i].queued_ns);
  }
}

void WaitSink::ticked(pid_t tid) {
  if (unsampled_)
    unsampled_ns_[tid] -= tick_ns_;
}

void WaitSink::began(pid_t tid, uint64_t at_ns) {
  RegionFilter *const region = collector_.region_filter();
  clock_.begin(tid, WaitClock::Why::queued, at_ns, !region || region->holds(tid, at_ns));
  delay_.began(tid);
}

void WaitSink::ended(pid_t tid, uint64_t at_ns) {
  clock_.runs_until(tid, at_ns);
  count_unsampled(tid);
  unsampled_ns_.erase(tid);
  clock_.ended(tid);
  // The collector forgets the thread's name.
  const auto of_others = [tid](const Ended &one) { return one.interval.tid != tid; };
  const auto own = std::stable_partition(ended_.begin(), ended_.end(), of_others);
  settle(std::span(own, ended_.end()));
  ended_.erase(own, ended_.end());
  delay_.ended(tid);
}

void WaitSink::exec(pid_t tid, uint64_t at_ns) {
  delay_.clear();
  delay_.begin(tid);
  clock_.runs_until(tid, at_ns);
  count_unsampled();
  unsampled_ns_.clear();
  clock_.clear();
  clock_.runs_from(tid, at_ns);
  creating_calls_.clear();
  executed_ = tid;
}

void WaitSink::finish(uint64_t at_ns) {
  settle();
  for (const pid_t tid : clock_.open())
    if (const auto interval = clock_.in(tid, at_ns); interval && interval->counts)
      add(tid, *interval, at_ns, interval->why == WaitClock::Why::queued ? interval->ns : 0);
  for (const pid_t tid : clock_.threads())
    clock_.runs_until(tid, at_ns);
  count_unsampled();
}

void WaitSink::count_unsampled() {
  for (const pid_t tid : clock_.threads())
    count_unsampled(tid);
}

// Samples may be ahead of the CPU time by a tick.
void WaitSink::count_unsampled(pid_t tid) {
  if (!unsampled_)
    return;
  int64_t &ns = unsampled_ns_[tid];
  ns += static_cast<int64_t>(clock_.take_cpu_ns(tid));
  // Where in a region the time was spent is not known.
  if (collector_.region_filter()) {
    ns = 0;
    return;
  }
  if (ns <= 0)
    return;
  const std::array<uint64_t, 1> mark{unsampled_mark};
  collector_.add(tid, mark, ns, 0, cpu); // when is not known
  ns = 0;
}

void WaitSink::clear(uint64_t at_ns) {
  settle(); // what was before is forgotten with the samples
  counters_ = {};
  delay_.restart();
  clock_.restart(at_ns);
  for (const pid_t tid : clock_.threads())
    clock_.take_cpu_ns(tid);
  unsampled_ns_.clear();
}

void WaitSink::add(pid_t tid, const WaitClock::Interval &interval, uint64_t end_ns,
                   uint64_t queued_ns) {
  const bool is_wait = interval.why == WaitClock::Why::waits;
  // The stack is unknown if the kernel may not be sampled, if the ring was full, or if the wait
  // began before sampling did.
  const bool is_short = unsampled_ && interval.ns < shortest_seen_wait_ns;
  const std::array<uint64_t, 1> mark{!is_wait   ? queued_mark
                                     : is_short ? short_wait_mark
                                                : long_wait_mark};
  std::span<const uint64_t> stack = interval.stack;
  if (stack.empty()) {
    if (is_wait && unsampled_ && traced_) // nothing shows whether it was a stop of the debugger
      return;
    stack = mark;
  }
  const uint64_t wait_ns = interval.ns - queued_ns;
  counters_.wait_ns += wait_ns;
  counters_.queued_ns += queued_ns;
  counters_.divided_ns += is_wait ? queued_ns : 0;
  if (wait_ns != 0)
    collector_.add(tid, stack, static_cast<int64_t>(wait_ns), end_ns - queued_ns, wait);
  if (queued_ns != 0)
    collector_.add(tid, stack, static_cast<int64_t>(queued_ns), end_ns, queued);
  if (is_wait && !interval.continues) {
    ++counters_.waits;
    collector_.add(tid, stack, 1, end_ns, waits);
  }
}

} // namespace tally
