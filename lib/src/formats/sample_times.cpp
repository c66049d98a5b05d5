#include "formats/sample_times.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace tally {

namespace {

int64_t nanoseconds_of(std::string_view unit) {
  if (unit == "nanoseconds")
    return 1;
  if (unit == "microseconds")
    return 1'000;
  if (unit == "milliseconds")
    return 1'000'000;
  return unit == "seconds" ? 1'000'000'000 : 0;
}

} // namespace

Result<std::vector<ThreadTimes>> times_of_threads(const StackProfile &profile) {
  const size_t width = profile.value_types().size();
  std::vector<ThreadTimes> threads(profile.threads().size() + 1); // the last is the unknown one
  const auto thread_of = [&](size_t row) -> ThreadTimes & {
    const ThreadId thread = profile.sample(row).thread;
    return thread == none<ThreadId> ? threads.back() : threads[index_of(thread)];
  };
  for (uint32_t i = 0; i + 1 < threads.size(); ++i)
    threads[i].thread = static_cast<ThreadId>(i);
  std::vector<int64_t> left; // of each value of each row
  left.reserve(profile.sample_count() * width);
  for (size_t row = 0; row < profile.sample_count(); ++row)
    for (const int64_t value : profile.sample(row).values) {
      if (value < 0)
        return fail(ErrorCode::invalid_input, "a sample has a negative value");
      left.push_back(value);
    }
  std::vector<bool> are_intervals;
  for (size_t value = 0; value < width; ++value)
    are_intervals.push_back(measures_intervals(profile, value));
  for (const SampleTime &time : profile.times()) {
    int64_t &rest = left[time.row * width + time.value];
    const int64_t amount = std::min(rest, time.amount);
    if (amount == 0)
      continue;
    rest -= amount;
    const uint64_t length = are_intervals[time.value] ? static_cast<uint64_t>(amount) : 0;
    thread_of(time.row).timed.push_back(
        {time.at_ns - std::min(time.at_ns, length), time.row, time.value, amount});
  }
  for (size_t i = 0; i < left.size(); ++i)
    if (left[i] > 0)
      thread_of(i / width).untimed.push_back(
          {0, static_cast<uint32_t>(i / width), static_cast<uint32_t>(i % width), left[i]});
  for (ThreadTimes &thread : threads)
    std::ranges::stable_sort(thread.timed, {}, &TimedValue::at_ns);
  std::erase_if(threads, [](const ThreadTimes &thread) {
    return thread.timed.empty() && thread.untimed.empty();
  });
  return threads;
}

Result<std::vector<ValueRole>> roles_of_values(const StackProfile &profile) {
  if (profile.period_ns > INT64_MAX)
    return fail(ErrorCode::overflow, "the clock's period does not fit in 63 bits");
  std::vector<ValueRole> roles;
  size_t running = profile.value_types().size();
  bool is_cpu = false, has_wait = false, has_queued = false;
  for (size_t i = 0; i < profile.value_types().size(); ++i) {
    const ValueType &type = profile.value_types()[i];
    const std::string_view name = profile.strings[type.type];
    ValueRole role{Measure::other, nanoseconds_of(profile.strings[type.unit])};
    if (measures_intervals(profile, i)) {
      const bool waits = name == "wait";
      if (!std::exchange(waits ? has_wait : has_queued, true))
        role.measure = waits ? Measure::waiting : Measure::queued;
    } else if (role.unit_ns != 0 && !is_cpu &&
               (running == profile.value_types().size() || name == "cpu")) {
      running = i;
      is_cpu = name == "cpu";
    }
    roles.push_back(role);
  }
  if (profile.period_ns > 0 && !roles.empty()) {
    running = 0;
    roles[0].unit_ns = static_cast<int64_t>(profile.period_ns);
  }
  if (running < roles.size())
    roles[running].measure = Measure::running;
  return roles;
}

std::string thread_title(const StackProfile &profile, ThreadId id) {
  if (id == none<ThreadId>)
    return profile.threads().size() == 0 ? "all threads" : "unknown thread";
  const Thread &thread = profile.threads()[id];
  const std::string_view name = profile.strings[thread.name];
  const std::string own = name.empty() ? fmt::format("thread {}", thread.tid) : std::string(name);
  const std::string_view process = profile.strings[thread.process];
  // The threads of the program itself need no name of a process.
  return process.empty() || process == own || thread.pid == profile.threads()[ThreadId{0}].pid
             ? own
             : fmt::format("{}/{}", process, own);
}

} // namespace tally
