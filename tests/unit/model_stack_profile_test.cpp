#include <algorithm>
#include <limits>

#include <gtest/gtest.h>

#include "model/stack_profile.h"

namespace tally::model_stack_profile_test {
namespace {

constexpr int64_t most = std::numeric_limits<int64_t>::max();

StackProfileBuilder with_ticks() {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  return builder;
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

TEST(StackProfileBuilder, GivesSamplesWithoutAStackALocation) {
  StackProfileBuilder builder = with_ticks();
  builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 3);
  builder.place_stackless(
      {builder.add_function({builder.intern("[unknown]"), {}, {}, {}, 0}), {}, 0});
  const auto profile = builder.finish();
  ASSERT_TRUE(profile);
  ASSERT_EQ(profile->sample_count(), 1u);
  const Sample sample = profile->sample(0);
  EXPECT_EQ(sample.values[0], 3);
  ASSERT_NE(sample.stack, none<StackId>);
  EXPECT_EQ(profile->stack_caller(sample.stack), none<StackId>);
  const auto lines = profile->location(profile->stack_location(sample.stack)).lines;
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_EQ(profile->strings[profile->functions()[lines[0].function].name], "[unknown]");
}

} // namespace
} // namespace tally::model_stack_profile_test
