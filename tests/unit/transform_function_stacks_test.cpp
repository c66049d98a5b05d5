// Tests that stacks of functions have the counts of the profile that they come from.
#include <map>
#include <set>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "random_profile.h"
#include "transform/function_stacks.h"

namespace tally::transform_function_stacks_test {
namespace {

using Group = std::tuple<std::vector<FunctionKey>, int32_t, uint32_t>; // stack, tid, part

std::map<Group, std::vector<int64_t>> counted(const StackProfile &profile) {
  std::map<Group, std::vector<int64_t>> out;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    Group group;
    for (const Frame &frame : frames_of(profile, sample.stack))
      std::get<0>(group).push_back(frame.function);
    if (sample.thread != none<ThreadId>)
      std::get<1>(group) = profile.threads()[sample.thread].tid;
    if (sample.part != none<PartId>)
      std::get<2>(group) = profile.parts()[sample.part].number;
    std::vector<int64_t> &sum = out[group];
    sum.resize(sample.values.size());
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += sample.values[i];
  }
  return out;
}

TEST(FunctionStacks, KeepCountsOfFunctionsThreadsAndParts) {
  Random random(7);
  for (int round = 0; round < rounds(200); ++round) {
    const StackProfile profile = random_profile(random, random_shape(random));
    const auto shorter = function_stacks(profile);
    ASSERT_TRUE(shorter) << shorter.error().text();
    EXPECT_EQ(counted(*shorter), counted(profile));
    EXPECT_EQ(shorter->period_ns, profile.period_ns);
    EXPECT_EQ(shorter->parts().size(), profile.parts().size());
    EXPECT_LE(shorter->stack_count(), profile.stack_count());
    for (size_t row = 0; row < shorter->sample_count(); ++row)
      for (const Frame &frame : frames_of(*shorter, shorter->sample(row).stack))
        EXPECT_TRUE(frame.address == 0 && frame.line == 0);
  }
}

TEST(FunctionStacks, JoinsWhatDiffersInLinesAndAddresses) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  const SourceFunctionId f =
      builder.add_function({builder.intern("f"), {}, builder.intern("f.c"), {}, 3});
  for (uint32_t line = 4; line < 6; ++line) {
    const SourceLine at{f, builder.intern("f.c"), line};
    builder.add_sample(
        builder.push(none<StackId>,
                     builder.add_location(none<MappingId>, 0x1000 + line, std::span(&at, 1))),
        none<ThreadId>, none<PartId>, line);
  }
  const auto full = builder.finish();
  ASSERT_TRUE(full);
  const auto shorter = function_stacks(*full);
  ASSERT_TRUE(shorter);
  EXPECT_EQ(full->sample_count(), 2U);
  ASSERT_EQ(shorter->sample_count(), 1U);
  EXPECT_EQ(shorter->sample(0).values.front(), 9);
}

} // namespace
} // namespace tally::transform_function_stacks_test
