#include "collect/processor_use.h"

#include <algorithm>

#include <fmt/format.h>

#include "support/clock.h"
#include "support/sort.h"

namespace tally {

namespace {

constexpr uint64_t moment_ns = 100'000;
// This thread or a holder needs this time to wake up and to move to its processor.
constexpr uint64_t moving_ns = 100'000;

} // namespace

ProcessorUse::ProcessorUse(pid_t pid, ProcessorHolders &holders) : pid_(pid), holders_(holders) {
  ask_for_short_slices();
}

ProcessorUse::~ProcessorUse() { holders_.release(); }

std::optional<SchedulerCounts> ProcessorUse::counts_of(pid_t tid) const {
  const auto text = read_small_file(fmt::format("/proc/{}/task/{}/schedstat", pid_, tid));
  return text ? parse_schedstat(*text) : std::nullopt;
}

// Returns, without repetitions, the processors of the threads that run or wait for a processor. A
// thread may wait because the caller has just taken its processor.
std::vector<int> ProcessorUse::processors(std::span<const pid_t> tids) const {
  std::vector<int> out;
  for (const pid_t tid : tids) {
    const std::string path = fmt::format("{}/task/{}", pid_, tid);
    const auto stat = read_small_file(fmt::format("/proc/{}/stat", path));
    const auto processor = stat ? parse_processor(*stat) : std::nullopt;
    if (processor && parse_state(*stat) == 'R')
      out.push_back(*processor);
  }
  sort_stably(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

bool ProcessorUse::sleep_briefly(std::span<const pid_t> tids, bool beside) {
  holders_.release();
  const std::vector<int> taken = beside ? processors(tids) : std::vector<int>();
  cpu_before_ns_.clear();
  for (const pid_t tid : tids)
    if (const auto counts = counts_of(tid))
      cpu_before_ns_.emplace(tid, counts->cpu_ns);
  const uint64_t begin = now_ns();
  const uint64_t end = begin + moment_ns + (taken.empty() ? 0 : moving_ns);
  beside_ = !taken.empty();
  // Call take() even for a single processor, with an empty list, because it clears the state of the
  // last round.
  if (beside_)
    holders_.take(std::span(taken).subspan(1), end);
  const OnProcessor here(beside_ ? std::optional(taken.front()) : std::nullopt);
  const bool on_time = sleep_on_time(end);
  taken_ns_ = now_ns();
  slept_ns_ = taken_ns_ - begin;
  preempted_ = times_preempted();
  return on_time && (!beside_ || (here.is_there() && holders_.hold()));
}

bool ProcessorUse::is_undisturbed() const {
  return !beside_ || (times_preempted() == preempted_ && holders_.holds());
}

ProcessorUse::Of ProcessorUse::use_of(pid_t tid, const ProcessStatus &status) const {
  const auto counts = counts_of(tid);
  if (!counts)
    return Of::thread_that_ran;
  if (has_processor(*counts, status))
    return Of::thread_that_runs;
  const auto before = cpu_before_ns_.find(tid);
  const bool ran =
      before != cpu_before_ns_.end() && counts->cpu_ns - before->second >= slept_ns_ / 2;
  return ran ? Of::thread_that_ran : Of::thread_that_waits;
}

} // namespace tally
