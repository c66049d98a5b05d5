// Tests the difference of two readings of one program's counters.
#include <algorithm>
#include <cstdint>
#include <random>
#include <utility>

#include <gtest/gtest.h>

#include "model/coverage.h"

namespace tally::model_coverage_test {
namespace {

// Returns a file with one line, on which there is one of everything.
Coverage one_line(const LineCoverage &like, int64_t count, uint64_t bits) {
  FileCoverage file;
  file.path = "/f.c";
  LineCoverage line = like;
  line.line = 5;
  line.last_branch = line.last_condition = 1;
  file.lines = {line};
  file.branches = {{count}};
  file.conditions = {{2, bits, bits}};
  file.functions = {{"f", 5, 5, like.count, false, like.uncertain}};
  Coverage out;
  out.files.push_back(std::move(file));
  return out;
}

TEST(CoverageSince, HoldsTheTruthBetweenItsBounds) {
  std::mt19937 random(5);
  for (int round = 0; round < 20'000; ++round) {
    const auto any = [&] { return static_cast<int64_t>(random() % 9); };
    const LineCoverage old{.count = any(), .uncertain = any() % 4};
    const LineCoverage now{.count = old.count + any(), .uncertain = any() % 4};
    // Counts never decrease.
    const int64_t before = old.count + any() % (old.uncertain + 1);
    const int64_t after =
        std::max(before, now.count + static_cast<int64_t>(random()) % (now.uncertain + 1));
    if (after > now.count + now.uncertain)
      continue;
    const Coverage since = coverage_since(one_line(now, 0, 0), one_line(old, 0, 0));
    const LineCoverage &line = since.files[0].lines[0];
    ASSERT_LE(line.count, after - before) << round;
    ASSERT_GE(line.count + line.uncertain, after - before) << round;
    ASSERT_EQ(since.files[0].functions[0].count, line.count);
    ASSERT_EQ(since.files[0].functions[0].uncertain, line.uncertain);
  }
}

TEST(CoverageSince, IsUncertainNearTheLargestCount) {
  const auto since = [](const LineCoverage &now, const LineCoverage &old) {
    const Coverage out = coverage_since(one_line(now, 0, 0), one_line(old, 0, 0));
    return std::pair(out.files[0].lines[0].count, out.files[0].lines[0].uncertain);
  };
  constexpr int64_t most = INT64_MAX;
  EXPECT_EQ(since({.count = most}, {.count = 4, .uncertain = 5}), std::pair(most - 9, int64_t{5}));
  EXPECT_EQ(since({.count = most - 2, .uncertain = 5}, {.count = 4, .uncertain = 5}),
            std::pair(most - 11, int64_t{10}));
  EXPECT_EQ(since({.count = 9, .uncertain = most}, {.count = 4}), std::pair(int64_t{5}, most));
  EXPECT_EQ(since({.count = 9}, {.count = 4, .uncertain = most}),
            std::pair(int64_t{0}, int64_t{5}));
}

TEST(CoverageSince, ShowsWhatRanForCertain) {
  const LineCoverage line{.count = 9};
  const Coverage exact = coverage_since(one_line(line, 9, 3), one_line(line, 4, 1));
  const FileCoverage &file = exact.files[0];
  EXPECT_EQ(file.branches[0].count, 5);
  EXPECT_EQ(file.conditions[0].when_true, 2u);
  EXPECT_EQ(file.conditions[0].when_false, 2u);
}

// The earlier count has an uncertain rest, which may contain everything that ran until now.
TEST(CoverageSince, ShowsNothingThatMayHaveRunBefore) {
  for (const int64_t uncertain : {int64_t{5}, INT64_MAX}) {
    const LineCoverage old{.count = 4, .uncertain = uncertain};
    const Coverage since = coverage_since(one_line({.count = 9}, 9, 3), one_line(old, 4, 1));
    const FileCoverage &file = since.files[0];
    EXPECT_EQ(file.lines[0].count, 0);
    EXPECT_EQ(file.branches[0].count, 0);
    EXPECT_EQ(file.conditions[0].when_true, 0u);
    EXPECT_EQ(file.conditions[0].when_false, 0u);
  }
}

} // namespace
} // namespace tally::model_coverage_test
