#include <array>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "random_profile.h"
#include "transform/difference.h"

namespace tally::transform_difference_test {
namespace {

using Stack = std::vector<FunctionKey>; // leaf first
using Sums = std::map<Stack, std::array<int64_t, 2>>;

// Adds one value of each sample to a column of the sums.
void add_stacks(const StackProfile &profile, size_t value, size_t column, Sums &sums) {
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    Stack stack;
    for (const Frame &frame : frames_of(profile, profile.sample(row).stack))
      stack.push_back(frame.function);
    sums[stack].at(column) += profile.sample(row).values[value];
  }
}

TEST(Difference, HasEachStackOfBoth) {
  Random random(201);
  for (int round = 0; round < rounds(200); ++round) {
    SCOPED_TRACE(round);
    RandomShape shape = random_shape(random);
    shape.tables_seed = 1 + pick(random, 1000);
    shape.value_types = 1 + static_cast<uint32_t>(pick(random, 2));
    const StackProfile before = random_profile(random, shape),
                       after = random_profile(random, shape);
    const auto both = difference(before, after);
    ASSERT_TRUE(both) << both.error().text();
    EXPECT_TRUE(validate(*both));
    EXPECT_EQ(differing_event(*both), "event0");
    Sums expected, found;
    add_stacks(before, 0, 0, expected);
    add_stacks(after, 0, 1, expected);
    add_stacks(*both, 0, 0, found);
    add_stacks(*both, 1, 1, found);
    EXPECT_EQ(found, expected);
    EXPECT_EQ(both->totals(), (std::vector<int64_t>{before.totals()[0], after.totals()[0]}));
    EXPECT_FALSE(both->has_places());
  }
}

// Ticks of different lengths cannot be converted to times by one period.
TEST(Difference, HasThePeriodOfBoth) {
  const auto of_period = [](uint64_t ns) {
    StackProfileBuilder out;
    out.add_value_type("ticks", "count");
    out.set_period_ns(ns);
    out.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 1);
    return std::move(*out.finish());
  };
  EXPECT_EQ(difference(of_period(1000), of_period(1000))->period_ns, 1000u);
  EXPECT_EQ(difference(of_period(1000), of_period(2000))->period_ns, 0u);
  EXPECT_EQ(difference(of_period(0), of_period(2000))->period_ns, 0u);
}

// A profile of one stack: main calls f.
StackProfile one_stack(std::string_view file, std::string_view object, uint32_t line, int64_t count,
                       std::string_view event = "ticks") {
  StackProfileBuilder out;
  out.add_value_type(event, "count");
  StackId stack = none<StackId>;
  for (const std::string_view name : {"main", "f"}) {
    const SourceLine at{
        out.add_function({out.intern(name), {}, out.intern(file), out.intern(object), line}),
        out.intern(file), line + 1};
    stack = out.push(stack, out.add_location(none<MappingId>, line, std::span(&at, 1)));
  }
  out.add_sample(stack, none<ThreadId>, none<PartId>, count);
  return std::move(*out.finish());
}

TEST(Difference, MatchesFunctionsAsFarAsBothProfilesKnowThem) {
  const StackProfile after = one_stack("a.c", "/bin/a", 7, 5);
  const auto rows = [&](const StackProfile &before) {
    return difference(before, after)->sample_count();
  };
  EXPECT_EQ(rows(one_stack("a.c", "/bin/a", 7, 2)), 1u);
  EXPECT_EQ(rows(one_stack("a.c", "/bin/a", 3, 2)), 1u); // the file was edited
  EXPECT_EQ(rows(one_stack("", "", 0, 2)), 1u);
  EXPECT_EQ(rows(one_stack("a.c", "", 3, 2)), 1u);
  EXPECT_EQ(rows(one_stack("", "/bin/a", 3, 2)), 1u);
  EXPECT_EQ(rows(one_stack("b.c", "/bin/a", 3, 2)), 1u); // it moved
  EXPECT_EQ(rows(one_stack("b.c", "", 3, 2)), 1u);       // it moved
  EXPECT_EQ(rows(one_stack("a.c", "/bin/b", 3, 2)), 1u); // it moved
  const auto both = difference(one_stack("a.c", "", 3, 2), after);
  const SourceFunction &main = both->functions()[SourceFunctionId{0}];
  EXPECT_EQ(both->strings[main.object], "/bin/a");
  EXPECT_EQ(main.line, 7u);
}

