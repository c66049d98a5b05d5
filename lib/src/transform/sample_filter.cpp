
#include "transform/sample_filter.h"

#include <algorithm>

#include <fmt/format.h>

#include "support/checked.h"
#include "support/hash.h"
#include "support/text.h"
#include "transform/cost_copy.h"
#include "transform/stack_copier.h"
#include "transform/stack_filter.h"

namespace tally {

namespace {

class DistinctWords {
public:
  void add(std::string word) {
    if (seen_.insert(word).second)
      words_.push_back(std::move(word));
  }
  std::vector<std::string> take() { return std::move(words_); }

private:
  SeededSet<std::string> seen_;
  std::vector<std::string> words_;
};

// Returns each thread by its name, or by its tid if it has no name: a profile may have hundreds.
std::vector<std::string> known_threads(const StackProfile &profile) {
  DistinctWords out;
  for (const Thread &thread : profile.threads()) {
    const std::string_view name = profile.strings[thread.name];
    out.add(name.empty() ? std::to_string(thread.tid) : std::string(name));
  }
  return out.take();
}

template <class AnyProfile> std::vector<std::string> known_parts(const AnyProfile &profile) {
  DistinctWords out;
  for (const auto &part : profile.parts())
    out.add(std::to_string(part.number));
  return out.take();
}

tl::unexpected<Error> not_among(std::string option, std::string_view kind, std::string_view wanted,
                                const std::vector<std::string> &known) {
  if (known.empty())
    return fail(ErrorCode::invalid_argument,
                fmt::format("the profile does not distinguish {}{}", kind,
                            kind.ends_with('s') ? "es" : "s"),
                std::move(option));
  constexpr size_t most = 8;
  const size_t shown = std::min(known.size(), most);
  return fail(ErrorCode::invalid_argument,
              fmt::format("there is no {} '{}' (there {}: {}{})", kind, wanted,
                          known.size() == 1 ? "is" : "are",
                          joined_text(std::span(known).first(shown), ", "),
                          shown < known.size() ? ", …" : ""),
              std::move(option));
}
tl::unexpected<Error> no_thread(const SampleFilter &wanted, const std::vector<std::string> &known) {
  return not_among("--thread", "thread", wanted.thread, known);
}
tl::unexpected<Error> no_process(const SampleFilter &wanted,
                                 const std::vector<std::string> &known) {
  return not_among("--process", "process", wanted.process, known);
}
tl::unexpected<Error> no_part(const SampleFilter &wanted, const std::vector<std::string> &known) {
  return not_among("--part", "part", std::to_string(*wanted.part), known);
}
tl::unexpected<Error> no_times(const SampleFilter &wanted) {
  return fail(ErrorCode::unsupported, "the times of the samples are not known",
              wanted.from_ns ? "--from" : "--to");
}
tl::unexpected<Error> nothing_left(const SampleFilter &wanted) {
  if (!wanted.takes_all_times())
    return fail(ErrorCode::no_data, "there are no samples between these times");
  std::string of;
  if (!wanted.process.empty())
    of = fmt::format("process '{}'", wanted.process);
  if (!wanted.thread.empty())
    of = fmt::format("thread '{}'{}{}", wanted.thread, of.empty() ? "" : " of ", of);
  if (of.empty())
    return fail(ErrorCode::no_data, fmt::format("part {} has no samples", *wanted.part));
  return fail(ErrorCode::no_data,
              fmt::format("{} has no samples{}", of,
                          wanted.part ? fmt::format(" in part {}", *wanted.part) : ""));
}

// The values of the samples, and their times, between two moments.
struct Slice {
  std::vector<int64_t> values; // of all rows
  std::vector<SampleTime> times;
};

Slice slice_of(const StackProfile &profile, uint64_t from, uint64_t to) {
  const size_t width = profile.value_types().size();
  Slice out;
  out.values.assign(profile.sample_count() * width, 0);
  std::vector<bool> are_intervals;
  for (size_t i = 0; i < width; ++i)
    are_intervals.push_back(measures_intervals(profile, i));
  for (SampleTime time : profile.times()) {
    if (are_intervals[time.value]) {
      const auto length = static_cast<uint64_t>(time.amount);
      const uint64_t begin = time.at_ns - std::min(time.at_ns, length);
      if (time.at_ns <= from || begin >= to)
        continue;
      // A part of an interval ends where the interval or the stretch ends. An
      // interval may be longer than the running time before its end, because it had begun before
      // the run. The rest counts in the first stretch.
      const uint64_t behind = time.at_ns - std::min(time.at_ns, to);
      time.at_ns -= behind;
      time.amount = static_cast<int64_t>(begin < from ? time.at_ns - from : length - behind);
    } else if (time.at_ns <= from || time.at_ns > to) {
      if (from != 0 || time.at_ns != 0)
        continue;
    }
    int64_t &value = out.values[time.row * width + time.value];
    value = saturated_sum(value, time.amount);
    out.times.push_back(time);
  }
  return out;
}

bool is_wanted(const StackProfile &profile, const Thread &thread, const SampleFilter &wanted) {
  return (wanted.thread.empty() || wanted.thread == profile.strings[thread.name] ||
          wanted.thread == std::to_string(thread.tid)) &&
         (wanted.process.empty() || wanted.process == profile.strings[thread.process] ||
          wanted.process == std::to_string(thread.pid));
}

bool takes_all_threads(const SampleFilter &wanted) {
  return wanted.thread.empty() && wanted.process.empty();
}

bool overlaps(const Pass &pass, uint64_t from, uint64_t to) {
  return pass.begin_ns < to && pass.end_ns > from;
}

bool is_wanted(const StackProfile &profile, const Pass &pass, const SampleFilter &wanted) {
  const auto is_of_thread = [&](const Thread &thread) {
    return thread.tid == pass.tid && is_wanted(profile, thread, wanted);
  };
  const auto is_in_part = [&](const Part &part) {
    return part.number == wanted.part && overlaps(pass, part.begin_ns, part.end_ns);
  };
  return overlaps(pass, wanted.from_ns.value_or(0), wanted.to_ns.value_or(UINT64_MAX)) &&
         (takes_all_threads(wanted) || pass.tid == 0 ||
          std::ranges::any_of(profile.threads(), is_of_thread)) &&
         (!wanted.part || std::ranges::any_of(profile.parts(), is_in_part));
}

Result<StackProfile> some_rows(const StackProfile &profile, const SampleFilter &wanted) {
  std::vector<bool> threads, parts;
  for (const Thread &thread : profile.threads())
    threads.push_back(is_wanted(profile, thread, wanted));
  for (const Part &part : profile.parts())
    parts.push_back(wanted.part == part.number);
  if (!takes_all_threads(wanted) && std::ranges::find(threads, true) == threads.end()) {
    const auto is_any = [&](const SampleFilter &one) {
      return std::ranges::any_of(
          profile.threads(), [&](const Thread &thread) { return is_wanted(profile, thread, one); });
    };
    if (!wanted.process.empty() && !is_any({.process = wanted.process}))
      return no_process(wanted, process_words(profile));
    if (!is_any({.thread = wanted.thread}))
      return no_thread(wanted, known_threads(profile));
    return nothing_left(wanted); // the thread belongs to another process
  }
  if (wanted.part && std::ranges::find(parts, true) == parts.end())
    return no_part(wanted, known_parts(profile));

  if (!wanted.takes_all_times() && profile.times().empty())
    return no_times(wanted);

  const size_t width = profile.value_types().size();
  const uint64_t from = wanted.from_ns.value_or(0), to = wanted.to_ns.value_or(UINT64_MAX);
  const Slice slice = wanted.takes_all_times() ? Slice{} : slice_of(profile, from, to);
  const auto values_of = [&](size_t row) {
    return wanted.takes_all_times() ? profile.sample(row).values
                                    : std::span(slice.values).subspan(row * width, width);
  };
  std::vector<size_t> rows;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    if (!wanted.takes_all_times() &&
        std::ranges::all_of(values_of(row), [](int64_t value) { return value == 0; }))
      continue;
    if (!takes_all_threads(wanted) &&
        (sample.thread == none<ThreadId> || !threads[index_of(sample.thread)]))
      continue;
    if (wanted.part && (sample.part == none<PartId> || !parts[index_of(sample.part)]))
      continue;
    rows.push_back(row);
  }
  if (rows.empty() && !wanted.takes_all_rows())
    return nothing_left(wanted);

