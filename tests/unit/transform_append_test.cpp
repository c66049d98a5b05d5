// Tests the sum of two profiles of stacks.
#include <limits>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "random_profile.h"
#include "transform/merge.h"

namespace tally::transform_append_test {
namespace {

constexpr int64_t most = std::numeric_limits<int64_t>::max();

StackProfileBuilder with_ticks() {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  return builder;
}

StackProfile sum_of(const StackProfile &a, const StackProfile &b) {
  StackProfileBuilder builder(a);
  const auto appended = append_stacks(builder, b);
  EXPECT_TRUE(appended) << appended.error().text();
  auto sum = builder.finish();
  EXPECT_TRUE(sum) << sum.error().text();
  return std::move(*sum);
}

// Everything that a sample refers to, without ids.
struct PlainSample {
  std::vector<std::tuple<FunctionKey, std::string, uint64_t, uint32_t>> stack;
  std::tuple<int32_t, int32_t, std::string> thread;             // pid, tid, name
  std::tuple<uint32_t, std::string, uint64_t, uint64_t> part{}; // number, trigger, begin, end
  std::vector<int64_t> values;
  friend bool operator==(const PlainSample &, const PlainSample &) = default;
};

// Returns the samples in the order of the profile.
std::vector<PlainSample> samples_of(const StackProfile &profile) {
  std::vector<PlainSample> out;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    PlainSample &plain = out.emplace_back();
    for (const Frame &frame : frames_of(profile, sample.stack))
      plain.stack.emplace_back(frame.function, frame.file, frame.address, frame.line);
    if (sample.thread != none<ThreadId>) {
      const Thread &thread = profile.threads()[sample.thread];
      plain.thread = {thread.pid, thread.tid, std::string(profile.strings[thread.name])};
    }
    if (sample.part != none<PartId>) {
      const Part &part = profile.parts()[sample.part];
      plain.part = {part.number, std::string(profile.strings[part.trigger]), part.begin_ns,
                    part.end_ns};
    }
    plain.values.assign(sample.values.begin(), sample.values.end());
  }
  return out;
}

TEST(Append, DoublesAProfileAppendedToItself) {
  Random random(11);
  for (int round = 0; round < rounds(300); ++round) {
    const StackProfile a = random_profile(random, random_shape(random));
    const StackProfile twice = sum_of(a, a);
    EXPECT_EQ(twice.functions().size(), a.functions().size());
    EXPECT_EQ(twice.location_count(), a.location_count());
    EXPECT_EQ(twice.stack_count(), a.stack_count());
    EXPECT_EQ(twice.threads().size(), a.threads().size());
    EXPECT_EQ(twice.mappings().size(), a.mappings().size());
    EXPECT_EQ(twice.parts().size(), a.parts().size() * 2);
    Counted doubled = count_samples(a);
    const auto times_two = [](Costs &costs) { add_to(costs, Costs(costs)); };
    for (auto &[key, costs] : doubled.self)
      times_two(costs);
    for (auto &[key, costs] : doubled.inclusive)
      times_two(costs);
    for (auto &[key, row] : doubled.arcs) {
      row.first *= 2;
      times_two(row.second);
    }
    ASSERT_EQ(count_samples(twice), doubled);
  }
}

TEST(Append, IsAssociativeAndKeepsRowsInAnyOrder) {
  Random random(12);
  for (int round = 0; round < rounds(300); ++round) {
    RandomShape shape = random_shape(random);
    shape.tables_seed = 1 + random();
    const StackProfile a = random_profile(random, shape), b = random_profile(random, shape),
                       c = random_profile(random, shape);
    const StackProfile left = sum_of(sum_of(a, b), c), right = sum_of(a, sum_of(b, c)),
                       turned = sum_of(c, sum_of(b, a));
    EXPECT_EQ(left.totals(), right.totals());
    EXPECT_EQ(left.totals(), turned.totals());
    ASSERT_EQ(samples_of(left), samples_of(right));
    ASSERT_EQ(count_samples(left), count_samples(turned));
  }
}

TEST(Append, ShiftsTimesAndNumbersOfParts) {
  StackProfileBuilder builder = with_ticks();
  builder.add_part({1, {}, 0, 10});
  builder.add_part({5, {}, 10, 20}); // parts without samples are not kept
  StackProfileBuilder other = with_ticks();
  other.add_part({2, other.intern("end"), 3, 4});
  const auto more = other.finish();
  ASSERT_TRUE(more);
  ASSERT_TRUE(append_stacks(builder, *more, 20));
  const auto sum = builder.finish();
  ASSERT_TRUE(sum) << sum.error().text();
  const Part &last = sum->parts()[PartId{2}];
  EXPECT_EQ(last.number, 7u);
  EXPECT_EQ(last.begin_ns, 23u);
  EXPECT_EQ(last.end_ns, 24u);
  EXPECT_EQ(sum->strings[last.trigger], "end");
}

TEST(Append, RefusesDifferentValueTypes) {
  StackProfileBuilder ticks = with_ticks(), bytes;
  bytes.add_value_type("ticks", "bytes");
  const auto other = bytes.finish();
  ASSERT_TRUE(other);
  EXPECT_EQ(append_stacks(ticks, *other).error().code, ErrorCode::invalid_input);
}

TEST(Append, RefusesTicksOfDifferentLengths) {
  const auto sampled = [](uint64_t period_ns, int64_t ticks) {
    StackProfileBuilder builder = with_ticks();
    builder.set_period_ns(period_ns);
    if (ticks > 0)
      builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, ticks);
    return *builder.finish();
  };
  // Returns the period of the sum, or no value if the sum is refused.
  const auto sum = [&](StackProfile a, const StackProfile &b) -> std::optional<uint64_t> {
    StackProfileBuilder builder(std::move(a));
    if (const auto added = append_stacks(builder, b); !added) {
      EXPECT_EQ(added.error().code, ErrorCode::invalid_input);
      return std::nullopt;
    }
    return builder.finish()->period_ns;
  };
  EXPECT_EQ(sum(sampled(1000, 1), sampled(250, 1)), std::nullopt);
  EXPECT_EQ(sum(sampled(1000, 1), sampled(1000, 1)), 1000u);
  // The period of the sum is unknown if that of one profile is.
  EXPECT_EQ(sum(sampled(1000, 1), sampled(0, 1)), 0u);
  EXPECT_EQ(sum(sampled(0, 1), sampled(1000, 1)), 0u);
  // A profile without samples changes nothing.
  EXPECT_EQ(sum(sampled(0, 0), sampled(1000, 1)), 1000u);
  EXPECT_EQ(sum(sampled(250, 0), sampled(1000, 1)), 1000u);
  EXPECT_EQ(sum(sampled(1000, 1), sampled(250, 0)), 1000u);
}

TEST(Append, RefusesASumThatDoesNotFit) {
  StackProfileBuilder doubled = with_ticks();
  doubled.add_sample(none<StackId>, none<ThreadId>, none<PartId>, most / 2 + 1);
  const auto half = doubled.snapshot();
  ASSERT_TRUE(half);
  ASSERT_TRUE(append_stacks(doubled, *half));
  EXPECT_EQ(doubled.finish().error().code, ErrorCode::overflow);
}

} // namespace
} // namespace tally::transform_append_test
