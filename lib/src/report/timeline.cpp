#include "report/timeline.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "report/render.h"
#include "support/checked.h"
#include "support/sort.h"
#include "support/text.h"

namespace tally {

namespace {

constexpr uint32_t widest_label = 24;

// The values of the profile that say what a thread did.
struct StateValues {
  std::optional<uint32_t> running, waiting, queued; // their indexes
  uint64_t ns_per_unit = 1;                         // of running
  bool has_durations = true;
};

StateValues state_values(const StackProfile &profile) {
  StateValues out;
  const auto types = profile.value_types();
  for (uint32_t i = 0; i < types.size(); ++i) {
    const std::string_view name = profile.strings[types[i].type];
    if (measures_intervals(profile, i))
      (name == "wait" ? out.waiting : out.queued) = i;
    else if (name == "cpu" && profile.strings[types[i].unit] == "nanoseconds")
      out.running = i;
  }
  if (!out.running && !types.empty() && !measures_intervals(profile, 0)) {
    out.running = 0;
    out.has_durations = profile.period_ns > 0;
    out.ns_per_unit = out.has_durations ? profile.period_ns : 1;
  }
  return out;
}

// What a thread does, in total, for the choice of the threads to show.
struct Activity {
  size_t thread = 0; // the index in the profile, or the number of its threads for unknown ones
  uint64_t begin_ns = UINT64_MAX;
  uint64_t ran = 0, waited = 0; // between the times
};

class Builder {
public:
  Builder(const StackProfile &profile, Timeline &out, StateValues values)
      : profile_(profile), out_(out), values_(values) {}

  // Chooses the threads, and adds them without cells.
  void add_threads(uint32_t limit);
  void fill(uint32_t cells);

private:
  struct Stretch {
    uint64_t begin, end;
  };

  size_t thread_of(const SampleTime &time) const {
    const ThreadId thread = profile_.sample(time.row).thread;
    return thread == none<ThreadId> ? profile_.threads().size() : index_of(thread);
  }
  bool is_interval(const SampleTime &time) const {
    return values_.waiting == time.value || values_.queued == time.value;
  }
  // Returns the duration that a sample of the clock stands for, or of the interval.
  uint64_t length_of(const SampleTime &time) const {
    const auto amount = static_cast<uint64_t>(time.amount);
    if (is_interval(time))
      return amount;
    uint64_t ns = 0;
    return __builtin_mul_overflow(amount, values_.ns_per_unit, &ns) ? UINT64_MAX : ns;
  }
  bool is_sample_here(const SampleTime &time) const {
    return (time.at_ns > out_.from_ns || (time.at_ns == 0 && out_.from_ns == 0)) &&
           time.at_ns <= out_.to_ns;
  }
  // Returns how much of the stretch is on the axis.
  uint64_t on_axis(Stretch stretch) const {
    const uint64_t begin = std::max(stretch.begin, out_.from_ns);
    const uint64_t end = std::min(stretch.end, out_.to_ns);
    return end > begin ? end - begin : 0;
  }

  void note(Activity &activity, const SampleTime &time) const;
  void add(std::vector<uint64_t> &cells, Stretch stretch) const;
  void add_sample(Timeline::Thread &thread, std::span<const Stretch> away, const SampleTime &time);

