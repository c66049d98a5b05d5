#include <fmt/format.h>
#include <gtest/gtest.h>

#include "random_profile.h"
#include "transform/merge.h"

namespace tally::transform_merge_test {
namespace {

CostProfile sum_of(std::initializer_list<const CostProfile *> profiles) {
  auto sum = merge_costs(std::vector(profiles));
  EXPECT_TRUE(sum) << sum.error().text();
  return std::move(*sum);
}

// Returns (executed, followed) of the jumps, by everything that distinguishes them.
std::map<std::string, std::pair<uint64_t, uint64_t>> jumps_of(const CostProfile &p) {
  std::map<std::string, std::pair<uint64_t, uint64_t>> out;
  const auto name_of = [&](CostFunctionId id) {
    const CostFunction &f = p.functions()[id];
    return fmt::format("{}/{}/{}", p.strings[p.objects()[f.object]], p.strings[p.files()[f.file]],
                       p.strings[f.name]);
  };
  for (const CostBlock &block : p.blocks())
    for (uint32_t i = block.first_jump; i < block.last_jump; ++i) {
      const CostJump jump = p.jump(i);
      auto &[executed, followed] =
          out[fmt::format("{} {}:{},{} {} {}:{},{} {}", name_of(block.function),
                          p.strings[p.files()[block.file]], jump.from.address, jump.from.line,
                          name_of(jump.target_function), p.strings[p.files()[jump.target_file]],
                          jump.target.address, jump.target.line, jump.conditional)];
      executed += jump.executed;
      followed += jump.followed;
    }
  return out;
}

TEST(Merge, DoublesAProfileMergedWithItself) {
  Random random(91);
  for (int round = 0; round < rounds(500); ++round) {
    CostShape shape = random_cost_shape(random);
    shape.events = random_events(random);
    const CostProfile a = random_costs(random, shape);
    const CostProfile twice = sum_of({&a, &a});
    Counted rows = rows_of(a);
    for (auto &[location, costs] : rows.self)
      add_to(costs, Costs(costs));
    for (auto &[arc, row] : rows.arcs) {
      row.first *= 2;
      add_to(row.second, Costs(row.second));
    }
    ASSERT_EQ(rows_of(twice), rows);
    auto jumps = jumps_of(a);
    for (auto &[key, counts] : jumps)
      counts = {2 * counts.first, 2 * counts.second};
    ASSERT_EQ(jumps_of(twice), jumps);
    ASSERT_EQ(twice.events().size(), a.events().size());
    for (size_t e = 0; e < shape.events.size(); ++e) {
      ASSERT_EQ(twice.strings[twice.events()[e].name], shape.events[e]);
      ASSERT_EQ(twice.totals()[e], 2 * a.totals()[e]);
    }
    ASSERT_EQ(twice.parts().size(), 1u);
  }
}

TEST(Merge, UnitesEventsByName) {
  Random random(94);
  const CostProfile a = random_costs(random, {.events = {"own", "Dr"}}),
                    b = random_costs(random, {.events = {"Dr", "Ir"}});
  const CostProfile sum = sum_of({&a, &b});
  std::vector<std::string_view> names;
  for (const CostEvent &event : sum.events())
    names.push_back(sum.strings[event.name]);
  EXPECT_EQ(names, (std::vector<std::string_view>{"Ir", "Dr", "own"}));
  EXPECT_EQ(Costs(sum.totals().begin(), sum.totals().end()),
            (Costs{b.totals()[1], a.totals()[1] + b.totals()[0], a.totals()[0]}));
}

struct Given {
  CostPart part{};
  std::string command{}, trigger{}, time_range{};
  std::vector<std::pair<std::string, std::string>> descriptions{};
  uint64_t cost = 1, calls = 1;
  bool addresses = false;
};

CostProfile profile_of(const Given &given) {
  CostProfileBuilder builder;
  builder.add_event("A");
  builder.set_positions(given.addresses, true);
  CostPart part = given.part;
  part.command = builder.intern(given.command);
  part.trigger = builder.intern(given.trigger);
  part.time_range = builder.intern(given.time_range);
  for (const auto &[key, value] : given.descriptions)
    part.descriptions.emplace_back(builder.intern(key), builder.intern(value));
  const CostPartId id = builder.add_part(part);
  const FileId file = builder.add_file("a");
  const CostFunctionId f = builder.add_function("f", file, builder.add_object("o"));
  builder.begin_block(id, f, file);
  builder.add_cost({0, 1}, Costs{given.cost});
  builder.add_call({{0, 2}, f, {0, 1}, given.calls}, Costs{1});
  auto profile = builder.finish();
  EXPECT_TRUE(profile) << profile.error().text();
  return std::move(*profile);
}

TEST(Merge, KeepsTheHeadersThatAllShare) {
  Given first{.command = "./a", .trigger = "end", .time_range = "0 - 1"};
  first.part.pid = 7;
  first.part.thread = 2;
  first.part.number = 4;
  first.descriptions = {{"I1 cache", "32 KB"}, {"Note", "one"}};
  Given second = first;
  second.part.pid = 8;
  second.descriptions = {{"I1 cache", "32 KB"}, {"Note", "two"}};
  const CostProfile a = profile_of(first), b = profile_of(second);
  const CostProfile sum = sum_of({&a, &b});
  const CostPart &part = sum.parts()[CostPartId{0}];
  EXPECT_EQ(sum.strings[part.command], "./a");
  EXPECT_EQ(sum.strings[part.time_range], "");
  EXPECT_EQ(part.pid, 0);
  EXPECT_EQ(part.thread, 0);
  EXPECT_EQ(part.number, 1u);
  ASSERT_EQ(part.descriptions.size(), 1u);
  EXPECT_EQ(sum.strings[part.descriptions[0].first], "I1 cache");
  EXPECT_TRUE(part.summary.empty());
  second.command = "./b";
  const CostProfile c = profile_of(second);
  const CostProfile other = sum_of({&a, &c});
  EXPECT_EQ(other.strings[other.parts()[CostPartId{0}].command], "");
}

TEST(Merge, AddsUpSummaries) {
  Given first, second;
  first.part.summary = {10};
  second.part.summary = {20};
  const CostProfile a = profile_of(first), b = profile_of(second), plain = profile_of({});
  EXPECT_EQ(sum_of({&a, &b}).parts()[CostPartId{0}].summary, Costs{30});
  // A profile without a summary counts with the sum of its lines.
  EXPECT_EQ(sum_of({&a, &plain}).parts()[CostPartId{0}].summary, Costs{11});
}

TEST(Merge, RefusesMoreEventsThanAFileMayHave) {
  std::vector<CostProfile> halves;
  for (int half = 0; half < 2; ++half) {
    CostProfileBuilder builder;
    for (size_t i = 0; i < most_cost_events / 2 + 1; ++i)
      builder.add_event(fmt::format("e{}{}", half, i));
    builder.add_part({});
    halves.push_back(std::move(*builder.finish()));
  }
  const auto sum = merge_costs(std::vector{&std::as_const(halves[0]), &std::as_const(halves[1])});
  ASSERT_FALSE(sum);
  EXPECT_EQ(sum.error().code, ErrorCode::limit);
  EXPECT_EQ(sum.error().text(), "together they have 258 events, more than 256");
}

TEST(Merge, RefusesDifferentPositions) {
  const CostProfile a = profile_of({}), b = profile_of({.addresses = true});
  const std::vector<const CostProfile *> both{&a, &b};
  const auto sum = merge_costs(both, std::vector<std::string>{"one.cg", "two.cg"});
  ASSERT_FALSE(sum);
  EXPECT_EQ(sum.error().code, ErrorCode::invalid_input);
  EXPECT_EQ(sum.error().text(), "two.cg: its positions are 'instr line', but those of one.cg are "
                                "'line': they cannot be added up");
  EXPECT_FALSE(merge_costs({}));
}

TEST(Merge, RefusesSumsThatDoNotFit) {
  const uint64_t most = ~uint64_t{0};
  const CostProfile one = profile_of({}), full = profile_of({.cost = most}),
                    often = profile_of({.calls = most}), less = profile_of({.cost = most - 1});
  for (const CostProfile *large : {&full, &often}) {
    const std::vector<const CostProfile *> both{large, &one};
    const auto sum = merge_costs(both);
    ASSERT_FALSE(sum);
    EXPECT_EQ(sum.error().code, ErrorCode::overflow);
  }
  EXPECT_EQ(sum_of({&less, &one}).totals()[0], most);
}

} // namespace
} // namespace tally::transform_merge_test