using Pairs = std::map<Identity, Identity>;

TEST(Difference, PairsWhatMoved) {
  const Identity f{"f", "/a/x.c", "/a/prog", 0}, f_elsewhere{"f", "/b/x.c", "/b/prog", 0},
      f_in_y{"f", "/b/y.c", "/b/prog", 0}, g{"g", "/a/x.c", "/a/prog", 0};
  EXPECT_EQ(moved({f}, {f}), Pairs{});
  EXPECT_EQ(moved({f}, {f_elsewhere}), (Pairs{{f, f_elsewhere}}));
  // Names of files decide before the name alone does.
  EXPECT_EQ(moved({f}, {f_elsewhere, f_in_y}), (Pairs{{f, f_elsewhere}}));
  EXPECT_EQ(moved({f}, {f_in_y}), (Pairs{{f, f_in_y}}));
  EXPECT_EQ(moved({f}, {g}), Pairs{});
  // What is not unique is not paired.
  const Identity f_other{"f", "/c/z.c", "/c/prog", 0}, f_third{"f", "/c/w.c", "/c/prog", 0};
  EXPECT_EQ(moved({f}, {f_other, f_third}), Pairs{});
  // Objects have no name, and match by that of their file.
  const Identity lib{"", "", "/a/lib.so", 0}, same_lib{"", "", "/b/lib.so", 0},
      other_lib{"", "", "/b/other.so", 0};
  EXPECT_EQ(moved({lib}, {same_lib, other_lib}), (Pairs{{lib, same_lib}}));
  EXPECT_EQ(moved({lib}, {other_lib}), Pairs{});
}

// A side without functions, as patterns may leave it, does not decide what tells names apart.
TEST(Difference, PairsFilesOfOneNameByTheirDirectories) {
  const auto f_in = [](const char *file) { return Identity{"f", file, "/b/p", 0}; };
  EXPECT_EQ(moved({f_in("/b1/x/util.c"), f_in("/b1/y/util.c")},
                  {f_in("/b2/x/util.c"), f_in("/b2/y/util.c")}),
            (Pairs{{f_in("/b1/x/util.c"), f_in("/b2/x/util.c")},
                   {f_in("/b1/y/util.c"), f_in("/b2/y/util.c")}}));
  EXPECT_EQ(moved({f_in("../x/util.c"), f_in("../y/util.c")}, {f_in("x/util.c"), f_in("y/util.c")})
                .size(),
            2U);
  EXPECT_EQ(moved({f_in("/util.c")}, {f_in("util.c")}).size(), 1U);
}

TEST(Difference, KeepsFilesBesideASideWithoutSamples) {
  StackProfileBuilder empty;
  empty.add_value_type("ticks", "count");
  StackProfileBuilder after;
  after.add_value_type("ticks", "count");
  for (const std::string_view file : {"a.c", "b.c"}) {
    const SourceLine at{
        after.add_function({after.intern("f"), {}, after.intern(file), {}, 0}), {}, 0};
    after.add_sample(
        after.push(none<StackId>, after.add_location(none<MappingId>, 0, std::span(&at, 1))),
        none<ThreadId>, none<PartId>, 1);
  }
  EXPECT_EQ(difference(*empty.finish(), *after.finish())->sample_count(), 2u);
}

TEST(Difference, NamesItsValues) {
  const auto event_of = [](std::string_view event) {
    const StackProfile profile = one_stack("a.c", "", 1, 1, event);
    return differing_event(*difference(profile, profile));
  };
  EXPECT_EQ(before_name("ticks"), "before");
  EXPECT_EQ(after_name("cpu"), "cpu after");
  for (const std::string event : {"ticks", "cpu", "nanoticks", ""})
    EXPECT_EQ(event_of(event), event);
  EXPECT_EQ(differing_event(one_stack("a.c", "", 1, 1)), std::nullopt);
  StackProfileBuilder others;
  others.add_value_type("cpu before", "count");
  others.add_value_type("wait after", "count");
  EXPECT_EQ(differing_event(*others.finish()), std::nullopt);
}

} // namespace
} // namespace tally::transform_difference_test
