#include <limits>

#include <gtest/gtest.h>

#include "random_profile.h"

namespace tally::transform_aggregate_test {
namespace {

// Returns a location of one function that has only a name.
LocationId plain(StackProfileBuilder &builder, std::string_view name) {
  const SourceLine line{builder.add_function({builder.intern(name), {}, {}, {}, 0}), {}, 0};
  return builder.add_location(none<MappingId>, 0, std::span(&line, 1));
}

StackId stack_of(StackProfileBuilder &builder, const std::vector<std::string> &names) {
  StackId stack = none<StackId>;
  for (const std::string &name : names)
    stack = builder.push(stack, plain(builder, name));
  return stack;
}

FunctionKey named(const std::string &name) { return {"", "", name}; }
LocationKey location(const std::string &name) { return {named(name), "", 0, 0}; }

Counted counted(StackProfileBuilder &builder) {
  auto profile = builder.finish();
  EXPECT_TRUE(profile);
  auto costs = aggregate(*profile);
  EXPECT_TRUE(costs) << costs.error().text();
  return rows_of(*costs);
}

TEST(Aggregate, AgreesWithCountingEachSample) {
  Random random(1);
  for (int round = 0; round < rounds(4000); ++round) {
    RandomShape shape = random_shape(random);
    shape.strange_names = round % 4 == 0;
    const StackProfile profile = random_profile(random, shape);
    const auto costs = aggregate(profile);
    ASSERT_TRUE(costs) << costs.error().text();
    ASSERT_EQ(rows_of(*costs), count_samples(profile)) << "round " << round;
    Costs totals;
    for (int64_t total : profile.totals())
      totals.push_back(static_cast<uint64_t>(total));
    ASSERT_EQ(Costs(costs->totals().begin(), costs->totals().end()), totals);
  }
}

TEST(Aggregate, AgreesWithCountingTheSamplesOfAPart) {
  Random random(2);
  for (int round = 0; round < rounds(500); ++round) {
    const StackProfile profile = random_profile(random, random_shape(random));
    for (uint32_t i = 0; i < profile.parts().size(); ++i) {
      const auto part = static_cast<PartId>(i);
      const auto costs = aggregate(profile, {.only_part = part});
      ASSERT_TRUE(costs) << costs.error().text();
      ASSERT_EQ(rows_of(*costs), count_samples(profile, part));
      ASSERT_EQ(costs->parts()[CostPartId{0}].number, profile.parts()[part].number);
    }
  }
}

TEST(Aggregate, InclusiveIsBetweenSelfAndTotal) {
  Random random(3);
  for (int round = 0; round < rounds(1000); ++round) {
    RandomShape shape = random_shape(random);
    shape.functions = 2;
    const auto costs = aggregate(random_profile(random, shape));
    ASSERT_TRUE(costs);
    const Counted rows = rows_of(*costs);
    std::map<FunctionKey, Costs> self;
    for (const auto &[key, row] : rows.self)
      add_to(self[std::get<0>(key)], row);
    for (const auto &[function, inclusive] : rows.inclusive)
      for (size_t e = 0; e < inclusive.size(); ++e) {
        ASSERT_LE(inclusive[e], costs->totals()[e]);
        if (self.contains(function)) {
          ASSERT_GE(inclusive[e], self[function][e]);
        }
      }
    for (const auto &[arc, row] : rows.arcs)
      for (size_t e = 0; e < row.second.size(); ++e)
        ASSERT_LE(row.second[e], costs->totals()[e]);
  }
}

TEST(Aggregate, CountsRecursionOncePerStack) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  builder.add_sample(stack_of(builder, {"main", "f", "f", "f"}), none<ThreadId>, none<PartId>, 10);
  Counted rows = counted(builder);
  EXPECT_EQ(rows.inclusive[named("f")], Costs{10});
  EXPECT_EQ((rows.arcs[{location("f"), named("f")}]), (std::pair<uint64_t, Costs>{10, {10}}));

  StackProfileBuilder mutual;
  mutual.add_value_type("ticks", "count");
  mutual.add_sample(stack_of(mutual, {"main", "f", "g", "f", "g"}), none<ThreadId>, none<PartId>,
                    7);
  rows = counted(mutual);
  EXPECT_EQ(rows.inclusive[named("f")], Costs{7});
  EXPECT_EQ(rows.inclusive[named("g")], Costs{7});
  EXPECT_EQ((rows.arcs[{location("f"), named("g")}]), (std::pair<uint64_t, Costs>{7, {7}}));
  EXPECT_EQ((rows.arcs[{location("g"), named("f")}]), (std::pair<uint64_t, Costs>{7, {7}}));
  EXPECT_EQ(rows.self.size(), 1u);
}

// A constructor has two linkage names and one name: it is one function, and an arc counts once a
// stack.
TEST(Aggregate, MergesFunctionsThatLookAlikeInATable) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  const StringId name = builder.intern("A::A()");
  const auto add = [&](std::string_view system_name, uint64_t address) {
    const SourceLine line{
        builder.add_function({name, builder.intern(system_name), {}, {}, 5}), {}, 6};
    return builder.add_location(none<MappingId>, address, std::span(&line, 1));
  };
  const LocationId c1 = add("_ZN1AC1Ev", 0), c2 = add("_ZN1AC2Ev", 0);
  StackId stack = builder.push(none<StackId>, plain(builder, "main"));
  for (const LocationId at : {c1, c2, c1, c2})
    stack = builder.push(stack, at);
  builder.add_sample(stack, none<ThreadId>, none<PartId>, 3);
  const Counted rows = counted(builder);
  EXPECT_EQ(rows.arcs.size(), 2u);
  for (const auto &[arc, row] : rows.arcs)
    EXPECT_EQ(row.first, 3u);
}