  StackProfileBuilder out = builder_like(profile);
  StackCopier copy(profile, out);
  copy_rows(
      profile, rows, wanted.takes_all_times() ? profile.times() : std::span(slice.times), copy, out,
      [&](const Sample &sample) { return copy.stack(sample.stack); }, values_of);
  for (const Pass &pass : profile.passes)
    if (is_wanted(profile, pass, wanted))
      out.add_pass(copy.pass(pass));
  return out.finish();
}

Result<CostProfile> some_rows(const CostProfile &profile, const SampleFilter &wanted) {
  if (!wanted.takes_all_times())
    return no_times(wanted);
  if (!wanted.process.empty())
    return no_process(wanted, {});
  if (!wanted.thread.empty() && !std::ranges::any_of(profile.parts(), [&](const CostPart &part) {
        return part.thread != 0 && std::to_string(part.thread) == wanted.thread;
      }))
    return no_thread(wanted, thread_words(profile));
  if (wanted.part &&
      std::ranges::find(profile.parts(), *wanted.part, &CostPart::number) == profile.parts().end())
    return no_part(wanted, known_parts(profile));
  std::vector<bool> kept;
  for (const CostPart &part : profile.parts())
    kept.push_back((wanted.thread.empty() || std::to_string(part.thread) == wanted.thread) &&
                   (!wanted.part || part.number == *wanted.part));
  if (std::ranges::find(kept, true) == kept.end() && !wanted.takes_all_rows())
    return nothing_left(wanted);
  if (std::ranges::find(kept, false) == kept.end())
    return profile;
  // Inclusive and exact costs are not sums of rows, so that a part's share of them is unknown.
  if (profile.has_inclusive() || profile.has_exact_self())
    return fail(ErrorCode::unsupported,
                "the costs of functions are known only for all parts of this profile together",
                wanted.part ? "--part" : "--thread");

  const auto text = [&](StringId id) { return profile.strings[id]; };
  CostProfileBuilder out;
  out.set_creator(text(profile.creator));
  for (const CostEvent &event : profile.events())
    out.add_event(text(event.name), text(event.long_name), text(event.formula));
  for (const CostEvent &event : profile.derived_events())
    out.describe_event(text(event.name), text(event.long_name), text(event.formula));
  copy_tables(profile, out);
  std::vector<CostPartId> parts;
  for (uint32_t i = 0; i < kept.size(); ++i)
    parts.push_back(kept[i] ? copy_part(profile, profile.parts()[static_cast<CostPartId>(i)], out)
                            : none<CostPartId>);
  std::vector<uint64_t> costs(profile.events().size());
  const auto as_they_are = [&](const CostTable &table) {
    return [&](uint32_t row) {
      table.get(row, costs);
      return std::span<const uint64_t>(costs);
    };
  };
  copy_blocks(profile, out, parts, as_they_are(profile.costs()), as_they_are(profile.call_costs()));
  return out.finish();
}

template <class AnyProfile>
Result<AnyProfile> rows_and_frames(const AnyProfile &profile, const SampleFilter &wanted) {
  if (wanted.takes_all_frames())
    return some_rows(profile, wanted);
  if (wanted.takes_all_rows())
    return filter_frames(profile, wanted);
  TALLY_TRY(some, some_rows(profile, wanted));
  return filter_frames(some, wanted);
}

template <class AnyProfile>
Result<AnyProfile> filtered(const AnyProfile &profile, const SampleFilter &wanted) {
  TALLY_CHECK(check_times(wanted));
  if (wanted.event.empty())
    return rows_and_frames(profile, wanted);
  if (wanted.takes_all_rows() && wanted.takes_all_frames())
    return one_event(profile, wanted.event);
  TALLY_TRY(some, rows_and_frames(profile, wanted));
  return one_event(std::move(some), wanted.event);
}

} // namespace

