#include <gtest/gtest.h>

#include <random>

#include <fmt/format.h>

#include "coverage/baseline_rule.h"

namespace tally::coverage_baseline_test {
namespace {

using baseline::Baseline;
using baseline::Record;
using baseline::Share;
using Of = CoverageLoss::Of;

constexpr std::string_view head = "tally-coverage-baseline 1\n";

Result<Baseline> read(std::string_view text) {
  return baseline::read(*ByteSource::of(text, "base"));
}
Result<Baseline> read_rows(std::string_view text) { return read(std::string(head).append(text)); }

FileCoverage file_of(std::string path, Share lines, Share branches = {}) {
  FileCoverage out;
  out.path = "/root/" + std::move(path);
  for (uint32_t i = 0; i < lines.all; ++i)
    out.lines.push_back({i + 1, i < lines.ran});
  for (uint32_t i = 0; i < branches.all; ++i)
    out.branches.push_back({i < branches.ran, false, false});
  if (!out.lines.empty())
    out.lines[0].last_branch = static_cast<uint32_t>(branches.all);
  return out;
}

BaselineComparison compared(const Coverage &coverage, const Baseline &before,
                            std::optional<double> least_of_new = {},
                            const std::string &there = {}) {
  BaselineOptions options{.root = "/root",
                          .least_of_new = least_of_new,
                          .exists = [&](const std::string &path) { return path == there; }};
  return compare_with_baseline(coverage, before, options);
}

// Returns "src/a.c", "src/", "total", "a.c new", with " branches" after those of branches.
std::vector<std::string> names_of(const std::vector<CoverageLoss> &losses) {
  std::vector<std::string> out;
  for (const CoverageLoss &loss : losses)
    out.push_back(fmt::format("{}{}{}", loss.of == Of::total ? "total" : loss.path,
                              loss.of == Of::new_file ? " new" : "",
                              loss.branches ? " branches" : ""));
  return out;
}
using Names = std::vector<std::string>;

TEST(BaselineFile, ReadsWhatItWrites) {
  const Baseline all{{"a.c", {{1, 2}, {}}},
                     {"b/\"quoted\".c", {{0, 1}, {2, 2}}},
                     {"\"first", {{1, 1}, {}}},
                     {"line\nbreak\\\x7F", {{4294967295, 4294967295}, {0, 1}}},
                     {"end a.c", {{1, 2}, {}}},
                     {" blanks ", {{1, 2}, {}}},
                     {"/usr/include/x.h", {{1, 2}, {}}}};
  const std::string text = baseline::write(all);
  const auto again = read(text);
  ASSERT_TRUE(again) << again.error().text();
  EXPECT_EQ(*again, all);
  EXPECT_NE(text.find("file \"line\\012break\\\\\\177\"\n"), text.npos) << text;
  EXPECT_NE(text.find("file b/\"quoted\".c\n"), text.npos) << text;
}

TEST(BaselineFile, TakesTheLowerRequirementOfAUnion) {
  const auto union_of =
      read_rows("end b\nlines 3 of 4, branches 1 of 2: a\nlines 1 of 2, branches 1 of 1: b\n"
                "file a\nlines 2 of 4, branches 2 of 2: a\nlines 2 of 4: b\nfile c\n");
  ASSERT_TRUE(union_of) << union_of.error().text();
  EXPECT_EQ(*union_of, (Baseline{{"a", {{2, 4}, {1, 2}}}, {"b", {{2, 4}, {}}}}));
}

TEST(BaselineFile, SaysWhereItIsWrong) {
  const auto error = [](std::string_view text) {
    const auto found = read(text);
    return found ? "none" : found.error().text();
  };
  const auto in_rows = [](std::string_view text) {
    const auto found = read_rows(text);
    return found ? "none" : found.error().text();
  };
  EXPECT_EQ(error(""), "base:1:1: is empty: expected 'tally-coverage-baseline 1'");
  EXPECT_EQ(error("TN:\n"), "base:1:1: is not a coverage baseline: expected "
                            "'tally-coverage-baseline 1', found 'TN:'");
  EXPECT_EQ(error("tally-coverage-baseline 12\n"),
            "base:1:25: expected version 1 of the format, found 12");
  EXPECT_EQ(in_rows("lines 1 of 2"),
            "base:2:13: expected ', branches ' or ': ' and a path, found ''");
  EXPECT_EQ(in_rows("file a"), "base:2:1: truncated: the last line has no line break");
  EXPECT_EQ(in_rows("file \n"), "base:2:6: expected a path");
  EXPECT_EQ(in_rows("file\n"), "base:2:1: expected file, lines or end, found 'file'");
  EXPECT_EQ(in_rows("lines x of 2\n"),
            "base:2:7: expected a number from 0 to 4294967295, found 'x of 2'");
  EXPECT_EQ(in_rows("lines 1/2\n"), "base:2:8: expected ' of ', found '/2'");
  EXPECT_EQ(in_rows("lines 1 of 0: a\n"),
            "base:2:12: expected a number from 1 to 4294967295, found '0: a'");
  EXPECT_EQ(in_rows("lines 1 of 2 : a\n"),
            "base:2:13: expected ', branches ' or ': ' and a path, found ' : a'");
  EXPECT_EQ(in_rows("lines 1 of 4294967296: a\n"),
            "base:2:12: expected a number from 1 to 4294967295, found '4294967296: a'");
  EXPECT_EQ(in_rows("lines 1 of 2, branches 3 of 2: a\n"), "base:2:24: 3 is more than 2");
  EXPECT_EQ(in_rows("lines 1 of 2, branches 1 of 2, a\n"),
            "base:2:30: expected ': ' and a path, found ', a'");
  EXPECT_EQ(in_rows("lines 1 of 2: \n"), "base:2:15: expected a path");
  EXPECT_EQ(in_rows("file \"a\\8\"\n"),
            "base:2:8: expected \\\\, \\\" or three octal digits after \\");
  EXPECT_EQ(in_rows("file \"a\n"), "base:2:8: expected '\"' at the end of the path");
  EXPECT_EQ(in_rows("file \"a\" b\n"), "base:2:9: expected the end of the line, found ' b'");
  EXPECT_EQ(in_rows("file a\n<<<<<<< HEAD\n"),
            "base:3:1: a merge left a conflict here: keep either side, or both without the "
            "markers");
}

TEST(BaselineRule, RemovingCodeIsNoLoss) {
  const Baseline before{{"a.c", {{9, 10}, {}}}};
  EXPECT_EQ(names_of(compared({{file_of("a.c", {8, 10})}, {}}, before).losses),
            (Names{"a.c", "total"}));
  // Eight lines that ran are gone, and the percentage is smaller.
  EXPECT_TRUE(compared({{file_of("a.c", {1, 2})}, {}}, before).losses.empty());
  // More lines did not run, but the percentage is the same.
  EXPECT_TRUE(compared({{file_of("a.c", {18, 20})}, {}}, before).losses.empty());
  EXPECT_EQ(names_of(compared({{file_of("a.c", {17, 19})}, {}}, before).losses),
            (Names{"a.c", "total"}));
}

TEST(BaselineRule, ComparesBranchesWhereTheBaselineHasThem) {
  const Coverage now{{file_of("a.c", {5, 5}, {1, 4})}, {}};
  EXPECT_TRUE(compared(now, {{"a.c", {{5, 5}, {}}}}).losses.empty());
  EXPECT_EQ(names_of(compared(now, {{"a.c", {{5, 5}, {2, 4}}}}).losses),
            (Names{"a.c branches", "total branches"}));
  const auto without = compared({{file_of("a.c", {5, 5})}, {}}, {{"a.c", {{5, 5}, {2, 4}}}});
  EXPECT_TRUE(without.losses.empty());
  EXPECT_TRUE(without.misses_branches);
  EXPECT_EQ(without.next, (Baseline{{"a.c", {{5, 5}, {2, 4}}}}));
}

TEST(BaselineRule, SumsDirectories) {
  const Baseline before{
      {"lib/x/a.c", {{5, 10}, {}}}, {"lib/x/b.c", {{5, 10}, {}}}, {"src/c.c", {{10, 10}, {}}}};
  // b.c gains more than a.c loses.
  EXPECT_EQ(names_of(compared({{file_of("lib/x/a.c", {4, 10}), file_of("lib/x/b.c", {7, 10}),
                                file_of("src/c.c", {10, 10})},
                               {}},
                              before)
                         .losses),
            (Names{"lib/x/a.c"}));
  // lib/ has the same files as lib/x/ and is left out.
  EXPECT_EQ(names_of(compared({{file_of("lib/x/a.c", {3, 10}), file_of("lib/x/b.c", {6, 10}),
                                file_of("src/c.c", {11, 11})},
                               {}},
                              before)
                         .losses),
            (Names{"lib/x/a.c", "lib/x/", "total"}));
}

TEST(BaselineRule, NewFilesCountInSumsOrHaveAThreshold) {
  const Baseline before{{"src/a.c", {{10, 10}, {}}}, {"b.c", {{1, 1}, {}}}};
  const Coverage now{
      {file_of("b.c", {1, 1}), file_of("src/a.c", {10, 10}), file_of("src/new.c", {4, 5})}, {}};
  EXPECT_EQ(names_of(compared(now, before).losses), (Names{"src/", "total"}));
  EXPECT_TRUE(compared(now, before, 80).losses.empty());
  EXPECT_EQ(names_of(compared(now, before, 80.1).losses), (Names{"src/new.c new"}));
  const auto found = compared(now, before, 0);
  EXPECT_EQ(found.added, 1U);
  EXPECT_TRUE(found.next.contains("src/new.c"));
  // In a directory of new files there is nothing to compare with.
  EXPECT_EQ(names_of(compared({{file_of("b.c", {1, 1}), file_of("more/new.c", {0, 5}),
                                file_of("more/new2.c", {5, 5}), file_of("src/a.c", {10, 10})},
                               {}},
                              before)
                         .losses),
            (Names{"total"}));
}

TEST(BaselineRule, FilesThatAreGoneLeaveUnlessTheRunIsPartial) {
  const Baseline before{{"a.c", {{1, 2}, {}}}, {"b.c", {{9, 9}, {}}}, {"c.c", {{9, 9}, {}}}};
  const Coverage now{{file_of("a.c", {1, 2})}, {}};
  const auto gone = compared(now, before);
  EXPECT_TRUE(gone.losses.empty() && gone.without_counts.empty());
  EXPECT_EQ(gone.removed, 2U);
  EXPECT_EQ(gone.next, (Baseline{{"a.c", {{1, 2}, {}}}}));
  const auto partial = compared(now, before, {}, "c.c");
  EXPECT_TRUE(partial.losses.empty());
  EXPECT_EQ(partial.without_counts, Names{"c.c"});
  EXPECT_EQ(partial.next, before);
  EXPECT_EQ(std::pair(partial.removed, partial.gone_but_kept), std::pair(size_t{0}, size_t{1}));
  // What does not run at all has fallen, and is named as a sign of a partial run.
  const auto not_run = compared({{file_of("a.c", {0, 2})}, {}}, before);
  EXPECT_EQ(names_of(not_run.losses), (Names{"a.c", "total"}));
  EXPECT_EQ(not_run.without_counts, Names{"a.c"});
}

TEST(BaselineRule, KeepsWhatTheFilterLeavesOut) {
  const Baseline before{{"a.c", {{1, 2}, {}}}, {"sub/b.c", {{9, 9}, {}}}};
  const auto filter = PathFilter::make({}, {"^sub/"});
  ASSERT_TRUE(filter);
  BaselineOptions options{
      .root = "/root", .filter = &*filter, .exists = [](const std::string &) { return true; }};
  const auto found = compare_with_baseline({{file_of("a.c", {2, 2})}, {}}, before, options);
  EXPECT_TRUE(found.losses.empty() && found.without_counts.empty());
  EXPECT_EQ(found.next, (Baseline{{"a.c", {{2, 2}, {}}}, {"sub/b.c", {{9, 9}, {}}}}));
  EXPECT_EQ(found.raised, 1U);
}

// After an update the same coverage has not fallen, and never rises above itself. A second update
// changes nothing.
TEST(BaselineRule, AnUpdateIsAFixedPoint) {
  std::mt19937 random(1);
  const auto number = [&](unsigned below) { return static_cast<unsigned>(random() % below); };
  for (int round = 0; round < 2000; ++round) {
    Baseline before;
    Coverage now;
    for (const char *path : {"a.c", "b/c.c", "b/d.c", "b/e/f.c"}) {
      const uint64_t lines = 1 + number(6), branches = number(4);
      if (number(4) != 0)
        before[path] = {{number(static_cast<unsigned>(lines) + 1), lines},
                        {number(static_cast<unsigned>(branches) + 1), branches}};
      const uint64_t lines_now = 1 + number(6), branches_now = number(4);
      if (number(4) != 0)
        now.files.push_back(
            file_of(path, {number(static_cast<unsigned>(lines_now) + 1), lines_now},
                    {number(static_cast<unsigned>(branches_now) + 1), branches_now}));
    }
    const auto found = compared(now, before);
    if (!found.losses.empty())
      continue;
    const auto again = compared(now, found.next);
    EXPECT_EQ(names_of(again.losses), Names());
    EXPECT_EQ(again.next, found.next);
    EXPECT_EQ(again.raised + again.changed + again.added + again.removed, 0U);
    EXPECT_EQ(found.raised + found.changed + found.added + found.removed > 0, found.next != before);
  }
}

TEST(BaselineRule, ReachesExactPercentages) {
  EXPECT_TRUE(reaches(161, 1000, 16.1));
  EXPECT_FALSE(reaches(160, 1000, 16.1));
  EXPECT_TRUE(reaches(0, 7, 0));
}

} // namespace
} // namespace tally::coverage_baseline_test
