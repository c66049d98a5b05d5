// Tests coverage as a profile of executions.
#include <map>

#include <gtest/gtest.h>

#include "random_coverage.h"
#include "transform/coverage_costs.h"

namespace tally::transform_coverage_costs_test {
namespace {

// Returns a file with the lines 1 to `last`, each with a count of 100 + its number.
FileCoverage file_of(std::vector<FunctionCoverage> functions, uint32_t last) {
  FileCoverage out;
  out.path = "/a.c";
  for (uint32_t line = 1; line <= last; ++line)
    out.lines.push_back({.line = line, .count = 100 + line});
  out.functions = std::move(functions);
  return out;
}

struct Row {
  std::string function;
  uint64_t cost = 0;
  friend bool operator==(const Row &, const Row &) = default;
};
using Rows = std::map<std::pair<std::string, uint32_t>, Row>; // by file and line

// Returns the rows. Each line has one, even if it did not run.
Rows rows_of(const Coverage &coverage) {
  Rows out;
  const auto profile = costs_of(coverage);
  EXPECT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->events().size(), 1u);
  EXPECT_EQ(profile->strings[profile->events()[0].name], "Executions");
  EXPECT_EQ(profile->call_count() + profile->jump_count(), 0u);
  for (const CostBlock &block : profile->blocks())
    for (uint32_t row = block.first_cost; row < block.last_cost; ++row) {
      const CostFunction &function = profile->functions()[block.function];
      EXPECT_EQ(function.file, block.file);
      uint64_t cost = 0;
      profile->costs().get(row, std::span(&cost, 1));
      const bool added =
          out.try_emplace({std::string(profile->strings[profile->files()[block.file]]),
                           profile->cost_position(row).line},
                          Row{std::string(profile->strings[function.name]), cost})
              .second;
      EXPECT_TRUE(added) << "a line has two rows";
    }
  return out;
}

// Returns a letter for the owner of each line, or '-' if there is none.
std::string owners(std::vector<FunctionCoverage> functions, uint32_t last) {
  Coverage coverage;
  coverage.files.push_back(file_of(std::move(functions), last));
  std::string out;
  for (const auto &[location, row] : rows_of(coverage)) {
    out += row.function.empty() || row.function == "???" ? "-" : row.function;
    EXPECT_EQ(row.cost, 100 + location.second);
  }
  return out;
}

TEST(CoverageCosts, GivesAFunctionItsLines) {
  EXPECT_EQ(owners({}, 3), "---");
  EXPECT_EQ(owners({{"a", 2, 3, 1}, {"b", 5, 5, 1}}, 6), "-aa-b-");
}

TEST(CoverageCosts, GivesNestedFunctionsTheirLines) {
  EXPECT_EQ(owners({{"a", 1, 9, 1}, {"b", 3, 6, 1}, {"c", 4, 5, 1}}, 10), "aabccbaaa-");
  EXPECT_EQ(owners({{"a", 1, 5, 1}, {"b", 3, 5, 1}}, 6), "aabbb-"); // both end in one line
  EXPECT_EQ(owners({{"a", 1, 9, 1}, {"b", 3, 4, 1}, {"c", 4, 7, 1}}, 9), "aabccccaa");
}

TEST(CoverageCosts, GuessesAnUnknownEnd) {
  EXPECT_EQ(owners({{"a", 2, 0, 1}, {"b", 4, 0, 1}}, 6), "-aabbb");   // up to the next function
  EXPECT_EQ(owners({{"a", 1, 0, 1}, {"b", 3, 4, 1}}, 6), "aabb--");   // the next one has an end
  EXPECT_EQ(owners({{"a", 1, 6, 1}, {"b", 3, 0, 1}}, 8), "aabbbb--"); // or to the outer one's end
  EXPECT_EQ(owners({{"a", 1, 9, 1}, {"b", 3, 0, 1}, {"c", 5, 6, 1}}, 9), "aabbccaaa");
}

TEST(CoverageCosts, AcceptsInvalidEnds) {
  EXPECT_EQ(owners({{"a", 3, 1, 1}}, 4), "----");                   // ends before it begins
  EXPECT_EQ(owners({{"a", 1, 4, 1}, {"b", 3, 9, 1}}, 6), "aabbbb"); // ends beyond the outer one
}

TEST(CoverageCosts, GivesLinesToTheFirstInstance) {
  EXPECT_EQ(owners({{"a", 2, 4, 1}, {"b", 2, 4, 1}, {"c", 2, 4, 1}}, 5), "-aaa-");
  EXPECT_EQ(owners({{"a", 2, 0, 1}, {"b", 2, 0, 1}, {"c", 4, 0, 1}}, 5), "-aacc");
}

TEST(CoverageCosts, ReadsNegativeCountsAsOneExecution) {
  Coverage coverage;
  coverage.files.push_back(file_of({{"a", 1, 9, 1}}, 3));
  coverage.files[0].lines[0].count = -7;
  coverage.files[0].lines[1].count = 0;
  coverage.files[0].lines[2].count = INT64_MAX;
  const Rows rows = rows_of(coverage);
  EXPECT_EQ(rows.at({"/a.c", 1}), (Row{"a", 1}));
  EXPECT_EQ(rows.at({"/a.c", 2}), (Row{"a", 0}));
  EXPECT_EQ(rows.at({"/a.c", 3}), (Row{"a", static_cast<uint64_t>(INT64_MAX)}));
}

TEST(CoverageCosts, RefusesASumThatDoesNotFit) {
  Coverage coverage;
  coverage.files.push_back(file_of({}, 3));
  for (LineCoverage &line : coverage.files[0].lines)
    line.count = INT64_MAX;
  const auto costs = costs_of(coverage);
  ASSERT_FALSE(costs);
  EXPECT_EQ(costs.error().code, ErrorCode::overflow);
}

TEST(CoverageCosts, AcceptsEmptyCoverage) { EXPECT_TRUE(rows_of(Coverage()).empty()); }

// Checks the rule of the header line by line: the owner is the last function that contains the
// line.
TEST(CoverageCosts, GivesEachLineToTheInnermostFunction) {
  Random random(5);
  for (int round = 0; round < rounds(300); ++round) {
    const Coverage coverage = random_coverage(random, {.negative = true});
    const Rows rows = rows_of(coverage);
    size_t lines = 0;
    for (const FileCoverage &file : coverage.files) {
      std::vector<FunctionCoverage> first; // the first of those that begin in one line
      for (const FunctionCoverage &function : file.functions)
        if (first.empty() || first.back().start_line != function.start_line)
          first.push_back(function);
      // A function without an end reaches up to the next one, but not beyond the one that it begins
      // in.
      std::vector<uint32_t> last;
      for (size_t i = 0; i < first.size(); ++i) {
        last.push_back(first[i].end_line);
        if (first[i].end_line != 0)
          continue;
        last[i] = i + 1 < first.size() ? first[i + 1].start_line - 1 : UINT32_MAX;
        for (size_t outer = i; outer-- > 0;)
          if (last[outer] >= first[i].start_line) {
            last[i] = std::min(last[i], last[outer]);
            break;
          }
      }
      for (const LineCoverage &line : file.lines) {
        ++lines;
        const Row &row = rows.at({file.path, line.line});
        EXPECT_EQ(row.cost, static_cast<uint64_t>(times_run(line.count)));
        std::string expected;
        for (size_t i = 0; i < first.size(); ++i)
          if (first[i].start_line <= line.line && line.line <= last[i])
            expected = first[i].name;
        EXPECT_EQ(row.function == "???" ? "" : row.function, expected) << file.path << line.line;
      }
    }
    EXPECT_EQ(rows.size(), lines);
  }
}

} // namespace
} // namespace tally::transform_coverage_costs_test
