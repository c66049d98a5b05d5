#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "../support/coverage_text.h"
#include "model/coverage.h"
#include "random_profile.h"
#include "transform/coverage_costs.h"
#include "transform/merge.h"

namespace tally::transform_coverage_test {
namespace {

class Random {
public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int64_t operator()() { return static_cast<int64_t>(engine_() >> 1); }

private:
  std::mt19937 engine_;
};

// Returns a file with random counts. Files of the same path may disagree on branches and
// conditions.
FileCoverage random_file(Random &random, std::string path) {
  FileCoverage file;
  file.path = std::move(path);
  for (uint32_t line = 1; line < 30; ++line) {
    if (random() % 3 == 0)
      continue;
    LineCoverage row;
    row.line = line;
    row.count = random() % 5;
    row.first_branch = static_cast<uint32_t>(file.branches.size());
    row.first_condition = static_cast<uint32_t>(file.conditions.size());
    for (auto left = random() % 4; left > 0; --left)
      file.branches.push_back({random() % 3, random() % 2 == 0, random() % 5 == 0});
    for (auto left = random() % 3; left > 0; --left) {
      const auto terms = static_cast<uint32_t>(1 + random() % 3);
      const uint64_t all = (uint64_t{1} << terms) - 1;
      file.conditions.push_back(
          {terms, static_cast<uint64_t>(random()) & all, static_cast<uint64_t>(random()) & all});
    }
    row.last_branch = static_cast<uint32_t>(file.branches.size());
    row.last_condition = static_cast<uint32_t>(file.conditions.size());
    file.lines.push_back(row);
  }
  for (uint32_t line = 1; line < 30; ++line)
    for (const char *name : {"f", "g"})
      if (random() % 6 == 0)
        file.functions.push_back(
            {name, line, random() % 2 == 0 ? 0 : line + static_cast<uint32_t>(random() % 9),
             random() % 5});
  return file;
}

std::vector<FileCoverage> random_files(Random &random) {
  std::vector<FileCoverage> files;
  for (const char *path : {"/a", "/b", "/c"})
    if (random() % 3 != 0)
      files.push_back(random_file(random, path));
  return files;
}

Coverage sum(Coverage a, Coverage b, MergePolicy policy = MergePolicy::lenient) {
  Diagnostics diagnostics;
  const auto added = add_coverage(a, std::move(b), policy, diagnostics);
  EXPECT_TRUE(added) << added.error().text();
  return a;
}

// Returns coverage of one test or of no test.
Coverage random_coverage(Random &random) {
  Coverage out;
  out.files = random_files(random);
  if (const auto test = random() % 4; test != 0)
    out.tests.push_back({std::string(1, static_cast<char>('s' + test)), out.files});
  return out;
}

TEST(Coverage, AddsInAnyOrder) {
  Random random(11);
  for (int round = 0; round < rounds(500); ++round) {
    const Coverage a = random_coverage(random), b = random_coverage(random),
                   c = random_coverage(random);
    const Coverage left = sum(sum(a, b), c);
    EXPECT_EQ(disorder_of(left), "");
    ASSERT_EQ(text_of(sum(a, b)), text_of(sum(b, a)));
    ASSERT_EQ(text_of(left), text_of(sum(a, sum(b, c))));
    ASSERT_EQ(text_of(sum(a, {})), text_of(a));
    ASSERT_EQ(text_of(sum({}, a)), text_of(a));
  }
}

TEST(Coverage, TestsAddUpToTheFiles) {
  Random random(12);
  for (int round = 0; round < rounds(200); ++round) {
    Coverage all;
    for (int part = 0; part < 4; ++part)
      all = sum(std::move(all), random_coverage(random));
    if (all.tests.empty())
      continue;
    Coverage again;
    for (const TestCoverage &test : all.tests) {
      Coverage one;
      one.files = test.files;
      again = sum(std::move(again), std::move(one));
    }
    all.tests.clear();
    ASSERT_EQ(text_of(all), text_of(again));
  }
}

FileCoverage file_of(std::vector<int64_t> counts, std::vector<BranchCoverage> branches = {}) {
  FileCoverage file;
  file.path = "/a";
  for (const int64_t count : counts)
    file.lines.push_back({static_cast<uint32_t>(file.lines.size() + 1), count, 0, 0, 0, 0});
  file.branches = std::move(branches);
  file.lines.back().last_branch = static_cast<uint32_t>(file.branches.size());
  return file;
}

TEST(Coverage, AddsLinesByNumberAndBranchesByPosition) {
  FileCoverage to = file_of({1}, {{1, true, false}});
  Diagnostics diagnostics;
  ASSERT_TRUE(add_coverage(to, file_of({2}, {{2, false, true}, {5, false, false}}),
                           MergePolicy::lenient, diagnostics));
  Coverage all;
  all.files.push_back(to);
  EXPECT_EQ(text_of(all), "file /a\n1 3 3fe 5\n");
  ASSERT_EQ(diagnostics.findings().size(), 1u);
  EXPECT_EQ(diagnostics.findings()[0].text(),
            "/a:1:1: note: a line has 1 branches in one object and 2 in another");
}

TEST(Coverage, StrictRefusesWhatLenientReports) {
  const auto strict = [](FileCoverage to, const FileCoverage &more) {
    Diagnostics diagnostics;
    const auto added = add_coverage(to, more, MergePolicy::strict, diagnostics);
    EXPECT_TRUE(diagnostics.findings().empty());
    return added ? std::string() : added.error().text();
  };
  EXPECT_EQ(strict(file_of({1}, {{}}), file_of({1}, {{}, {}})),
            "/a:1:1: a line has 1 branches in one object and 2 in another");
  // One of them was read from a report without branches.
  EXPECT_EQ(strict(file_of({1}, {{}}), file_of({1})), "");

  FileCoverage here = file_of({1}), there = file_of({1});
  here.functions = {{"f", 3, 0, 1}};
  there.functions = {{"f", 4, 0, 1}};
  const std::string moved =
      "/a:3:1: f begins at line 3 in one object and at line 4 in another: check that both were "
      "compiled from the same source";
  EXPECT_EQ(strict(here, there), moved);
  EXPECT_EQ(strict(there, here), moved);

  here = there = file_of({1});
  here.conditions = {{1, 1, 0}};
  there.conditions = {{2, 2, 1}};
  here.lines[0].last_condition = there.lines[0].last_condition = 1;
  EXPECT_EQ(strict(here, there), "/a:1:1: a condition has different terms in different objects");
  Diagnostics diagnostics;
  ASSERT_TRUE(add_coverage(here, there, MergePolicy::lenient, diagnostics));
  Coverage all;
  all.files.push_back(here);
  EXPECT_EQ(text_of(all), "file /a\n1 2 2:3,1\n");
}

TEST(Coverage, RefusesASumThatDoesNotFit) {
  const auto overflows = [](FileCoverage to, const FileCoverage &more) {
    Diagnostics diagnostics;
    const std::string before = std::to_string(to.lines[0].count);
    const auto added = add_coverage(to, more, MergePolicy::lenient, diagnostics);
    EXPECT_EQ(std::to_string(to.lines[0].count), before); // unchanged
    return !added && added.error().code == ErrorCode::overflow && added.error().source == "/a";
  };
  EXPECT_TRUE(overflows(file_of({INT64_MAX}), file_of({1})));
  EXPECT_TRUE(
      overflows(file_of({1}, {{INT64_MAX, false, false}}), file_of({1}, {{1, false, false}})));
  FileCoverage to = file_of({1}), more = file_of({1});
  to.functions = {{"f", 3, 0, INT64_MAX}};
  more.functions = {{"f", 3, 0, 1}};
  EXPECT_TRUE(overflows(to, more));
}

// Both constructors of a class get one name.
TEST(Coverage, KeepsWhatIsUncertainOfUnitedFunctions) {
  Coverage all;
  all.files = {file_of({1})};
  all.files[0].functions = {{"_ZN1BC1Ei", 3, 4, 5, false, 1},
                            {"_ZN1BC2Ei", 3, 4, 6, false, INT64_MAX}};
  ASSERT_TRUE(demangle_names(all));
  ASSERT_EQ(all.files[0].functions.size(), 1u);
  EXPECT_EQ(all.files[0].functions[0].count, 11);
  EXPECT_EQ(all.files[0].functions[0].uncertain, INT64_MAX);
}

TEST(Coverage, AssignsCountsWithoutATestToTheUnnamedTest) {
  Coverage named, plain;
  named.files = {file_of({1})};
  named.tests = {{"t", named.files}};
  plain.files = {file_of({2})};
  const std::string expected = "file /a\n1 3\ntest \nfile /a\n1 2\ntest t\nfile /a\n1 1\n";
  EXPECT_EQ(text_of(sum(named, plain)), expected);
  EXPECT_EQ(text_of(sum(plain, named)), expected);
  EXPECT_EQ(text_of(sum(named, named)), "file /a\n1 2\ntest t\nfile /a\n1 2\n");
}

TEST(Coverage, TotalsCountExecutedItems) {
  FileCoverage file = file_of({1, 0, 4}, {{0, false, false}, {2, false, false}});
  file.functions = {{"f", 1, 0, 0}, {"g", 2, 0, 1}, {"h", 3, 0, 1}};
  file.conditions = {{2, 0b11, 0b01}};
  file.lines.back().last_condition = 1;
  Coverage all;
  all.files = {file, file};
  all.files[1].path = "/b";
  const CoverageTotals totals = totals_of(all);
  EXPECT_EQ(totals.lines, 6u);
  EXPECT_EQ(totals.lines_executed, 4u);
  EXPECT_EQ(totals.functions, 6u);
  EXPECT_EQ(totals.functions_executed, 4u);
  EXPECT_EQ(totals.branches, 4u);
  EXPECT_EQ(totals.branches_taken, 2u);
  EXPECT_EQ(totals.outcomes, 8u);
  EXPECT_EQ(totals.outcomes_covered, 6u);
}

TEST(Coverage, CostsAreExecutions) {
  FileCoverage file = file_of({1, 0, 4});
  file.functions = {{"f", 1, 1, 1}, {"g", 2, 0, 1}};
  Coverage all;
  all.files = {file};
  const auto costs = costs_of(all);
  ASSERT_TRUE(costs) << costs.error().text();
  EXPECT_EQ(costs->cost_count(), 3u);
}

} // namespace
} // namespace tally::transform_coverage_test
