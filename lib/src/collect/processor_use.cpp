#include "collect/processor_use.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "support/clock.h"

namespace tally {

namespace {

constexpr uint64_t moment_ns = 100'000;
// What a timer and a sleeping processor take to wake a thread; waits for the processor are longer.
constexpr uint64_t most_late_ns = 80'000;

// struct sched_attr of linux/sched/types.h, which clashes with libc's header.
struct SchedulerAttributes {
  uint32_t size = sizeof(SchedulerAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t slice_ns = 0;
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

// A thread of short time slices gets a processor sooner: of 100 sleeps on a busy machine 85 ended
// on time without it, 98 with it. Kernels before 6.12 take the slice and do not use it.
void ask_for_short_slices() {
  SchedulerAttributes attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0)
    return;
  attributes.size = sizeof attributes;
  attributes.slice_ns = moment_ns;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0); // may be refused
}

// Without the slack of 50 µs that the kernel adds by default.
void sleep_without_slack(uint64_t length) {
  const int slack = ::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  sleep_ns(length);
  if (slack > 0)
    ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack), 0, 0, 0);
}

} // namespace

std::optional<SchedulerCounts> parse_schedstat(std::string_view text) {
  uint64_t numbers[3]{}; // CPU time, time in the queue, arrivals
  for (uint64_t &number : numbers) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{})
      return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  if (numbers[2] == 0) // it has run before anybody can ask: the kernel does not count
    return std::nullopt;
  return SchedulerCounts{numbers[0], numbers[2]};
}

ProcessorUse::ProcessorUse(pid_t pid) : pid_(pid) { ask_for_short_slices(); }

std::optional<SchedulerCounts> ProcessorUse::counts_of(pid_t tid) const {
  const auto text = read_small_file(fmt::format("/proc/{}/task/{}/schedstat", pid_, tid));
  return text ? parse_schedstat(*text) : std::nullopt;
}

bool ProcessorUse::sleep_briefly(std::span<const pid_t> tids) {
  cpu_before_ns_.clear();
  for (const pid_t tid : tids)
    if (const auto counts = counts_of(tid))
      cpu_before_ns_.emplace(tid, counts->cpu_ns);
  const uint64_t begin = now_ns();
  sleep_without_slack(moment_ns);
  slept_ns_ = now_ns() - begin;
  return slept_ns_ <= moment_ns + most_late_ns;
}

bool ProcessorUse::runs(pid_t tid, const ProcessStatus &status) const {
  const auto counts = counts_of(tid);
  if (!counts)
    return true;
  const auto before = cpu_before_ns_.find(tid);
  return has_processor(*counts, status) ||
         (before != cpu_before_ns_.end() && counts->cpu_ns - before->second >= slept_ns_ / 2);
}

} // namespace tally