  const StackProfile &profile_;
  Timeline &out_;
  StateValues values_;
  std::vector<size_t> row_of_; // by the thread's index; npos for threads that are not shown
};

void Builder::note(Activity &activity, const SampleTime &time) const {
  const uint64_t length = values_.has_durations || is_interval(time) ? length_of(time) : 0;
  const Stretch stretch{time.at_ns - std::min(time.at_ns, length), time.at_ns};
  activity.begin_ns = std::min(activity.begin_ns, stretch.begin);
  if (is_interval(time))
    activity.waited = saturated_sum(activity.waited, on_axis(stretch));
  else if (values_.has_durations)
    activity.ran = saturated_sum(activity.ran, on_axis(stretch));
  else if (is_sample_here(time))
    activity.ran = saturated_sum(activity.ran, static_cast<uint64_t>(time.amount));
}

void Builder::add_threads(uint32_t limit) {
  std::vector<Activity> all(profile_.threads().size() + 1);
  for (size_t i = 0; i < all.size(); ++i)
    all[i].thread = i;
  for (const SampleTime &time : profile_.times())
    if (time.value == values_.running || is_interval(time))
      note(all[thread_of(time)], time);
  std::erase_if(all, [](const Activity &each) { return each.ran == 0 && each.waited == 0; });
  const size_t shown = limit == 0 ? all.size() : std::min<size_t>(limit, all.size());
  sort_stably(all, [](const Activity &a, const Activity &b) {
    return std::pair(a.ran, a.waited) > std::pair(b.ran, b.waited);
  });
  out_.left_out = all.size() - shown;
  all.resize(shown);
  sort_stably(all, {}, [](const Activity &each) { return std::pair(each.begin_ns, each.thread); });
  row_of_.assign(profile_.threads().size() + 1, SIZE_MAX);
  for (const Activity &each : all) {
    row_of_[each.thread] = out_.threads.size();
    Timeline::Thread &thread = out_.threads.emplace_back();
    thread.begin_ns = each.begin_ns;
    if (each.thread == profile_.threads().size())
      continue;
    const Thread &known = profile_.threads()[static_cast<ThreadId>(each.thread)];
    thread.pid = known.pid;
    thread.tid = known.tid;
    thread.name = profile_.strings[known.name];
  }
}

// Adds a stretch to the cells that it overlaps.
void Builder::add(std::vector<uint64_t> &cells, Stretch stretch) const {
  if (on_axis(stretch) == 0)
    return;
  stretch = {std::max(stretch.begin, out_.from_ns), std::min(stretch.end, out_.to_ns)};
  for (size_t i = out_.cell_at(stretch.begin); stretch.begin < stretch.end; ++i) {
    const uint64_t end = std::min(stretch.end, out_.edges[i + 1]);
    cells[i] = saturated_sum(cells[i], end - stretch.begin);
    stretch.begin = end;
  }
}

// Adds the time that a sample stands for: the time before it in which the thread was not away.
// `away` holds the intervals before, in ascending order.
void Builder::add_sample(Timeline::Thread &thread, std::span<const Stretch> away,
                         const SampleTime &time) {
  if (!values_.has_durations) {
    if (!is_sample_here(time))
      return;
    uint64_t &cell = thread.running[out_.cell_at(std::max(time.at_ns, out_.from_ns + 1) - 1)];
    cell = saturated_sum(cell, static_cast<uint64_t>(time.amount));
    out_.most_samples = std::max(out_.most_samples, cell);
    return;
  }
  uint64_t left = length_of(time);
  for (uint64_t end = time.at_ns; left > 0 && end > out_.from_ns;) {
    const uint64_t begin = away.empty() ? 0 : std::min(end, away.back().end);
    const uint64_t some = std::min(left, end - begin);
    add(thread.running, {end - some, end});
    left -= some;
    if (away.empty())
      return;
    end = std::min(end, away.back().begin);
    away = away.first(away.size() - 1);
  }
}

void Builder::fill(uint32_t cells) {
  const uint64_t length = out_.to_ns - out_.from_ns;
  const uint64_t count = std::min<uint64_t>(cells, length);
  for (uint64_t i = 0; i <= count; ++i) // in two steps, because the product may exceed 64 bits
    out_.edges.push_back(out_.from_ns + length / count * i + length % count * i / count);
  for (Timeline::Thread &thread : out_.threads) {
    thread.running.assign(count, 0);
    if (out_.has_waits) {
      thread.waiting.assign(count, 0);
      thread.queued.assign(count, 0);
    }
  }
  std::vector<std::vector<Stretch>> away(out_.threads.size());
  for (const SampleTime &time : profile_.times()) {
    const size_t row = row_of_[thread_of(time)];
    if (row == SIZE_MAX)
      continue;
    Timeline::Thread &thread = out_.threads[row];
    if (is_interval(time)) {
      const Stretch stretch{time.at_ns - std::min(time.at_ns, length_of(time)), time.at_ns};
      add(time.value == values_.waiting ? thread.waiting : thread.queued, stretch);
      if (!away[row].empty() && away[row].back().end >= stretch.begin)
        away[row].back().end = stretch.end;
      else
        away[row].push_back(stretch);
    } else if (time.value == values_.running) {
      add_sample(thread, away[row], time);
    }
  }
}

// Returns the times to show, without the threads.
Timeline with_axis(const StackProfile &profile, ShownTimes times) {
  Timeline out;
  out.command = profile.strings[profile.command];
  out.times_from_ns = profile.times_from_ns;
  out.from_ns = times.from_ns;
  out.to_ns = times.to_ns;
  for (const Part &part : profile.parts())
    if (part.end_ns > out.from_ns && part.begin_ns < out.to_ns)
      out.parts.push_back(
          {part.number, std::string(profile.strings[part.trigger]), part.begin_ns, part.end_ns});
  return out;
}

// `profile` holds only the samples to show.
Result<Timeline> with_threads(const StackProfile &profile, Timeline out,
                              const TimelineOptions &options) {
  const StateValues values = state_values(profile);
  out.has_durations = values.has_durations;
  out.has_waits = values.waiting || values.queued;
  Builder builder(profile, out, values);
  builder.add_threads(options.limit);
  if (out.threads.empty())
    return fail(ErrorCode::no_data, std::string(nothing_between));
  uint32_t cells = options.cells;
  if (cells == 0) {
    size_t widest = thread_title.size();
    for (const std::string &label : thread_labels(out))
      widest = std::max(widest, display_width(label));
    cells = options.width - static_cast<uint32_t>(widest) - 2;
  }
  builder.fill(cells);
  return out;
}

} // namespace

Result<ShownTimes> shown_times(const StackProfile &profile, const SampleFilter &wanted) {
  TALLY_CHECK(check_times(wanted));
  if (profile.times().empty())
    return fail(ErrorCode::unsupported, "the times of the samples are not known");
  ShownTimes out{profile.times_from_ns, std::max<uint64_t>(1, profile.end_ns())};
  for (const Part &part : profile.parts())
    if (wanted.part == part.number)
      out = {std::max(out.from_ns, part.begin_ns), part.end_ns};
  out.from_ns = wanted.from_ns.value_or(out.from_ns);
  out.to_ns = std::min(out.to_ns, wanted.to_ns.value_or(UINT64_MAX));
  if (out.from_ns >= out.to_ns)
    return fail(ErrorCode::no_data, std::string(nothing_between));
  return out;
}

size_t Timeline::cell_at(uint64_t ns) const {
  const auto after = std::ranges::upper_bound(edges, ns);
  const auto index = static_cast<size_t>(after - edges.begin());
  return std::min(std::max<size_t>(index, 1), cells()) - 1;
}

ThreadState Timeline::state(const Thread &thread, size_t cell) const {
  const uint64_t ran = thread.running[cell];
  const uint64_t length = edges[cell + 1] - edges[cell];
  if (!has_waits) {
    const uint64_t whole = has_durations ? length : most_samples;
    return ran == 0                              ? ThreadState::unknown
           : ran >= whole - std::min(ran, whole) ? ThreadState::running
                                                 : ThreadState::running_less;
  }
  const uint64_t waited = thread.waiting[cell], queued = thread.queued[cell];
  const uint64_t known = ran + waited + queued;
  const uint64_t unknown = length - std::min(length, known);
  const uint64_t most = std::max({ran, waited, queued, unknown});
  return most == ran      ? ThreadState::running
         : most == waited ? ThreadState::waiting
         : most == queued ? ThreadState::queued
                          : ThreadState::unknown;
}

std::vector<std::string> thread_labels(const Timeline &timeline) {
  const bool one_process = std::ranges::all_of(timeline.threads, [&](const auto &thread) {
    return thread.pid == timeline.threads.front().pid;
  });
  std::vector<std::string> out;
  for (const Timeline::Thread &thread : timeline.threads) {
    const std::string ids =
        one_process ? fmt::format("{}", thread.tid) : fmt::format("{}/{}", thread.pid, thread.tid);
    const bool is_known = thread.pid != 0 || thread.tid != 0 || !thread.name.empty();
    out.push_back(first_columns(
        printable(is_known ? fmt::format("{} {}", ids, thread.name) : "unknown"), widest_label));
  }
  return out;
}

Result<Timeline> timeline(const StackProfile &profile, const TimelineOptions &options) {
  if (options.cells == 0 &&
      (options.width < least_timeline_width || options.width > most_timeline_width))
    return fail(ErrorCode::invalid_argument,
                fmt::format("expected a whole number from {} to {}, found '{}'",
                            least_timeline_width, most_timeline_width, options.width),
                "--width");
  TALLY_TRY(times, shown_times(profile, options.samples));
  SampleFilter rows = options.samples;
  rows.event.clear();
  rows.from_ns.reset();
  rows.to_ns.reset();
  Timeline axis = with_axis(profile, times);
  if (rows.takes_all())
    return with_threads(profile, std::move(axis), options);
  TALLY_TRY(some, filter_samples(profile, rows));
  return with_threads(some, std::move(axis), options);
}

Result<Timeline> timeline(const CostProfile &, const TimelineOptions &) {
  return fail(ErrorCode::unsupported, "the times of the samples are not known");
}

} // namespace tally
