#include "collect/run_delay.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "collect/proc_info.h"
#include "support/clock.h"

namespace tally {

namespace {

// Returns for how long the kernel's account is newer than the records.
int64_t newest_ns(const RunDelay::Account &now, std::span<const RunDelay::Interval> intervals) {
  return static_cast<int64_t>(now.at_ns - std::min(now.at_ns, intervals.back().end_ns));
}

} // namespace

RunDelay::Read RunDelay::from_proc() {
  return [](pid_t tid) -> std::optional<Account> {
    const auto text = read_small_file(fmt::format("/proc/{}/schedstat", tid));
    const auto counts = text ? parse_schedstat(*text) : std::nullopt;
    if (!counts)
      return std::nullopt;
    return Account{counts->waited_ns, counts->cpu_ns, now_ns()};
  };
}

void RunDelay::begin(pid_t tid) {
  if (const auto account = read_(tid))
    threads_.insert_or_assign(tid, Thread{*account});
}

void RunDelay::restart() {
  for (auto &[tid, thread] : threads_)
    thread = {read_(tid).value_or(thread.read)};
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

void RunDelay::correct(std::span<Interval> intervals, const Account &now, Thread &thread) {
  int64_t &left = thread.cpu_left_ns;
  left += static_cast<int64_t>(now.cpu_ns - std::min(now.cpu_ns, thread.read.cpu_ns));
  for (const Interval &each : intervals)
    left -= static_cast<int64_t>(each.ran_ns);
  // Some of the CPU time may belong to the run that has begun since. While the thread runs, the
  // kernel's account is that of the last timer interrupt.
  const int64_t newest = newest_ns(now, intervals);
  constexpr int64_t oldest = 10'000'000;
  const int64_t known = left > newest ? left - newest : std::min<int64_t>(left + oldest, 0);
  constexpr int64_t most = 20'000; // of one switch
  const int64_t share = std::clamp(known / static_cast<int64_t>(intervals.size()), -most, most);
  for (Interval &each : intervals) {
    const int64_t taken = std::min(share, static_cast<int64_t>(each.ns));
    each.ns -= static_cast<uint64_t>(taken); // modulo 2^64, if it is below 0
    left -= taken;
  }
}

void RunDelay::divide_one(std::span<Interval> intervals) {
  const pid_t tid = intervals.front().tid;
  const auto now = read_(tid);
  const auto thread = threads_.find(tid);
  Thread *const known =
      thread != threads_.end() && thread->second.is_known ? &thread->second : nullptr;
  if (now && known)
    correct(intervals, *now, *known);
  else if (now)
    threads_.insert_or_assign(tid, Thread{*now});
  std::vector<Interval *> waits;
  int64_t left = 0;
  for (Interval &each : intervals) {
    each.queued_ns = each.is_queued ? each.ns : 0;
    left -= static_cast<int64_t>(each.queued_ns);
    if (!each.is_queued)
      waits.push_back(&each);
  }
  if (!known)
    return;
  // Of a thread that has ended, only what was left is known.
  const Account account = now.value_or(known->read);
  const auto more =
      static_cast<int64_t>(account.queued_ns - std::min(account.queued_ns, known->read.queued_ns));
  left += more + known->left_ns;
  // The kernel's account is newer than the records: the time since may belong to a preemption, or a
  // wait, whose record is still to come.
  const int64_t newest = now ? newest_ns(*now, intervals) : 0;
  int64_t certain = left - newest;
  // The shortest first: what is more than it belongs to the others.
  std::ranges::sort(waits, {}, &Interval::ns);
  for (size_t i = 0; i < waits.size() && certain > 0; ++i) {
    const uint64_t share = static_cast<uint64_t>(certain) / (waits.size() - i);
    waits[i]->queued_ns = std::min(waits[i]->ns, share);
    certain -= static_cast<int64_t>(waits[i]->queued_ns);
    left -= static_cast<int64_t>(waits[i]->queued_ns);
  }
  // What is left is for the next call, but no more than came with this one or may be newer.
  known->read = account;
  known->left_ns = std::min(left, std::max(more, newest));
}

} // namespace tally
