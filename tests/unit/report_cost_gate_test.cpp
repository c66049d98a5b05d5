#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "model/stack_profile.h"
#include "random_profile.h"
#include "report/cost_gate.h"
#include "support/significance.h"

namespace tally::report_cost_gate_test {

namespace {

// Values of R's qt() and pt().
TEST(Significance, EqualsTables) {
  EXPECT_NEAR(critical_value(0.05, 0), 1.644854, 1e-5);
  EXPECT_NEAR(critical_value(0.05, 1), 6.313752, 1e-5);
  EXPECT_NEAR(critical_value(0.05, 18), 1.734064, 1e-5);
  EXPECT_NEAR(critical_value(1e-4, 5), 9.677566, 1e-5);
  EXPECT_NEAR(critical_value(1e-4, 8), 6.442000, 1e-5);
  EXPECT_NEAR(upper_tail(4, 18), 4.199e-4, 1e-7);
  EXPECT_NEAR(upper_tail(-4, 18), 1 - 4.199e-4, 1e-7);
  EXPECT_NEAR(upper_tail(0, 3), 0.5, 1e-12);
  EXPECT_GE(upper_tail(1e6, 18), 0);
}

// Of unchanged shares, no more differ than the level says. Those of few samples may be 0.
TEST(Significance, TellsChangesOfSharesFromChance) {
  std::mt19937 random(5);
  constexpr double level = 0.01;
  const double critical = critical_value(level / 2, 0);
  for (const int all_before : {300, 1000, 30'000})
    for (const double share : {0.001, 0.02, 0.3}) {
      std::binomial_distribution<int> before(all_before, share), after(1000, share);
      constexpr int rounds = 10'000;
      int found = 0;
      for (int i = 0; i < rounds; ++i) {
        const double a = after(random), b = before(random);
        found += std::abs(a / 1000 - b / all_before) >
                 least_change_of_shares(a, 1000, b, all_before, critical);
      }
      EXPECT_LT(found, 1.3 * level * rounds) << all_before << ' ' << share;
    }
  EXPECT_LT(least_change_of_shares(200, 1000, 100, 1000, critical), 0.1);
  EXPECT_GT(least_change_of_shares(5, 1000, 0, 1000, critical), 0.005);
}

TEST(Significance, KnowsHowManyRunsDetectADifference) {
  for (const double variance : {1e-4, 4e-3, 0.04}) {
    const auto detected = [&](uint32_t runs) {
      return critical_value(1e-3, 2 * runs - 2) * std::sqrt(2 * variance / runs) <= 0.05;
    };
    const uint32_t runs = runs_to_detect(0.05, variance, 1e-3);
    EXPECT_TRUE(detected(runs)) << runs;
    EXPECT_FALSE(detected(runs - 1)) << runs;
  }
  EXPECT_EQ(runs_to_detect(1e-9, 1, 1e-3), 1'000'000U);
}

using Costs = std::vector<std::pair<std::string, uint64_t>>;

FlatTable table_with(const Costs &costs, const std::string &event) {
  FlatTable out;
  out.events = {event};
  out.totals = {0};
  for (const auto &[name, cost] : costs) {
    FlatRow row;
    row.name = name;
    row.self = row.inclusive = {cost};
    out.rows.push_back(row);
    out.totals[0] += cost;
  }
  return out;
}

GateSide exact_side(const Costs &costs) {
  GateSide out;
  out.name = "a.out";
  out.all = table_with(costs, "Ir");
  out.is_exact = true;
  return out;
}

GateSide sampled_side(const std::vector<Costs> &runs) {
  GateSide out;
  out.name = "a.pb.gz";
  std::map<std::string, uint64_t> sums;
  for (const Costs &run : runs) {
    for (const auto &[name, cost] : run)
      sums[name] += cost;
    if (runs.size() > 1)
      out.runs.push_back(table_with(run, "ticks"));
  }
  out.all = table_with(Costs(sums.begin(), sums.end()), "ticks");
  out.sample = 1;
  out.clocks = 1;
  return out;
}

GateVerdict verdict_on(const GateSide &before, const GateSide &after, GateLimit limit) {
  const auto gate = judge(before, after, limit);
  EXPECT_TRUE(gate) << gate.error().text();
  return gate->verdict;
}

TEST(CostGate, IsExactForCountedEvents) {
  const GateSide before = exact_side({{"f", 1000}, {"g", 9000}});
  EXPECT_EQ(verdict_on(before, before, {0}), GateVerdict::passed);
  // Exactly the limit passes, one more fails.
  EXPECT_EQ(verdict_on(before, exact_side({{"f", 1007}, {"g", 9000}}), {0.7}), GateVerdict::passed);
  EXPECT_EQ(verdict_on(before, exact_side({{"f", 1008}, {"g", 9000}}), {0.7}), GateVerdict::failed);
  EXPECT_EQ(verdict_on(before, exact_side({{"f", 500}, {"g", 9000}}), {0}), GateVerdict::passed);
}

TEST(CostGate, ComparesLargeExactCostsWithoutRounding) {
  const uint64_t large = (uint64_t{1} << 53) + 2;
  EXPECT_EQ(verdict_on(exact_side({{"f", large}}), exact_side({{"f", large}}), {0}),
            GateVerdict::passed);
  EXPECT_EQ(verdict_on(exact_side({{"f", large}}), exact_side({{"f", large + 1}}), {0}),
            GateVerdict::failed);
  EXPECT_EQ(verdict_on(exact_side({{"f", UINT64_MAX}}), exact_side({{"f", UINT64_MAX}}), {1e6}),
            GateVerdict::passed);
  const auto gate = judge(exact_side({{"f", 1}}), exact_side({{"f", UINT64_MAX}}), {5});
  ASSERT_TRUE(gate);
  EXPECT_NE(to_text(*gate).find("1 to 18446744073709551615 Ir"), std::string::npos)
      << to_text(*gate);
}

TEST(CostGate, RefusesRunsThatEndedInAnotherWay) {
  GateSide before = exact_side({{"f", 10}}), after = before;
  before.ends = {"exited, status 0", "exited, status 0"};
  after.ends = {"exited, status 0", "ended by SIGSEGV"};
  after.name = "b.out";
  for (const auto &[one, other] : {std::pair(before, after), std::pair(after, before)}) {
    const auto gate = judge(one, other, {5});
    ASSERT_FALSE(gate);
    EXPECT_EQ(gate.error().code, ErrorCode::no_data);
    EXPECT_EQ(gate.error().text(),
              "b.out: run 2 ended by SIGSEGV, and none in a.out did: their costs cannot be "
              "compared");
  }
  EXPECT_TRUE(judge(after, after, {5}));
  after.ends.clear(); // not known
  EXPECT_TRUE(judge(before, after, {5}));
}

TEST(CostGate, RefusesTicksOfDifferentLengths) {
  GateSide before = sampled_side({{{"f", 5000}}}), after = sampled_side({{{"f", 1000}}});
  before.name = "a.out";
  after.name = "b.out";
  before.tick_ns = 200'000;
  auto gate = judge(before, after, {20});
  ASSERT_FALSE(gate);
  EXPECT_EQ(gate.error().text(), "b.out: does not say how long a tick is, and a.out does: their "
                                 "ticks cannot be compared");
  after.tick_ns = 1'000'000;
  gate = judge(before, after, {20});
  ASSERT_FALSE(gate);
  EXPECT_EQ(gate.error().code, ErrorCode::no_data);
  EXPECT_EQ(gate.error().text(),
            "b.out: was sampled every 1000000 ns, and a.out every 200000 ns: their ticks cannot be "
            "compared");
}

TEST(CostGate, LeavesOutWhatOneSideHasAndWhatIsSmall) {
  const GateSide before = exact_side({{"old_name", 1000}, {"small", 10}, {"g", 9000}});
  const GateSide after = exact_side({{"new_name", 1000}, {"small", 20}, {"g", 9000}});
  const auto gate = judge(before, after, {1});
  ASSERT_TRUE(gate);
  EXPECT_EQ(gate->verdict, GateVerdict::passed);
  EXPECT_EQ(to_text(*gate),
            "nothing grew by more than 1 %: the total and 1 function were judged\n"
            "only AFTER has 1 function with 10.0 % of its cost, the largest is new_name; only "
            "BEFORE has 1 function with 10.0 % of its cost: they count in the total alone\n");
}

TEST(CostGate, JudgesNamedFunctionsOfAnySize) {
  const GateSide before = exact_side({{"small", 10}, {"g", 9000}});
  const GateSide after = exact_side({{"small", 11}, {"g", 19000}, {"added", 1}});
  const auto gate = judge(before, after, {5, SortBy::self, {"^small$", "^added$"}});
  ASSERT_TRUE(gate);
  EXPECT_EQ(to_text(*gate), "added is new: 1 Ir\nsmall grew by 10.0 %: 10 to 11 Ir\n"
                            "the limit is 5 %: 2 functions were judged\n");
  // A pattern that guards nothing: it matches nothing, or only what AFTER does not have any more.
  const GateSide renamed = exact_side({{"tiny", 11}, {"g", 9000}});
  for (const auto &[now, patterns] : {std::pair(after, std::vector<std::string>{"absent"}),
                                      std::pair(after, std::vector<std::string>{"^g$", "absent"}),
                                      std::pair(renamed, std::vector<std::string>{"^small$"})}) {
    const auto none = judge(before, now, {5, SortBy::self, patterns});
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().code, ErrorCode::no_data);
  }
}

TEST(CostGate, ShowsGrowthThatRoundsToTheLimit) {
  const auto gate = judge(exact_side({{"f", 1'000'000}}), exact_side({{"f", 1'000'001}}), {0});
  ASSERT_TRUE(gate);
  EXPECT_NE(to_text(*gate).find("f grew by 0.0001 %"), std::string::npos) << to_text(*gate);
}

// A profile of the ticks of `f`, with a part for each trigger.
StackProfile profile_of_parts(const std::vector<std::string> &triggers, uint64_t ticks = 100) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  builder.set_period_ns(1'000'000);
  const SourceFunctionId f = builder.add_function({builder.intern("f"), {}, {}, {}, 0});
  const SourceLine line{f, {}, 0};
  const StackId stack =
      builder.push(none<StackId>, builder.add_location(none<MappingId>, 0, std::span(&line, 1)));
  for (size_t i = 0; i < triggers.size(); ++i) {
    Part part;
    part.number = static_cast<uint32_t>(i + 1);
    part.trigger = builder.intern(triggers[i]);
    const PartId id = builder.add_part(part);
    builder.add_sample(stack, none<ThreadId>, id, static_cast<int64_t>(ticks));
  }
  auto out = builder.finish();
  EXPECT_TRUE(out);
  return std::move(*out);
}

TEST(CostGate, KnowsWhichPartsAreRuns) {
  const auto side = [](const std::vector<std::string> &triggers) {
    return gate_side(profile_of_parts(triggers), "a");
  };
  const std::string exited = "exited, status 0";
  EXPECT_EQ(side({exited, exited})->run_count(), 2U);
  // The stops of one run in a debugger.
  EXPECT_EQ(side({"breakpoint 1", "SIGINT", exited})->run_count(), 1U);
  EXPECT_EQ(side({"breakpoint 1", "breakpoint 2"})->run_count(), 1U);
  // Merged runs, one of which was interrupted.
  for (const auto &triggers : {std::vector<std::string>{exited, "SIGINT", exited},
                               std::vector<std::string>{exited, "SIGTERM"}}) {
    const auto mixed = side(triggers);
    ASSERT_FALSE(mixed);
    EXPECT_EQ(mixed.error().code, ErrorCode::no_data);
    EXPECT_NE(mixed.error().message.find("part 2 ends with 'SIG"), std::string::npos)
        << mixed.error().message;
  }
  // A run that something cut is not compared with one that ended.
  const auto cut = judge(*side({exited}), *side({"SIGTERM"}), {50});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, ErrorCode::no_data);
  EXPECT_TRUE(judge(*side({"SIGTERM"}), *side({"SIGTERM"}), {50}));
  EXPECT_FALSE(side(std::vector<std::string>(1001, exited)));
}

TEST(CostGate, DoesNotInventTheSizeOfASample) {
  StackProfileBuilder builder;
  builder.add_value_type("cycles", "count");
  const SourceFunctionId f = builder.add_function({builder.intern("f"), {}, {}, {}, 0});
  const SourceLine line{f, {}, 0};
  builder.add_sample(
      builder.push(none<StackId>, builder.add_location(none<MappingId>, 0, std::span(&line, 1))),
      none<ThreadId>, none<PartId>, 60'000'000);
  const auto profile = builder.finish();
  ASSERT_TRUE(profile);
  const auto side = gate_side(*profile, "a");
  ASSERT_TRUE(side);
  EXPECT_EQ(side->sample, 0);
  EXPECT_EQ(verdict_on(*side, *side, {50}), GateVerdict::undecided);
}

TEST(CostGate, DoesNotTrustEqualRunsWithoutSamples) {
  GateSide before = sampled_side({{{"f", 3}}, {{"f", 3}}}),
           after = sampled_side({{{"f", 4}}, {{"f", 4}}});
  before.sample = after.sample = 0;
  const auto grown = judge(before, after, {5, SortBy::self, {"f"}});
  ASSERT_TRUE(grown);
  EXPECT_GT(*grown->rows.front().chance, 1e-4); // two runs of a side vary by 1 %, or more
  const auto same = judge(before, before, {90, SortBy::self, {"f"}});
  ASSERT_TRUE(same);
  EXPECT_NEAR(*same->rows.front().chance, 0.5, 1e-9);
}

TEST(CostGate, JudgesSamplesOfOneSide) {
  const auto verdict = [](const GateSide &before, const GateSide &after) {
    return verdict_on(before, after, {5, SortBy::self, {"[fg]"}});
  };
  const GateSide without = sampled_side({{{"g", 1000}}}),
                 with = sampled_side({{{"f", 20}, {"g", 1000}}});
  EXPECT_EQ(verdict(without, with), GateVerdict::failed);
  GateSide rare = without; // ten times less was sampled
  rare.sample = 10;
  EXPECT_EQ(verdict(rare, with), GateVerdict::undecided);
  // All samples of f are of one run.
  std::vector<Costs> runs(10, Costs{{"g", 1000}});
  const GateSide many_without = sampled_side(runs);
  runs[3].emplace_back("f", 20);
  EXPECT_EQ(verdict(many_without, sampled_side(runs)), GateVerdict::undecided);
  // Few samples after: that f has none of them says little.
  EXPECT_EQ(verdict(sampled_side({{{"f", 1000}, {"g", 1'000'000}}}), sampled_side({{{"g", 1000}}})),
            GateVerdict::undecided);
}

TEST(CostGate, RefusesEmptyProfiles) {
  const GateSide full = exact_side({{"f", 1}});
  for (const auto &[before, after] :
       {std::pair(full, exact_side({})), std::pair(exact_side({}), full)}) {
    const auto gate = judge(before, after, {5});
    ASSERT_FALSE(gate);
    EXPECT_EQ(gate.error().code, ErrorCode::no_data);
  }
}

TEST(CostGate, CannotTellSmallGrowthFromFewSamples) {
  const GateSide before = sampled_side({{{"f", 1000}}}), after = sampled_side({{{"f", 1040}}});
  const auto gate = judge(before, after, {3, SortBy::self, {"f"}});
  ASSERT_TRUE(gate);
  EXPECT_EQ(gate->verdict, GateVerdict::undecided);
  EXPECT_NE(to_text(*gate).find("samples are needed on each side, and there are 1000 and 1040"),
            std::string::npos)
      << to_text(*gate);
  EXPECT_NE(judge(before, after, {3})->missing.find("single runs are assumed to vary by 1 %"),
            std::string::npos);
  const GateSide tiny = sampled_side({{{"f", 9}}});
  EXPECT_EQ(judge(tiny, tiny, {90, SortBy::self, {"f"}})->missing,
            "f: 9 and 9 samples are too few: 50 are needed on each side");
  // What is far beyond chance is decided.
  EXPECT_EQ(verdict_on(before, sampled_side({{{"f", 2000}}}), {3}), GateVerdict::failed);
  EXPECT_EQ(verdict_on(before, sampled_side({{{"f", 1010}}}), {50}), GateVerdict::passed);
}

TEST(CostGate, KnowsLittleOfSamplesWithoutAClock) {
  GateSide few = sampled_side({{{"f", 1000}}});
  EXPECT_EQ(verdict_on(few, few, {6}), GateVerdict::passed);
  few.clocks = 0;
  EXPECT_EQ(verdict_on(few, few, {6}), GateVerdict::undecided);
  EXPECT_EQ(verdict_on(few, few, {20}), GateVerdict::passed);
}

TEST(CostGate, SaysHowManyRunsAreMissing) {
  const GateSide before = sampled_side({{{"f", 1000}}, {{"f", 1100}}}),
                 after = sampled_side({{{"f", 1000}}, {{"f", 1100}}, {{"f", 1050}}});
  const auto gate = judge(before, after, {5});
  ASSERT_TRUE(gate);
  EXPECT_EQ(to_text(*gate),
            "a growth of 5 % cannot be told from chance, only one of 103.6 % and more: the runs "
            "vary by 5.5 %; about 31 on each side are needed, and there are 2 and 3; or use longer "
            "runs, or more samples per second\n"
            "the means of 2 and 3 runs were compared\n"
            "1 function has too few samples for 5 %, or varies too much, and was not judged\n");
  const GateSide wild = sampled_side({{{"f", 1000}}, {{"f", 9000}}});
  EXPECT_NE(judge(wild, wild, {5})->missing.find("not even one of 1000 %"), std::string::npos);
}

TEST(CostGate, DoesNotTrustFewRunsThatVaryMore) {
  std::vector<Costs> quiet;
  for (const uint64_t cost :
       {9990U, 10000U, 10010U, 9995U, 10005U, 9990U, 10000U, 10010U, 9995U, 10005U})
    quiet.push_back({{"f", cost}});
  const GateSide before = sampled_side(quiet),
                 after = sampled_side({{{"f", 12000}}, {{"f", 10000}}, {{"f", 10500}}});
  EXPECT_EQ(verdict_on(before, after, {3}), GateVerdict::undecided);
}

TEST(CostGate, DoesNotKnowTheVariationOfTimesWithoutSamples) {
  GateSide timed = sampled_side({{{"f", 1000000}}});
  timed.sample = 0;
  EXPECT_EQ(verdict_on(timed, timed, {50}), GateVerdict::undecided);
}

// Makes runs of a program with a function of 30 % and others, whose cost varies by 2 % from run to
// run, and whose ticks are counted at random.
std::vector<Costs> random_runs(std::mt19937 &random, size_t runs, double work_of_f) {
  std::vector<Costs> out;
  std::normal_distribution<double> variation(1, 0.02);
  for (size_t i = 0; i < runs; ++i) {
    const double speed = variation(random);
    const auto ticks = [&](double mean) {
      return static_cast<uint64_t>(std::poisson_distribution<int>(mean * speed)(random));
    };
    Costs run{{"f", ticks(3000 * work_of_f)}};
    for (int g = 0; g < 10; ++g)
      run.emplace_back("g" + std::to_string(g), ticks(700));
    out.push_back(std::move(run));
  }
  return out;
}

TEST(CostGate, DoesNotFailByChance) {
  std::mt19937 random(7);
  int failed = 0;
  for (int i = 0; i < rounds(1000); ++i)
    failed += verdict_on(sampled_side(random_runs(random, 10, 1)),
                         sampled_side(random_runs(random, 10, 1)), {1}) == GateVerdict::failed;
  EXPECT_LE(failed, 4); // one is expected
}

TEST(CostGate, FindsGrowthOfOneFunction) {
  std::mt19937 random(11);
  int failed = 0;
  for (int i = 0; i < rounds(200); ++i)
    failed += verdict_on(sampled_side(random_runs(random, 20, 1)),
                         sampled_side(random_runs(random, 20, 1.08)), {3}) == GateVerdict::failed;
  EXPECT_GE(failed, rounds(200) - 2);
}

TEST(CostGate, ShowsMeansInMarkdown) {
  const GateSide before = sampled_side({{{"f", 500}, {"g", 100}}, {{"f", 500}, {"g", 100}}}),
                 after = sampled_side({{{"f", 1000}, {"g", 100}}});
  const auto gate = judge(before, after, {50});
  ASSERT_TRUE(gate);
  const std::string text = to_markdown(diff_tables(before.all, after.all), &*gate);
  EXPECT_NE(text.find("| `f` | 500 | 1000 | +100.0 % |"), std::string::npos) << text;
  EXPECT_EQ(text.find("| `g` |"), std::string::npos) << text;
}

TEST(CostGate, IsWrittenAsMarkdown) {
  const GateSide before = exact_side({{"f|x", 1000}, {"g", 9000}}),
                 after = exact_side({{"f|x", 1100}, {"g", 9000}});
  const auto gate = judge(before, after, {5});
  ASSERT_TRUE(gate);
  EXPECT_EQ(to_markdown(diff_tables(before.all, after.all), &*gate),
            "### Cost: grew by more than 5 %\n\n"
            "- f&#124;x grew by 10.0 %: 1000 to 1100 Ir\n"
            "- the limit is 5 %: the total and 2 functions were judged\n\n"
            "| Ir | before | after | change |\n|:--|--:|--:|--:|\n"
            "| **total** | 10000 | 10100 | +1.0 % |\n"
            "| <code>f&#124;x</code> | 1000 | 1100 | +10.0 % |\n");
  EXPECT_NE(to_json(diff_tables(before.all, after.all), *gate, 0)
                .find(R"("gate":{"limit":5.0,"verdict":"failed")"),
            std::string::npos);
}

} // namespace

} // namespace tally::report_cost_gate_test
