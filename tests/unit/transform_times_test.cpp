#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/stack_profile.h"
#include "transform/merge.h"
#include "transform/sample_filter.h"

namespace tally::transform_times_test {
namespace {

// Thread 7 runs from 0 to 2 ms, waits until 10 ms, and runs until 11 ms, sampled each ms. A wait
// that ends after 1 ms is `before` ns long.
StackProfile waiting_once(int64_t before = 0) {
  StackProfileBuilder out;
  out.add_value_type("cpu", "nanoseconds");
  out.add_value_type("wait", "nanoseconds");
  const ThreadId thread = out.add_thread(7, 7, "main");
  const PartId part = out.add_part({1, {}, 0, 11'000'000});
  const StackId runs = out.push(none<StackId>, out.add_location(none<MappingId>, 0x10));
  const StackId waits = out.push(none<StackId>, out.add_location(none<MappingId>, 0x20));
  const uint32_t row = out.add_sample(runs, thread, part, 3'000'000);
  const std::array<int64_t, 2> waited{0, 8'000'000 + before};
  const uint32_t other = out.add_sample(waits, thread, part, waited);
  for (const uint64_t at : {11'000'000u, 1'000'000u, 2'000'000u})
    out.add_time({at, row, 0, 1'000'000});
  out.add_time({10'000'000, other, 1, 8'000'000});
  if (before != 0)
    out.add_time({1'000'000, other, 1, before});
  return std::move(out.finish()).value();
}

using Totals = std::vector<int64_t>;

TEST(Times, AreSorted) {
  const StackProfile profile = waiting_once();
  std::vector<uint64_t> at;
  for (const SampleTime &time : profile.times())
    at.push_back(time.at_ns);
  EXPECT_EQ(at, (std::vector<uint64_t>{1'000'000, 2'000'000, 10'000'000, 11'000'000}));
  EXPECT_EQ(profile.end_ns(), 11'000'000u);
}

TEST(Times, SelectTicksAndClipIntervals) {
  const StackProfile profile = waiting_once();
  const auto totals = [&](std::optional<uint64_t> from, std::optional<uint64_t> to) {
    const auto some = filter_samples(profile, {.from_ns = from, .to_ns = to});
    return some ? some->totals() : Totals{};
  };
  EXPECT_EQ(totals(0, {}), (Totals{3'000'000, 8'000'000}));
  EXPECT_EQ(totals({}, 1'000'000), (Totals{1'000'000, 0}));
  EXPECT_EQ(totals(1'000'000, 5'000'000), (Totals{1'000'000, 3'000'000}));
  EXPECT_EQ(totals(4'000'000, 5'000'000), (Totals{0, 1'000'000}));
  EXPECT_EQ(totals(5'000'000, {}), (Totals{1'000'000, 5'000'000}));
  EXPECT_EQ(totals(11'000'000, {}), Totals{}); // nothing is left
}

// Also what an interval is longer than the running time before its end: it had begun before the
// run.
TEST(Times, AddUpOverAllSlices) {
  for (const int64_t before : {0, 900'000, 3'000'000}) {
    const StackProfile profile = waiting_once(before);
    for (uint64_t width = 100'000; width < 12'000'000; width += 70'001) {
      Totals sum{0, 0};
      for (uint64_t from = 0; from < 11'000'000; from += width)
        if (const auto some = filter_samples(profile, {.from_ns = from, .to_ns = from + width}))
          for (size_t i = 0; i < 2; ++i)
            sum[i] += some->totals()[i];
      EXPECT_EQ(sum, profile.totals()) << width << ", " << before;
    }
  }
}

TEST(Passes, AreSelectedWithTheSamples) {
  StackProfile profile = waiting_once();
  const StringId region = profile.strings.intern("parse");
  profile.passes = {{region, 7, 1'000'000, 3'000'000}, {region, 0, 4'000'000, 11'000'000}};
  const auto tids = [&](const SampleFilter &wanted) {
    std::vector<int32_t> out;
    const auto some = filter_samples(profile, wanted);
    for (const Pass &pass : some->passes) {
      EXPECT_EQ(some->strings[pass.region], "parse");
      out.push_back(pass.tid);
    }
    return out;
  };
  using Tids = std::vector<int32_t>;
  EXPECT_EQ(tids({.thread = "main"}), (Tids{7, 0}));
  EXPECT_EQ(tids({.part = 1}), (Tids{7, 0}));
  EXPECT_EQ(tids({.from_ns = 3'000'000}), Tids{0});
  EXPECT_EQ(tids({.to_ns = 4'000'000}), Tids{7});
  profile.passes.front().end_ns = 0;
  EXPECT_EQ(validate(profile).error().text(), "not a valid profile: pass 0 ends before it begins");
}

TEST(Times, AreRequiredToSelectByTime) {
  StackProfileBuilder out;
  out.add_value_type("ticks", "count");
  out.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 1);
  const auto some = filter_samples(*out.finish(), {.from_ns = 1});
  ASSERT_FALSE(some);
  EXPECT_EQ(some.error().code, ErrorCode::unsupported);
}

TEST(Times, FollowTheirValue) {
  const StackProfile waits = *one_event(waiting_once(), "wait");
  ASSERT_EQ(waits.times().size(), 1u);
  EXPECT_EQ(waits.times()[0].value, 0u);
  EXPECT_TRUE(measures_intervals(waits, 0));
}

TEST(Times, AreShiftedWithAProfileThatComesLater) {
  StackProfile profile = waiting_once();
  profile.passes.push_back({{}, 7, 1'000'000, 3'000'000});
  StackProfileBuilder out(profile);
  ASSERT_TRUE(append_stacks(out, profile, 20'000'000));
  const StackProfile both = *out.finish();
  ASSERT_EQ(both.passes.size(), 2u);
  EXPECT_EQ(both.passes.back().end_ns, 23'000'000u);
  EXPECT_EQ(both.times().size(), 8u);
  EXPECT_EQ(both.times().back().at_ns, 31'000'000u);
  StackProfileBuilder merged(profile);
  ASSERT_TRUE(append_stacks(merged, profile));
  const StackProfile sum = *merged.finish();
  EXPECT_TRUE(sum.times().empty() && sum.passes.empty()); // they have no common axis
}

} // namespace
} // namespace tally::transform_times_test
