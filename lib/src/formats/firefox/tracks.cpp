#include "formats/firefox/tracks.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "support/checked.h"

namespace tally::firefox {

namespace {

// Returns how long a sample lasts if its time is unknown.
uint64_t length_of(const TimedValue &sample, const ValueRole &role, uint64_t interval) {
  return role.unit_ns == 0 ? interval : static_cast<uint64_t>(sample.amount * role.unit_ns);
}

void sort_by_stack(std::vector<TimedValue> &samples, const StackProfile &profile,
                   const FrameTree &tree, const CodeTable &code) {
  std::ranges::sort(samples, [&](const TimedValue &a, const TimedValue &b) {
    const Sample first = profile.sample(a.row), second = profile.sample(b.row);
    const uint32_t leaf = tree.leaf(first.stack), other_leaf = tree.leaf(second.stack);
    if (leaf != other_leaf)
      return leaf < other_leaf;
    const uint32_t node = code.leaf(first.stack), other_node = code.leaf(second.stack);
    if (node != other_node)
      return code.is_before(node, other_node);
    return std::tuple(a.value, first.part, a.row) < std::tuple(b.value, second.part, b.row);
  });
}

// Places the samples without a time one after another, before all others.
Result<void> place_untimed(Track &track, std::vector<TimedValue> untimed,
                           const StackProfile &profile, const std::vector<ValueRole> &roles) {
  const uint64_t interval = interval_ns(profile);
  uint64_t all = 0;
  for (const TimedValue &sample : untimed)
    if (!checked_add(all, length_of(sample, roles[sample.value], interval)))
      return fail(ErrorCode::overflow, "the samples of a thread take more than 63 bits of "
                                       "nanoseconds");
  // The samples that have a time leave this room, in which all of them are scaled down.
  uint64_t room = all;
  if (!track.samples.empty())
    room = std::min({all, profile.times_from_ns, track.samples.front().at_ns});
  uint64_t begin = 0;
  for (TimedValue &sample : untimed) {
    const uint64_t end = begin + length_of(sample, roles[sample.value], interval);
    // A tick is at the end of the time that it stands for, and a wait at its beginning.
    const uint64_t at = roles[sample.value].measure == Measure::running ? end : begin;
    sample.at_ns =
        all == 0 ? 0 : static_cast<uint64_t>(static_cast<unsigned __int128>(at) * room / all);
    begin = end;
  }
  track.untimed = untimed.size();
  track.samples.insert(track.samples.begin(), untimed.begin(), untimed.end());
  return {};
}

Result<void> add_up(Track &track, const std::vector<TimedValue> &samples,
                    const std::vector<ValueRole> &roles) {
  for (const TimedValue &sample : samples) {
    int64_t amount = sample.amount;
    const int64_t unit = std::max<int64_t>(1, roles[sample.value].unit_ns);
    if (__builtin_mul_overflow(amount, unit, &amount) || !checked_add(track.total, amount))
      return fail(ErrorCode::overflow, "the time of a thread in nanoseconds does not fit in 63 "
                                       "bits");
  }
  return {};
}

} // namespace

uint64_t interval_ns(const StackProfile &profile) {
  constexpr uint64_t millisecond = 1'000'000;
  return profile.period_ns == 0 ? millisecond : profile.period_ns;
}

Result<std::vector<Track>> tracks_of(const StackProfile &profile, const FrameTree &tree,
                                     const CodeTable &code, const std::vector<ValueRole> &roles) {
  TALLY_TRY(threads, times_of_threads(profile));
  std::vector<Track> tracks;
  for (const ThreadTimes &thread : threads) {
    // The time comes first.
    for (size_t i = 0; i <= roles.size(); ++i) {
      const bool is_time = i == 0;
      const size_t value = i - 1;
      if (!is_time && roles[value].measure != Measure::other)
        continue;
      const auto belongs = [&](const TimedValue &sample) {
        return is_time ? roles[sample.value].measure != Measure::other : sample.value == value;
      };
      Track track{thread.thread, {}, {}, 0, 0};
      if (!is_time)
        track.value = value;
      std::ranges::copy_if(thread.timed, std::back_inserter(track.samples), belongs);
      std::vector<TimedValue> untimed;
      std::ranges::copy_if(thread.untimed, std::back_inserter(untimed), belongs);
      if (track.samples.empty() && untimed.empty())
        continue;
      TALLY_CHECK(add_up(track, track.samples, roles));
      TALLY_CHECK(add_up(track, untimed, roles));
      sort_by_stack(untimed, profile, tree, code);
      TALLY_CHECK(place_untimed(track, std::move(untimed), profile, roles));
      tracks.push_back(std::move(track));
    }
  }
  return tracks;
}

} // namespace tally::firefox