// Covers samples without a stack, and addresses without a name.
TEST(Aggregate, AttributesUnnamedCostsToTheUnknownFunction) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  builder.add_part({1, {}, 0, 1});
  builder.add_part({2, {}, 1, 2});
  Mapping library;
  library.start = 0x1000;
  library.limit = 0x2000;
  library.path = builder.intern("lib.so");
  const MappingId mapping = builder.add_mapping(library);
  const StackId main = stack_of(builder, {"main"});
  const StackId nameless = builder.push(main, builder.add_location(mapping, 0x1234));
  const StackId f = builder.push(nameless, plain(builder, "f"));
  builder.add_sample(f, none<ThreadId>, PartId{0}, 5);
  builder.add_sample(nameless, none<ThreadId>, PartId{0}, 2);
  builder.add_sample(builder.push(none<StackId>, builder.add_location(none<MappingId>, 9)),
                     none<ThreadId>, PartId{1}, 3);
  builder.add_sample(none<StackId>, none<ThreadId>, PartId{1}, 10);
  const auto profile = builder.finish();
  ASSERT_TRUE(profile);
  const auto costs = aggregate(*profile);
  ASSERT_TRUE(costs) << costs.error().text();
  EXPECT_EQ(costs->totals()[0], 20u);
  Counted rows = rows_of(*costs);
  const FunctionKey in_library{"lib.so", "", ""};
  EXPECT_EQ(rows.inclusive[in_library], Costs{7});
  EXPECT_EQ(rows.inclusive[named("")], Costs{13});
  EXPECT_EQ(rows.inclusive[named("main")], Costs{7});
  EXPECT_EQ((rows.self[{in_library, "", 0x1234, 0}]), Costs{2});
  EXPECT_EQ(rows.self[location("")], Costs{10});
  EXPECT_EQ((rows.arcs[{location("main"), in_library}].second), Costs{7});
  EXPECT_EQ((rows.arcs[{{in_library, "", 0x1234, 0}, named("f")}].second), Costs{5});
  for (const uint64_t part : {0u, 1u})
    EXPECT_EQ(aggregate(*profile, {.only_part = static_cast<PartId>(part)})->totals()[0],
              part == 0 ? 7u : 13u);
}

TEST(Aggregate, CountsSamplesThatWereGivenAStack) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 3);
  builder.place_stackless(
      {builder.add_function({builder.intern("[unknown]"), {}, {}, {}, 0}), {}, 0});
  const auto profile = builder.finish();
  ASSERT_TRUE(profile);
  const auto costs = aggregate(*profile);
  ASSERT_TRUE(costs) << costs.error().text();
  EXPECT_EQ(costs->totals()[0], 3u);
}

TEST(Aggregate, RefusesNegativeAndMissingValues) {
  StackProfileBuilder nothing;
  auto profile = nothing.finish();
  ASSERT_TRUE(profile);
  EXPECT_EQ(aggregate(*profile).error().code, ErrorCode::no_data);

  StackProfileBuilder negative;
  negative.add_value_type("ticks", "count");
  negative.add_sample(stack_of(negative, {"f"}), none<ThreadId>, none<PartId>, -1);
  profile = negative.finish();
  ASSERT_TRUE(profile);
  EXPECT_EQ(aggregate(*profile).error().code, ErrorCode::invalid_input);

  StackProfileBuilder stackless;
  stackless.add_value_type("ticks", "count");
  stackless.add_sample(none<StackId>, none<ThreadId>, none<PartId>, -1);
  profile = stackless.finish();
  ASSERT_TRUE(profile);
  EXPECT_EQ(aggregate(*profile).error().code, ErrorCode::invalid_input);
}

TEST(Aggregate, AllowsTheLargestSum) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  const int64_t most = std::numeric_limits<int64_t>::max();
  builder.add_sample(stack_of(builder, {"f"}), none<ThreadId>, none<PartId>, most - 1);
  builder.add_sample(stack_of(builder, {"f", "g"}), none<ThreadId>, none<PartId>, 1);
  const Counted rows = counted(builder);
  EXPECT_EQ(rows.inclusive.at(named("f")), Costs{static_cast<uint64_t>(most)});
}

TEST(Aggregate, AllowsAMillionFrames) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  const LocationId f = plain(builder, "f"), g = plain(builder, "g");
  StackId stack = none<StackId>;
  for (int i = 0; i < rounds(1'000'000); ++i)
    stack = builder.push(stack, i % 3 == 0 ? f : g);
  builder.add_sample(stack, none<ThreadId>, none<PartId>, 5);
  const Counted rows = counted(builder);
  EXPECT_EQ(rows.inclusive.at(named("f")), Costs{5});
  EXPECT_EQ(rows.inclusive.at(named("g")), Costs{5});
  EXPECT_EQ(rows.arcs.size(), 3u);
}

} // namespace
} // namespace tally::transform_aggregate_test
