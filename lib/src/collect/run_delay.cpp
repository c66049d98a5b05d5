#include "collect/run_delay.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "collect/proc_info.h"

namespace tally {

RunDelay::Read RunDelay::from_proc() {
  return [](pid_t tid) -> std::optional<uint64_t> {
    const auto text = read_small_file(fmt::format("/proc/{}/schedstat", tid));
    const auto counts = text ? parse_schedstat(*text) : std::nullopt;
    return counts ? std::optional(counts->waited_ns) : std::nullopt;
  };
}

void RunDelay::begin(pid_t tid) {
  if (const auto ns = read_(tid))
    threads_.insert_or_assign(tid, Thread{*ns, 0});
}

void RunDelay::restart() {
  for (auto &[tid, thread] : threads_)
    thread = {read_(tid).value_or(thread.read_ns), 0};
}

void RunDelay::lose() {
  for (auto &[tid, thread] : threads_)
    thread.is_known = false;
}

void RunDelay::divide(std::span<Interval> intervals) {
  while (!intervals.empty()) {
    const auto end = std::ranges::find_if(
        intervals, [&](const Interval &each) { return each.tid != intervals.front().tid; });
    const auto count = static_cast<size_t>(end - intervals.begin());
    divide_one(intervals.first(count));
    intervals = intervals.subspan(count);
  }
}

void RunDelay::divide_one(std::span<Interval> intervals) {
  std::vector<Interval *> waits;
  int64_t left = 0;
  for (Interval &each : intervals) {
    each.queued_ns = each.is_queued ? each.ns : 0;
    left -= static_cast<int64_t>(each.queued_ns);
    if (!each.is_queued)
      waits.push_back(&each);
  }
  const auto ns = read_(intervals.front().tid);
  if (!ns)
    return;
  const auto [thread, is_new] = threads_.try_emplace(intervals.front().tid);
  if (is_new || !thread->second.is_known) {
    thread->second = {*ns, 0};
    return;
  }
  const auto more = static_cast<int64_t>(*ns - std::min(*ns, thread->second.read_ns));
  left += more + thread->second.left_ns;
  // The shortest first: what is more than it belongs to the others.
  std::ranges::sort(waits, {}, &Interval::ns);
  for (size_t i = 0; i < waits.size() && left > 0; ++i) {
    const uint64_t share = static_cast<uint64_t>(left) / (waits.size() - i);
    waits[i]->queued_ns = std::min(waits[i]->ns, share);
    left -= static_cast<int64_t>(waits[i]->queued_ns);
  }
  // The kernel's account is newer than the records, so that something may be left for the next
  // call, but not more than came with this one.
  thread->second = {*ns, std::min(left, more)};
}

} // namespace tally
