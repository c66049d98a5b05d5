// Tests the counts of functions that threads are in.
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "coverage/gcov_counts.h"

namespace tally::coverage_open_functions_test {
namespace {

constexpr uint32_t tree = arc_on_tree;

// Returns the graph of two functions of which each has one block, on the same line.
CoverageGraph two_functions_on_a_line() {
  CoverageGraph graph;
  graph.lines = {5};
  for (uint32_t i = 0; i < 2; ++i) {
    GraphFunction function;
    function.name = graph.strings.intern(i == 0 ? "f" : "g");
    function.file = graph.strings.intern("f.c");
    function.start_line = 4 + i;
    function.end_line = 5;
    function.block_count = 3;
    function.exit_block = 1;
    function.first_arc = 2 * i;
    function.last_arc = 2 * (i + 1);
    function.first_location = i;
    function.last_location = i + 1;
    graph.arcs.insert(graph.arcs.end(), {{0, 2, tree}, {2, 1, 0}});
    graph.locations.push_back({2, function.file, 0, 1});
    graph.functions.push(function);
  }
  return graph;
}

GcovCounts counted_inside(const CoverageGraph &graph, const OpenFrame &like, Diagnostics &found,
                          const std::vector<int64_t> &values = {7, 9}) {
  CoverageCounters counters;
  counters.values = values;
  counters.of = {{0, 1, true}, {1, 2, true}};
  std::vector<OpenFrame> frames(2, like);
  frames[1].function = GraphFunctionId{1};
  GcovOptions options;
  options.frames = frames;
  return count_as_gcov(graph, counters, "f.gcno", found, options);
}

TEST(OpenFunctions, MakeALineOfTwoFunctionsUnbounded) {
  Diagnostics found;
  const GcovCounts counts =
      counted_inside(two_functions_on_a_line(),
                     {.file = "f.c", .line = 5, .optimized = true, .in_registers = true}, found);
  EXPECT_TRUE(found.findings().empty()) << found.findings()[0].text();
  ASSERT_EQ(counts.files[0].lines.size(), 1u);
  EXPECT_EQ(counts.files[0].lines[0].uncertain, INT64_MAX);
}

// The counters of the entry are moved and kept in registers like all others.
TEST(OpenFunctions, MakeCallsAsUncertainAsLines) {
  Diagnostics found;
  const CoverageGraph graph = two_functions_on_a_line();
  OpenFrame frame{.file = "f.c", .line = 5};
  const auto range = [&](size_t function) {
    const GcovCounts counts = counted_inside(graph, frame, found);
    const GcovFunction &row = counts.files[0].functions[function];
    return std::pair(row.execution_count, row.uncertain);
  };
  EXPECT_EQ(range(0), std::pair(INT64_C(7), INT64_C(1)));
  EXPECT_EQ(range(1), std::pair(INT64_C(9), INT64_C(1)));
  frame.optimized = true;
  EXPECT_EQ(range(0), std::pair(INT64_C(6), INT64_C(3)));
  EXPECT_EQ(range(1), std::pair(INT64_C(8), INT64_C(3)));
  frame.in_registers = true;
  EXPECT_EQ(range(0), std::pair(INT64_C(6), INT64_MAX));
  EXPECT_EQ(range(1), std::pair(INT64_C(8), INT64_MAX));
}

TEST(OpenFunctions, CountALineThatHasRun) {
  Diagnostics found;
  const CoverageGraph graph = two_functions_on_a_line();
  OpenFrame frame{.file = "dir/f.c", .line = 5, .optimized = true, .has_run = true};
  const auto range = [&](const std::vector<int64_t> &values) {
    const GcovCounts counts = counted_inside(graph, frame, found, values);
    const GcovFunction &row = counts.files[0].functions[0];
    const GcovLine &line = counts.files[0].lines[0];
    return std::array{row.execution_count, row.uncertain, line.count, line.uncertain};
  };
  EXPECT_EQ(range({1, 0}), (std::array<int64_t, 4>{1, 2, 2, 3}));
  frame.has_run = false;
  EXPECT_EQ(range({1, 0}), (std::array<int64_t, 4>{0, 3, 0, 5}));
}

} // namespace
} // namespace tally::coverage_open_functions_test
