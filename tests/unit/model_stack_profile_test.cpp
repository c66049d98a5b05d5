#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include <tally/merge.h>
#include <tally/report.h>

#include "random_profile.h"

namespace tally::model_stack_profile_test {
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

TEST(StackProfileBuilder, UnifiesEqualEntries) {
  StackProfileBuilder builder = with_ticks();
  const SourceFunction f{builder.intern("f"), {}, {}, {}, 1};
  SourceFunction g = f;
  g.line = 2;
  EXPECT_EQ(builder.add_function(f), builder.add_function(f));
  EXPECT_NE(builder.add_function(f), builder.add_function(g));
  Mapping mapping{0x1000, 0x2000, 0, builder.intern("/bin/x"), {}, 0, 0, 0, false};
  const MappingId m = builder.add_mapping(mapping), n = builder.add_mapping(mapping);
  EXPECT_NE(m, n); // the caller knows which of them replaced the other
  EXPECT_EQ(builder.add_location(m, 0x1000), builder.add_location(m, 0x1000));
  EXPECT_NE(builder.add_location(m, 0x1000), builder.add_location(n, 0x1000));
  EXPECT_NE(builder.add_location(m, 0x1000), builder.add_location(m, 0x1001));
  const LocationId at = builder.add_location(m, 0x1000);
  EXPECT_EQ(builder.push(none<StackId>, at), builder.push(none<StackId>, at));
  const StackId stack = builder.push(none<StackId>, at);
  EXPECT_NE(builder.push(stack, at), stack);
  EXPECT_EQ(builder.add_thread(1, 2, "a"), builder.add_thread(1, 2, "b"));
  EXPECT_NE(builder.add_thread(1, 2, "a"), builder.add_thread(2, 2, "a"));
  const ThreadId thread = builder.add_thread(1, 2, "a");
  builder.add_sample(stack, thread, none<PartId>, 1);
  builder.add_sample(stack, thread, none<PartId>, 2);
  builder.add_sample(stack, none<ThreadId>, none<PartId>, 4);
  const auto profile = builder.finish();
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->sample_count(), 2u);
  EXPECT_EQ(profile->sample(0).values[0], 3);
  EXPECT_EQ(profile->totals(), std::vector<int64_t>{7});
}

// Code generated at run time lies in no mapping; its samples must not take a stack each.
TEST(StackProfileBuilder, UnifiesLocationsOutsideMappings) {
  StackProfileBuilder builder = with_ticks();
  EXPECT_EQ(builder.add_location(none<MappingId>, 5), builder.add_location(none<MappingId>, 5));
  EXPECT_NE(builder.add_location(none<MappingId>, 5), builder.add_location(none<MappingId>, 6));
  const SourceLine f{builder.add_function({builder.intern("f"), {}, {}, {}, 0}), {}, 0};
  const SourceLine g{builder.add_function({builder.intern("g"), {}, {}, {}, 0}), {}, 0};
  const auto add = [&](const SourceLine &line) {
    return builder.add_location(none<MappingId>, 0, std::span(&line, 1));
  };
  EXPECT_EQ(add(f), add(f));
  EXPECT_NE(add(f), add(g));
  // This holds after symbolization, too, when locations have other lines than initially.
  const std::vector<SourceLine> one{g};
  std::vector<std::span<const SourceLine>> lines(builder.so_far().location_count(), one);
  builder.replace_lines(lines);
  const uint32_t before = builder.so_far().location_count();
  builder.add_location(none<MappingId>, 5, one);
  add(g);
  EXPECT_EQ(builder.so_far().location_count(), before);
}

TEST(StackProfileBuilder, RefusesASumThatDoesNotFit) {
  StackProfileBuilder same = with_ticks();
  same.add_sample(none<StackId>, none<ThreadId>, none<PartId>, most);
  EXPECT_TRUE(same.snapshot());
  same.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 1);
  EXPECT_EQ(same.snapshot().error().code, ErrorCode::overflow);
  EXPECT_EQ(same.finish().error().code, ErrorCode::overflow);

  StackProfileBuilder apart = with_ticks();
  const ThreadId thread = apart.add_thread(1, 1, "t");
  apart.add_sample(none<StackId>, none<ThreadId>, none<PartId>, most);
  apart.add_sample(none<StackId>, thread, none<PartId>, 1);
  EXPECT_EQ(apart.finish().error().code, ErrorCode::overflow);

  StackProfileBuilder doubled = with_ticks();
  doubled.add_sample(none<StackId>, none<ThreadId>, none<PartId>, most / 2 + 1);
  const auto half = doubled.snapshot();
  ASSERT_TRUE(half);
  ASSERT_TRUE(append_stacks(doubled, *half));
  EXPECT_EQ(doubled.finish().error().code, ErrorCode::overflow);
}

