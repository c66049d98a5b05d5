// Tests which sources count, and which of their lines.
#include <gtest/gtest.h>

#include "coverage/exclusion_markers.h"
#include "coverage/path_filter.h"

using namespace tally;

namespace {

TEST(PathFilter, SelectsFilesBelowTheRootByDefault) {
  const PathFilter filter;
  EXPECT_TRUE(filter.wants("src/a.cpp"));
  EXPECT_FALSE(filter.wants("/usr/include/stdio.h"));
}

TEST(PathFilter, SearchesPatternsWithoutAnchoring) {
  const auto filter = PathFilter::make({"a\\.cpp$", "include/std"}, {"^src/old"});
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->wants("src/a.cpp"));
  EXPECT_TRUE(filter->wants("/usr/include/stdio.h")); // a filter includes files elsewhere
  EXPECT_FALSE(filter->wants("src/b.cpp"));
  EXPECT_FALSE(filter->wants("src/old/a.cpp")); // an exclude overrides a filter
}

TEST(PathFilter, KeepsTheRootWithExcludesAlone) {
  const auto filter = PathFilter::make({}, {"test"});
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->wants("src/a.cpp"));
  EXPECT_FALSE(filter->wants("tests/a.cpp"));
  EXPECT_FALSE(filter->wants("/elsewhere/a.cpp"));
}

TEST(PathFilter, AcceptsPcre2Syntax) {
  const auto filter = PathFilter::make({"^(?!.*_test)\\w+/.*\\.c(pp|c)?$"}, {});
  ASSERT_TRUE(filter);
  EXPECT_TRUE(filter->wants("src/a.cc"));
  EXPECT_FALSE(filter->wants("src/a_test.cc"));
  EXPECT_TRUE(filter->wants("src/\xff.c")); // paths are bytes
}

