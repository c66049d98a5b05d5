#include <gtest/gtest.h>

#include "model/cost_profile.h"
#include "random_profile.h"

namespace tally::transform_one_event_test {
namespace {

CostProfile profile_of(const std::string &formula, Costs self = {3, 5}) {
  CostProfileBuilder builder;
  builder.add_event("Ir", "Instructions");
  builder.add_event("I1mr");
  builder.describe_event("Sum", "All of it", formula);
  CostPart part;
  part.command = builder.intern("./a");
  part.summary = {9, 9};
  const CostPartId id = builder.add_part(part);
  const FileId file = builder.add_file("a");
  const CostFunctionId f = builder.add_function("f", file, builder.add_object("o")),
                       g = builder.add_function("g", file, builder.add_object("o"));
  builder.begin_block(id, f, file);
  builder.add_cost({0, 1}, self);
  builder.add_call({{0, 2}, g, {0, 7}, 4}, Costs{10, 2});
  builder.add_jump({{0, 2}, {0, 9}, none<FileId>, none<CostFunctionId>, true, 5, 3});
  auto profile = builder.finish();
  EXPECT_TRUE(profile) << profile.error().text();
  return std::move(*profile);
}

Costs first_rows(const CostProfile &p) {
  Costs self(p.events().size()), call(p.events().size());
  p.costs().get(0, self);
  p.call_costs().get(0, call);
  self.insert(self.end(), call.begin(), call.end());
  return self;
}

TEST(OneEvent, SelectsACountedEvent) {
  const CostProfile all = profile_of("Ir + I1mr");
  for (const auto &[name, costs] : {std::pair{"Ir", Costs{3, 10}}, {"I1mr", Costs{5, 2}}}) {
    const auto one = one_event(all, name);
    ASSERT_TRUE(one) << one.error().text();
    ASSERT_EQ(one->events().size(), 1u);
    EXPECT_EQ(one->strings[one->events()[0].name], name);
    EXPECT_EQ(first_rows(*one), costs);
    EXPECT_EQ(one->totals()[0], costs[0]);
    EXPECT_EQ(one->call(0).count, 4u);
    EXPECT_EQ(one->jump(0).executed, 5u);
    EXPECT_EQ(one->strings[one->parts()[CostPartId{0}].command], "./a");
    EXPECT_TRUE(one->parts()[CostPartId{0}].summary.empty());
  }
  EXPECT_EQ(one_event(all, "Ir")->strings[one_event(all, "Ir")->events()[0].long_name],
            "Instructions");
}

TEST(OneEvent, ComputesADerivedEvent) {
  for (const auto &[formula, costs] : {std::pair{"Ir + I1mr", Costs{8, 12}},
                                       {"Ir + 10 I1mr", Costs{53, 30}},
                                       {"2*Ir+10 * I1mr", Costs{56, 40}},
                                       {"\tIr + Ir", Costs{6, 20}},
                                       {"0 Ir", Costs{0, 0}}}) {
    const auto one = one_event(profile_of(formula), "Sum");
    ASSERT_TRUE(one) << one.error().text();
    EXPECT_EQ(first_rows(*one), costs) << formula;
    EXPECT_EQ(one->strings[one->events()[0].long_name], "All of it");
  }
}

TEST(OneEvent, RefusesUnknownEventsAndInvalidFormulas) {
  const auto unknown = one_event(profile_of("Ir"), "Dr");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(unknown.error().text(), "there is no event 'Dr' (there are: Ir, I1mr, Sum)");
  for (const std::string formula :
       {"Ir +", "+ Ir", "Dr", "Ir I1mr", "Ir - I1mr", "Sum", "18446744073709551616 Ir", "Ir + 2"}) {
    const auto one = one_event(profile_of(formula), "Sum");
    ASSERT_FALSE(one) << formula;
    EXPECT_EQ(one.error().code, ErrorCode::invalid_input) << formula;
    EXPECT_NE(one.error().text().find("in the formula '" + formula + "' of event Sum: expected"),
              std::string::npos)
        << one.error().text();
  }
  // An event without a formula cannot be computed.
  EXPECT_FALSE(one_event(profile_of(""), "Sum"));
}

TEST(OneEvent, RefusesSumsThatDoNotFit) {
  for (const std::string formula : {"2 Ir", "Ir + I1mr", "18446744073709551615 I1mr"}) {
    const auto one = one_event(profile_of(formula, {~uint64_t{0}, 5}), "Sum");
    ASSERT_FALSE(one) << formula;
    EXPECT_EQ(one.error().code, ErrorCode::overflow);
  }
}

} // namespace
} // namespace tally::transform_one_event_test