TEST(StackProfileBuilder, ContinuesAfterASnapshotAndIsEmptyAfterFinish) {
  StackProfileBuilder builder = with_ticks();
  builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 1);
  const auto snapshot = builder.snapshot();
  builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 1);
  EXPECT_EQ(snapshot->totals()[0], 1);
  EXPECT_EQ(builder.finish()->totals()[0], 2);
  EXPECT_EQ(builder.so_far().sample_count(), 0u);
  EXPECT_TRUE(builder.so_far().value_types().empty());
  EXPECT_EQ(builder.intern("again"), StringId{1});
}

// Each case breaks one rule.
TEST(ValidateStackProfile, ChecksEachRule) {
  using Break = void (*)(StackProfileBuilder &);
  const std::vector<std::pair<const char *, Break>> cases{
      {"mapping 0 ends before",
       [](StackProfileBuilder &b) {
         b.add_mapping({2, 1, 0, {}, {}, 0, 0, 0, false});
       }},
      {"lies in mapping 4", [](StackProfileBuilder &b) { b.add_location(MappingId{4}, 1); }},
      {"names function 9",
       [](StackProfileBuilder &b) {
         const SourceLine line{SourceFunctionId{9}, {}, 0};
         b.add_location(none<MappingId>, 1, std::span(&line, 1));
       }},
      {"holds location 3", [](StackProfileBuilder &b) { b.push(none<StackId>, LocationId{3}); }},
      {"has a caller that comes after it",
       [](StackProfileBuilder &b) { b.push(StackId{5}, b.add_location(none<MappingId>, 1)); }},
      {"part 1 comes after part 1",
       [](StackProfileBuilder &b) {
         b.add_part({1, {}, 0, 0});
         b.add_part({1, {}, 0, 0});
       }},
      {"part 0 comes after part 0",
       [](StackProfileBuilder &b) {
         b.add_part({0, {}, 0, 0});
       }},
      {"part 1 ends before it begins",
       [](StackProfileBuilder &b) {
         b.add_part({1, {}, 2, 1});
       }},
      {"sample 0 names a stack that does not exist",
       [](StackProfileBuilder &b) { b.add_sample(StackId{1}, none<ThreadId>, none<PartId>, 1); }},
      {"sample 0 names a thread that does not exist",
       [](StackProfileBuilder &b) { b.add_sample(none<StackId>, ThreadId{1}, none<PartId>, 1); }},
      {"sample 0 names a part that does not exist",
       [](StackProfileBuilder &b) { b.add_sample(none<StackId>, none<ThreadId>, PartId{1}, 1); }},
  };
  for (const auto &[message, damage] : cases) {
    StackProfileBuilder builder = with_ticks();
    damage(builder);
    const auto profile = builder.finish();
    ASSERT_FALSE(profile) << message;
    EXPECT_NE(profile.error().message.find(message), std::string::npos) << profile.error().text();
    EXPECT_EQ(profile.error().code, ErrorCode::invalid_input);
  }
}

TEST(Append, DoublesAProfileAppendedToItself) {
  Random random(11);
  for (int round = 0; round < 300; ++round) {
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
  for (int round = 0; round < 300; ++round) {
    RandomShape shape = random_shape(random);
    shape.tables_seed = 1 + random();
    const StackProfile a = random_profile(random, shape), b = random_profile(random, shape),
                       c = random_profile(random, shape);
    const StackProfile left = sum_of(sum_of(a, b), c), right = sum_of(a, sum_of(b, c)),
                       turned = sum_of(c, sum_of(b, a));
    EXPECT_EQ(left.totals(), right.totals());
    EXPECT_EQ(left.totals(), turned.totals());
    for (const By by : {By::function, By::line, By::object, By::thread, By::part}) {
      const auto of_left = flat_table(left, by), of_right = flat_table(right, by);
      ASSERT_TRUE(of_left && of_right);
      ASSERT_EQ(to_json(*of_left), to_json(*of_right));
    }
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

TEST(Append, RefusesOtherValues) {
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

TEST(StackProfileBuilder, GivesSamplesWithoutAStackALocation) {
  StackProfileBuilder builder = with_ticks();
  builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 3);
  builder.place_stackless(
      {builder.add_function({builder.intern("[unknown]"), {}, {}, {}, 0}), {}, 0});
  const auto profile = builder.finish();
  ASSERT_TRUE(profile);
  const auto costs = aggregate(*profile);
  ASSERT_TRUE(costs) << costs.error().text();
  EXPECT_EQ(costs->totals()[0], 3u);
}

} // namespace
} // namespace tally::model_stack_profile_test
