// Tests the conversion of an object's counts to coverage of its sources.
#include <gtest/gtest.h>

#include "../support/coverage_text.h"
#include "coverage/coverage_of.h"
#include "coverage/source_function.h"

namespace tally::coverage_of_test {
namespace {

// Builds the functions of one source, and their lines, which are counted for each function apart.
class Object {
public:
  Object() { counts_.files.push_back({"/f.c", {}, {}}); }

  GraphFunctionId function(std::string_view name, uint32_t line, uint32_t column, int64_t count,
                           bool inexact = false) {
    GraphFunction function;
    function.name = graph_.strings.intern(name);
    function.start_line = function.end_line = line;
    function.start_column = column;
    const auto id = static_cast<GraphFunctionId>(graph_.functions.size());
    graph_.functions.push(function);
    counts_.files[0].functions.push_back({id, 1, 1, count, inexact});
    return id;
  }
  void line(GraphFunctionId function, uint32_t number, int64_t count, int64_t at_least,
            const std::vector<int64_t> &branches = {}) {
    GcovLine line;
    line.line = number;
    line.count = count;
    line.at_least = at_least;
    line.function = function;
    line.first_branch = static_cast<uint32_t>(counts_.branches.size());
    for (const int64_t branch : branches)
      counts_.branches.push_back({branch});
    line.last_branch = static_cast<uint32_t>(counts_.branches.size());
    counts_.files[0].lines.push_back(line);
  }
  Coverage coverage() const {
    Diagnostics diagnostics;
    auto out = coverage_of(graph_, counts_, diagnostics);
    EXPECT_TRUE(out && diagnostics.findings().empty());
    return std::move(*out);
  }

private:
  CoverageGraph graph_;
  GcovCounts counts_;
};

TEST(CoverageOf, MergesBranchesOfInstancesOnly) {
  Object object;
  object.line(object.function("_Z3twoi", 2, 1, 1), 2, 1, 1, {1, 0}); // both are of one macro
  object.line(object.function("_Z3onei", 2, 1, 1), 2, 1, 1, {0, 1});
  object.line(object.function("four", 3, 48, 1), 3, 1, 1, {1, 0});
  object.line(object.function("three", 3, 5, 1), 3, 1, 1, {0, 1});
  object.line(object.function("_Z4instIlEiT_", 4, 24, 1), 4, 1, 1, {1, 0});
  object.line(object.function("_Z4instIiEiT_", 4, 24, 1), 4, 1, 1, {0, 1, 5});
  object.line(object.function("_ZN1DC1Ei", 9, 1, 1), 9, 1, 1, {0, 1});
  object.line(object.function("_ZN1DC2Ei", 9, 1, 1), 9, 1, 1, {1, 0});
  EXPECT_EQ(text_of(object.coverage()),
            "file /f.c\n"
            "function _Z3onei 2-2 1\nfunction _Z3twoi 2-2 1\n"
            "function four 3-3 1\nfunction three 3-3 1\n"
            "function _Z4instIiEiT_ 4-4 1\nfunction _Z4instIlEiT_ 4-4 1\n"
            "function _ZN1DC2Ei 9-9 2\n"
            "2 2 0 1 1 0\n3 2 0 1 1 0\n4 2 1 1 5\n9 2 1 1\n");
}

TEST(CoverageOf, MergesTheVariantsOfAConstructor) {
  Object object;
  object.function("_ZN4BaseD0Ev", 8, 1, 0);
  object.function("_ZN4BaseD2Ev", 8, 1, 2);
  object.function("_ZN1DD0Ev", 10, 1, 1);
  object.function("_ZN1DD1Ev", 10, 1, 1);
  object.function("_ZN1DD2Ev", 10, 1, 1);
  object.function("_ZN2E2C1Ei", 11, 1, 1);
  object.line(object.function("_ZN1C2D0Ev", 12, 1, 1), 12, 1, 1); // D0 is a function's name here
  EXPECT_EQ(text_of(object.coverage()),
            "file /f.c\nfunction _ZN4BaseD2Ev 8-8 2\nfunction _ZN1DD2Ev 10-10 3\n"
            "function _ZN2E2C2Ei 11-11 1\nfunction _ZN1C2D0Ev 12-12 1\n12 1\n");
}

TEST(CoverageOf, TreatsANegativeCountAsRun) {
  Object object;
  object.line(object.function("f", 1, 1, -7, true), 1, -7, 1, {-2, 0});
  const GraphFunctionId g = object.function("g", 3, 1, 0, true);
  object.line(g, 3, 0, 1); // some block of the line ran
  object.line(g, 4, 0, 0);
  object.line(g, 5, -3, 0);
  object.line(object.function("h", 6, 1, 2), 6, 2, 2);
  const Coverage coverage = object.coverage();
  EXPECT_EQ(text_of(coverage), "file /f.c\nfunction f 1-1 1\nfunction g 3-3 1\nfunction h 6-6 2\n"
                               "1 1 1 0\n3 1\n4 0\n5 1\n6 2\n");
  const auto inexact = inexact_functions(coverage);
  ASSERT_TRUE(inexact);
  EXPECT_EQ(inexact->find("negative counts in 2 functions, whose counts are not exact: "
                          "f (/f.c:1), g (/f.c:3);"),
            0u)
      << *inexact;
}

TEST(SourceFunction, NamesInstancesAlike) {
  EXPECT_EQ(source_function("main"), "main");
  EXPECT_EQ(source_function("_Z4instIlEiT_"), "inst");            // int inst<long>(long)
  EXPECT_EQ(source_function("_ZN1VIiE4pushERKi"), "V::push");     // V<int>::push(int const&)
  EXPECT_EQ(source_function("_Z3onei"), "one(int)");              // not a template
  EXPECT_EQ(source_function("_Zeq1VIiES0_"), "operator==(V, V)"); // operator==(V<int>, V<int>)
  EXPECT_EQ(source_function("_ZlsIiERSoS0_1VIT_E"), "operator<< ");
  EXPECT_EQ(source_function("_ZN12_GLOBAL__N_11fEi"), "(anonymous namespace)::f(int)");
  EXPECT_EQ(source_function("_ZNK1AclEi"), "A::operator()(int) const");
  EXPECT_EQ(source_function("_ZNK1AcviEv"), "A::operator int() const");
  // Lambdas: in a template, with a template parameter, and in no template.
  EXPECT_EQ(source_function("_ZZ1fIiEiT_ENKUlvE_clEv"), source_function("_ZZ1fIcEiT_ENKUlvE_clEv"));
  EXPECT_EQ(source_function("_ZZ4mainENKUlT_E_clIiEEDaS_"),
            source_function("_ZZ4mainENKUlT_E_clIlEEDaS_"));
  EXPECT_NE(source_function("_ZZ4mainENKUlvE_clEv"), source_function("_ZZ4mainENKUlvE0_clEv"));
  EXPECT_NE(source_function("_ZN1AC2Ev"), source_function("_ZN1AD2Ev"));
  EXPECT_EQ(source_function("_ZN1AC1Ev"), source_function("_ZN1AC2Ev"));
}

} // namespace
} // namespace tally::coverage_of_test