Result<void> check_times(const SampleFilter &wanted) {
  if (wanted.to_ns.value_or(UINT64_MAX) > wanted.from_ns.value_or(0))
    return {};
  return fail(ErrorCode::invalid_argument,
              wanted.from_ns.value_or(0) == 0 ? "expected a time after 0"
                                              : "expected a time after that of --from",
              "--to");
}

Result<StackProfile> filter_samples(const StackProfile &profile, const SampleFilter &wanted) {
  return filtered(profile, wanted);
}

Result<CostProfile> filter_samples(const CostProfile &profile, const SampleFilter &wanted) {
  return filtered(profile, wanted);
}

std::vector<std::string> thread_words(const StackProfile &profile) {
  DistinctWords out;
  for (const Thread &thread : profile.threads()) {
    if (const std::string_view name = profile.strings[thread.name]; !name.empty())
      out.add(std::string(name));
    out.add(std::to_string(thread.tid));
  }
  return out.take();
}

std::vector<std::string> thread_words(const CostProfile &profile) {
  DistinctWords out;
  for (const CostPart &part : profile.parts())
    if (part.thread != 0)
      out.add(std::to_string(part.thread));
  return out.take();
}

std::vector<std::string> process_words(const StackProfile &profile) {
  DistinctWords out;
  for (const Thread &thread : profile.threads()) {
    if (const std::string_view name = profile.strings[thread.process]; !name.empty())
      out.add(std::string(name));
    out.add(std::to_string(thread.pid));
  }
  return out.take();
}
std::vector<std::string> process_words(const CostProfile &) { return {}; }

std::vector<std::string> event_words(const StackProfile &profile) {
  DistinctWords out;
  for (const ValueType &type : profile.value_types())
    out.add(std::string(profile.strings[type.type]));
  return out.take();
}

std::vector<std::string> event_words(const CostProfile &profile) {
  DistinctWords out;
  for (const auto &events : {profile.events(), profile.derived_events()})
    for (const CostEvent &event : events)
      out.add(std::string(profile.strings[event.name]));
  return out.take();
}

} // namespace tally