TEST(PathFilter, RefusesInvalidPatterns) {
  for (const bool exclude : {false, true}) {
    const std::vector<std::string> bad{"a(b"};
    const auto filter = exclude ? PathFilter::make({}, bad) : PathFilter::make(bad, {});
    ASSERT_FALSE(filter);
    EXPECT_EQ(filter.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(filter.error().source, exclude ? "--exclude" : "--filter");
    EXPECT_NE(filter.error().message.find("'a(b' is not a pattern: "), std::string::npos);
  }
}

struct Found {
  ExcludedLines lines;
  std::vector<std::string> findings;
};
Found found_in(std::string_view source) {
  Diagnostics diagnostics;
  Found out{find_exclusions(source, "a.c", diagnostics), {}};
  for (const Finding &finding : diagnostics.findings())
    out.findings.push_back(finding.text());
  return out;
}
using Ranges = std::vector<LineRange>;

TEST(ExclusionMarkers, AcceptAllThreePrefixes) {
  for (const std::string prefix : {"GCOVR", "GCOV", "LCOV"}) {
    const Found found = found_in("a\nb // " + prefix + "_EXCL_LINE\n// " + prefix +
                                 "_EXCL_START\n\n\n// " + prefix + "_EXCL_STOP\nc\n");
    EXPECT_EQ(found.lines.lines, (Ranges{{2, 2}, {3, 5}})) << prefix;
    EXPECT_TRUE(found.findings.empty());
  }
  EXPECT_TRUE(found_in("XCOV_EXCL_LINE\nEXCL_LINE\n").lines.empty());
}

TEST(ExclusionMarkers, ExcludeBranches) {
  const Found found = found_in("LCOV_EXCL_BR_LINE\nGCOVR_EXCL_BR_START\n\nGCOVR_EXCL_BR_STOP\n"
                               "LCOV_EXCL_EXCEPTION_BR_LINE\n");
  EXPECT_TRUE(found.lines.lines.empty());
  EXPECT_EQ(found.lines.branches, (Ranges{{1, 1}, {2, 3}}));
  EXPECT_EQ(found.lines.throw_branches, (Ranges{{5, 5}}));
}

TEST(ExclusionMarkers, ReportMarkersWithoutAPartner) {
  const Found stop = found_in("\nLCOV_EXCL_STOP\n");
  EXPECT_TRUE(stop.lines.empty());
  EXPECT_EQ(stop.findings,
            std::vector<std::string>{"a.c:2:1: warning: LCOV_EXCL_STOP without a START"});
  const Found start = found_in("\nLCOV_EXCL_START\n\n");
  EXPECT_EQ(start.lines.lines, (Ranges{{2, UINT32_MAX}}));
  EXPECT_EQ(start.findings,
            std::vector<std::string>{"a.c:2:1: warning: LCOV_EXCL_START has no STOP: the rest of "
                                     "the file is excluded"});
  const Found twice = found_in("LCOV_EXCL_START\nLCOV_EXCL_START\nLCOV_EXCL_STOP\n");
  EXPECT_EQ(twice.lines.lines, (Ranges{{1, 2}}));
  EXPECT_EQ(twice.findings.size(), 1u);
  const Found mixed = found_in("LCOV_EXCL_START\nGCOVR_EXCL_STOP\n");
  EXPECT_EQ(mixed.lines.lines, (Ranges{{1, 1}}));
  EXPECT_EQ(mixed.findings.size(), 1u);
  EXPECT_EQ(found_in("LCOV_EXCL_START LCOV_EXCL_STOP\n").lines.lines, Ranges{});
}

TEST(ExclusionMarkers, ReportUnknownMarkers) {
  const Found found = found_in("// GCOVR_EXCL_BR_SOURCE\n// GCOVR_EXCL_BR_WITHOUT_HIT\n");
  EXPECT_TRUE(found.lines.empty());
  EXPECT_EQ(found.findings,
            (std::vector<std::string>{
                "a.c:1:1: warning: GCOVR_EXCL_BR_SOURCE is an unknown marker: nothing is excluded",
                "a.c:2:1: warning: GCOVR_EXCL_BR_WITHOUT_HIT needs two numbers, as in ': 2/6': "
                "nothing is excluded"}));
}

FileCoverage example() {
  FileCoverage file;
  file.path = "/a.c";
  for (uint32_t line = 1; line <= 6; ++line) {
    LineCoverage row;
    row.line = line;
    row.count = line;
    row.first_branch = static_cast<uint32_t>(file.branches.size());
    row.first_condition = static_cast<uint32_t>(file.conditions.size());
    file.branches.push_back({line, true, false});
    file.branches.push_back({0, false, line % 2 == 0});
    file.conditions.push_back({2, 1, line});
    row.last_branch = static_cast<uint32_t>(file.branches.size());
    row.last_condition = static_cast<uint32_t>(file.conditions.size());
    file.lines.push_back(row);
  }
  file.functions = {{"f", 1, 3, 1}, {"g", 4, 6, 4}};
  return file;
}

TEST(Exclude, RemovesLinesWithTheirBranchesAndConditions) {
  FileCoverage file = example();
  ExcludedLines excluded;
  excluded.lines = {{4, 5}};
  exclude(file, excluded);
  ASSERT_EQ(file.lines.size(), 4u);
  EXPECT_EQ(file.lines[3].line, 6u);
  EXPECT_EQ(file.branches.size(), 8u);
  EXPECT_EQ(file.branches_of(file.lines[3])[0].count, 6);
  EXPECT_EQ(file.conditions_of(file.lines[3])[0].when_false, 6u);
  ASSERT_EQ(file.functions.size(), 1u); // g begins in line 4
  EXPECT_EQ(file.functions[0].name, "f");
}

TEST(Exclude, RemovesAllBranchesOrThoseOfExceptions) {
  FileCoverage file = example();
  ExcludedLines excluded;
  excluded.branches = {{1, 1}};
  excluded.throw_branches = {{2, 3}};
  exclude(file, excluded);
  EXPECT_EQ(file.lines.size(), 6u);
  EXPECT_TRUE(file.branches_of(file.lines[0]).empty());
  EXPECT_TRUE(file.conditions_of(file.lines[0]).empty());
  EXPECT_EQ(file.branches_of(file.lines[1]).size(), 1u);
  EXPECT_EQ(file.branches_of(file.lines[2]).size(), 2u); // none of the line's branches throws
  EXPECT_EQ(file.branches_of(file.lines[3]).size(), 2u);
}

TEST(Exclude, DecidesByCounts) {
  FileCoverage file = example();
  file.lines[2].count = 0;
  Found found = found_in("// GCOVR_EXCL_BR_WITHOUT_HIT: 1/2\n// LCOV_UNREACHABLE_START\n\n"
                         "// LCOV_UNREACHABLE_STOP\n// GCOVR_EXCL_BR_WITHOUT_HIT: 0 / 2\n"
                         "// GCOVR_EXCL_BR_WITHOUT_HIT: 2/2\n// LCOV_UNREACHABLE_LINE\n");
  EXPECT_EQ(found.findings.size(), 1u); // the blanks before the slash
  Diagnostics diagnostics;
  decide_by_counts(file, found.lines, diagnostics);
  ASSERT_EQ(diagnostics.findings().size(), 2u);
  EXPECT_EQ(diagnostics.findings()[0].text(),
            "/a.c:2:1: warning: a line that is marked as unreachable ran: it counts");
  EXPECT_EQ(diagnostics.findings()[1].text(),
            "/a.c:6:1: warning: 1 of 2 branches were not taken, but the marker says 2 of 2: "
            "nothing is excluded");
  exclude(file, found.lines);
  ASSERT_EQ(file.lines.size(), 5u);
  EXPECT_EQ(file.lines[2].line, 4u);
  EXPECT_EQ(file.branches_of(file.lines[0]).size(), 1u);
  EXPECT_EQ(file.branches_of(file.lines[1]).size(), 2u);
  EXPECT_EQ(file.branches_of(file.lines[4]).size(), 2u);
}

TEST(Exclude, RemovesAFunctionUpToItsEnd) {
  FileCoverage file = example();
  ExcludedLines excluded;
  excluded.functions = {1};
  excluded.lines = {{2, 2}};
  exclude(file, excluded);
  ASSERT_EQ(file.lines.size(), 3u);
  EXPECT_EQ(file.lines[0].line, 4u);
  ASSERT_EQ(file.functions.size(), 1u);
  EXPECT_EQ(file.functions[0].name, "g");
}

TEST(Exclude, RemovesAFunctionWithoutAnEndUpToTheNextOne) {
  FileCoverage file = example();
  file.functions[0].end_line = 0;
  ExcludedLines excluded;
  excluded.functions = {1};
  exclude(file, excluded);
  ASSERT_EQ(file.lines.size(), 3u);
  EXPECT_EQ(file.lines[0].line, 4u);
}

} // namespace
