#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "../support/coverage_text.h"
#include "../support/sanitized.h"
#include "formats/formats.h"
#include "formats/lcov/lcov.h"
#include "temporary.h"

namespace tally::formats_lcov_test {
namespace {

Result<Coverage> read(std::string_view bytes, Diagnostics &diagnostics) {
  return lcov::read(*ByteSource::of(bytes, "a.info"), diagnostics);
}

Coverage coverage(std::string_view bytes) {
  Diagnostics diagnostics;
  auto out = read(bytes, diagnostics);
  EXPECT_TRUE(out) << out.error().text();
  EXPECT_EQ(disorder_of(*out), "");
  return std::move(*out);
}

std::vector<std::string> findings(std::string_view bytes) {
  Diagnostics diagnostics;
  const auto out = read(bytes, diagnostics);
  EXPECT_TRUE(out) << out.error().text();
  std::vector<std::string> texts;
  for (const Finding &finding : diagnostics.findings())
    texts.push_back(finding.text());
  return texts;
}

std::string error(std::string_view bytes) {
  Diagnostics diagnostics;
  const auto out = read(bytes, diagnostics);
  EXPECT_FALSE(out) << bytes;
  return out ? std::string() : out.error().text();
}

Written written(const Coverage &coverage, const WriteOptions &options = {}) {
  auto out = lcov::write(coverage, options);
  EXPECT_TRUE(out) << out.error().text();
  return std::move(*out);
}

// Returns a file of one section.
std::string section(std::string_view records) {
  return fmt::format("SF:/a.c\n{}end_of_record\n", records);
}

constexpr std::string_view whole = "TN:\n"
                                   "SF:/src/a.c\n"
                                   "FN:3,main\n"
                                   "FN:9,f\n"
                                   "FNDA:1,main\n"
                                   "FNDA:0,f\n"
                                   "FNF:2\n"
                                   "FNH:1\n"
                                   "BRDA:4,0,0,1\n"
                                   "BRDA:4,0,1,0\n"
                                   "BRDA:10,0,0,-\n"
                                   "BRF:3\n"
                                   "BRH:1\n"
                                   "DA:3,1\n"
                                   "DA:4,1\n"
                                   "DA:10,0\n"
                                   "LF:3\n"
                                   "LH:2\n"
                                   "end_of_record\n";

TEST(Lcov, WritesWhatItRead) {
  const Coverage read = coverage(whole);
  EXPECT_EQ(text_of(read), "file /src/a.c\n"
                           "function main 3-0 1\n"
                           "function f 9-0 0\n"
                           "3 1\n"
                           "4 1 1 0\n"
                           "10 0 0\n");
  EXPECT_TRUE(findings(whole).empty());
  const Written out = written(read);
  EXPECT_EQ(out.bytes, whole);
  EXPECT_TRUE(out.lost.empty());
  // Paths are not changed, because genhtml looks for the sources there.
  EXPECT_EQ(written(read, {.root = "/src"}).bytes, whole);
}

TEST(Lcov, ReadsTheOutputOfVersion2) {
  EXPECT_EQ(text_of(coverage("# a comment\r\n\r\nTN:\r\nSF:/a b.c\r\nVER:7\r\n"
                             "FN:3,8,f(int, int)\r\nFNDA:2,f(int, int)\r\n"
                             "BRDA:4,0,0,1\r\nBRDA:4,e0,1,0\r\nBRDA:4,f1,0,3\r\n"
                             "DA:3,2,Zm9v\r\nDA:4,1,a+/=\r\nend_of_record\r\n")),
            "file /a b.c\nfunction f(int, int) 3-8 2\n3 2\n4 1 1 0e 3f\n");
  // Since 2.2, functions that begin in one line count as one in FNF, and unreachable branches are
  // marked.
  const std::string groups = section("FNL:0,3,8\nFNA:0,1,f<int>\nFNA:0,0,f<char>\nFNL:1,9\n"
                                     "FNA:1,0,g\nFNF:2\nFNH:1\nBRDA:3,U0,0,1\nBRDA:3,eU0,1,1\n"
                                     "BRDA:3,0,2,4\nBRF:1\nBRH:1\nDA:3,1\n");
  EXPECT_EQ(text_of(coverage(groups)), "file /a.c\nfunction f<char> 3-8 0\nfunction f<int> 3-8 1\n"
                                       "function g 9-0 0\n3 1 4\n");
  EXPECT_TRUE(findings(groups).empty());
}

TEST(Lcov, ReadsBranchesNamedByExpressions) {
  const std::string text = section("BRDA:3,0,f(x, y) && !b,2\nBRDA:3,0,!(f(x, y) && !b),-\n"
                                   "BRDA:3,0,1,5\nBRDA:3,0,f(x, y) && !b,1\nDA:3,2\n");
  EXPECT_EQ(text_of(coverage(text)), "file /a.c\n3 2 5 0 3\n");
  EXPECT_EQ(findings(text),
            (std::vector<std::string>{"a.info:2:1: note: branches that are identified by a text "
                                      "are kept, but the text is not"}));
}

TEST(Lcov, MergesOutcomesIntoConditions) {
  const std::string text =
      section("MCDC:3,2,t,1,0,a\nMCDC:3,2,f,0,0,a\nMCDC:3,2,t,0,1,b, c\nMCDC:3,2,f,4,1,b, c\n"
              "MCDC:3,1,t,1,0,d\nMCF:6\nMCH:3\nDA:3,1\n");
  EXPECT_EQ(text_of(coverage(text)), "file /a.c\n3 1 1:1,0 2:1,2\n");
  EXPECT_TRUE(findings(text).empty());
  EXPECT_EQ(text_of(coverage(section("MCDC:3,65,t,1,0,a\nDA:3,1\n"))), "file /a.c\n3 1\n");
  EXPECT_EQ(findings(section("MCDC:3,65,t,1,0,a\nMCDC:3,65,f,1,0,a\nMCF:130\nDA:3,1\n")),
            (std::vector<std::string>{"a.info:2:1: warning: a condition of more than 64 terms is "
                                      "left out (2 times)"}));
  const Written out = written(coverage(text));
  EXPECT_EQ(out.bytes.find("MC"), std::string::npos);
  EXPECT_EQ(out.lost, std::vector<std::string>{"conditions (--lcov-version 2.3 writes them)"});
}

TEST(Lcov, AddsUpTheSectionsOfAFile) {
  EXPECT_EQ(
      text_of(coverage(section("FN:1,f\nFNDA:1,f\nBRDA:2,0,0,1\nBRDA:2,0,0,1\nDA:1,1\nDA:2,2\n"
                               "DA:1,1\n") +
                       section("FN:1,5,f\nFNDA:2,f\nBRDA:2,0,1,4\nDA:2,5\nDA:9,0\n"))),
      "file /a.c\nfunction f 1-5 3\n1 2\n2 7 2 4\n9 0\n");
}

TEST(Lcov, DistinguishesTests) {
  const std::string text = "TN:one\nSF:/a\nBRDA:1,0,0,2\nDA:1,2\nend_of_record\n"
                           "SF:/b\nDA:1,1\nend_of_record\n" // still of "one"
                           "TN:two\nSF:/a\nDA:1,1\nDA:2,0\nend_of_record\n"
                           "TN:\nSF:/a\nDA:2,4\nend_of_record\n"
                           "TN:idle\n";
  const Coverage read = coverage(text);
  EXPECT_EQ(text_of(read), "file /a\n1 3 2\n2 4\nfile /b\n1 1\n"
                           "test \nfile /a\n2 4\n"
                           "test idle\n"
                           "test one\nfile /a\n1 2 2\nfile /b\n1 1\n"
                           "test two\nfile /a\n1 1\n2 0\n");
  const std::string out = written(read).bytes;
  EXPECT_EQ(text_of(coverage(out)), text_of(read));
  EXPECT_EQ(written(coverage(out)).bytes, out);
  // Sections are ordered by test, then by file; a test that reached nothing has its TN line.
  std::string order;
  for (size_t at = 0; at < out.size(); at = out.find('\n', at) + 1)
    if (const std::string line = out.substr(at, out.find('\n', at) - at);
        line.starts_with("TN:") || line.starts_with("SF:"))
      order += line + ' ';
  EXPECT_EQ(order, "TN: SF:/a TN:idle TN:one SF:/a TN:one SF:/b TN:two SF:/a ");
}

// Branches are matched by their numbers in the records, even if a test has only some of them.
TEST(Lcov, MatchesBranchesOfTestsByNumber) {
  const Coverage apart = coverage("TN:a\nSF:/a\nBRDA:1,0,0,5\nBRDA:1,1,0,0\nDA:1,5\n"
                                  "end_of_record\n"
                                  "TN:b\nSF:/a\nBRDA:1,1,0,7\nDA:1,7\nend_of_record\n");
  const Coverage together = coverage("TN:a\nSF:/a\nBRDA:1,0,0,5\nBRDA:1,1,0,0\nDA:1,5\n"
                                     "end_of_record\n"
                                     "TN:a\nSF:/a\nBRDA:1,1,0,7\nDA:1,7\nend_of_record\n");
  for (const Coverage *read : {&apart, &together}) {
    const CoverageTotals totals = totals_of(*read);
    EXPECT_EQ(totals.branches, 2u);
    EXPECT_EQ(totals.branches_taken, 2u);
    ASSERT_EQ(read->files.size(), 1u);
    EXPECT_EQ(read->files[0].lines[0].count, 12);
  }
  const CoverageTotals b = totals_of(apart.tests[1].files[0]);
  EXPECT_EQ(b.branches, 2u); // so that the tests add up to the files
  EXPECT_EQ(b.branches_taken, 1u);
  EXPECT_EQ(text_of(coverage(written(apart).bytes)), text_of(apart));
  // Conditions are matched likewise, by their number of terms.
  EXPECT_EQ(totals_of(coverage("TN:a\nSF:/a\nMCDC:1,2,t,1,0,a\nMCDC:1,3,t,0,0,b\nDA:1,5\n"
                               "end_of_record\n"
                               "TN:b\nSF:/a\nMCDC:1,3,f,1,0,b\nDA:1,7\nend_of_record\n"))
                .outcomes,
            10u);
}

TEST(Lcov, ChangesAndReportsNamesThatLcovRefuses) {
  Coverage odd = coverage("TN:a\nSF:/a\nFN:3,12,7,f\nFNDA:2,7,f\nDA:3,1\nend_of_record\n"
                          "TN:b\nSF:/a\nDA:3,4\nend_of_record\n");
  odd.files[0].path = odd.tests[0].files[0].path = odd.tests[1].files[0].path = "/a\nb";
  const Written out = written(odd);
  EXPECT_EQ(out.bytes, "TN:a\nSF:/a b\nFN:3,7_f\nFNDA:2,7_f\nFNF:1\nFNH:1\nBRF:0\nBRH:0\nDA:3,1\n"
                       "LF:1\nLH:1\nend_of_record\n"
                       "TN:b\nSF:/a b\nFNF:0\nFNH:0\nBRF:0\nBRH:0\nDA:3,4\n"
                       "LF:1\nLH:1\nend_of_record\n");
  EXPECT_EQ(out.lost,
            (std::vector<std::string>{"paths that are empty or hold line breaks (changed)",
                                      "function names that lcov would misread (changed)",
                                      "the last lines of functions"}));
  EXPECT_EQ(written(coverage(out.bytes)).bytes, out.bytes);
}

TEST(Lcov, ReportsAChangedPathOfAnyFile) {
  for (const size_t changed : {size_t{0}, size_t{1}}) {
    Coverage odd = coverage("SF:/a\nDA:3,1\nend_of_record\nSF:/b\nDA:3,1\nend_of_record\n");
    odd.files[changed].path += "\nc";
    EXPECT_EQ(written(odd).lost,
              (std::vector<std::string>{"paths that are empty or hold line breaks (changed)"}));
  }
}

// lcov keeps only letters, digits and '_'.
TEST(Lcov, ReadsBackNamesOfTests) {
  for (const auto &[name, text] :
       std::vector<std::pair<std::string, std::string>>{{"app:parse list", "app_x3Aparse_x20list"},
                                                        {"snake_case_2", "snake_case_2"},
                                                        {"a_x41", "a_x5Fx41"},
                                                        {"__xAB_x5Fx41", "__x5FxAB_x5Fx5Fx41"},
                                                        {"_x4", "_x4"},
                                                        {"_xab", "_xab"},
                                                        {"größe\n", "gr_xC3_xB6_xC3_x9Fe_x0A"}}) {
    Coverage named = coverage("TN:a\nSF:/a\nDA:3,1\nend_of_record\n");
    named.tests[0].name = name;
    const Written out = written(named);
    EXPECT_TRUE(out.bytes.starts_with("TN:" + text + "\n")) << out.bytes;
    EXPECT_EQ(coverage(out.bytes).tests[0].name, name);
    EXPECT_TRUE(out.lost.empty());
  }
  // Names that other tools wrote are not changed.
  for (const std::string name : {"a_x41", "a-b", "a_x5F", "_x5Fx4", "_x"})
    EXPECT_EQ(coverage("TN:" + name + "\nSF:/a\nDA:3,1\nend_of_record\n").tests[0].name, name);
}

TEST(Lcov, ReportsWhatTheFormatCannotHold) {
  FileCoverage file;
  file.path = "/a";
  file.lines = {{0, 1, 0, 0, 0, 0}, {5, -3, 0, 2, 0, 1}};
  file.branches = {{-1, true, false}, {4, false, true}};
  file.conditions = {{1, 1, 0}};
  file.functions = {{"u", 0, 0, 1}, {"f", 3, 9, 1}, {"f", 4, 0, 2}};
  Coverage all;
  all.files.push_back(file);
  const Written out = written(all);
  EXPECT_EQ(out.bytes, "TN:\nSF:/a\nFN:3,f\nFNDA:3,f\nFNF:1\nFNH:1\nBRDA:5,0,0,1\nBRDA:5,0,1,4\n"
                       "BRF:2\nBRH:2\nDA:5,1\nLF:1\nLH:1\nend_of_record\n");
  EXPECT_EQ(out.lost,
            (std::vector<std::string>{
                "the separate start lines of functions with the same name (their sum is written)",
                "lines and functions without a line number", "the last lines of functions",
                "the kinds of branches (exception, fall-through)",
                "conditions (--lcov-version 2.3 writes them)",
                "negative counts (written as 1, because the code ran)"}));
}

TEST(Lcov, LeavesOutBranchesThatALineThatRanDidNotEvaluate) {
  FileCoverage file;
  file.path = "/a";
  file.lines = {{1, 3, 0, 2, 0, 0}, {2, 0, 2, 4, 0, 0}};
  file.branches = {{0, false, false}, {0, false, false}, {0, false, false}, {0, false, false}};
  Coverage all;
  all.files.push_back(file);
  const Written out = written(all);
  EXPECT_EQ(out.bytes, "TN:\nSF:/a\nFNF:0\nFNH:0\nBRDA:2,0,0,-\nBRDA:2,0,1,-\n"
                       "BRF:2\nBRH:0\nDA:1,3\nDA:2,0\nLF:2\nLH:1\nend_of_record\n");
  EXPECT_EQ(out.lost, std::vector<std::string>{"the branches of lines that ran without evaluating "
                                               "one of them (lcov 2 refuses such a line)"});
}

TEST(Lcov, WritesConditionsAndLastLinesForVersion23) {
  FileCoverage file;
  file.path = "/a";
  file.functions = {{"f", 1, 2, 1}};
  file.lines = {{1, 1}, {2, 1}};
  file.lines[0].last_condition = 1;
  file.conditions = {{2, 3, 1}};
  file.lines[1].last_decision = 1;
  file.decisions = {{2, 2, 0}};
  Coverage all;
  all.files.push_back(file);
  WriteOptions options;
  options.lcov_version = "2.3";
  const auto out = lcov::write(all, options);
  ASSERT_TRUE(out);
  EXPECT_NE(out->bytes.find("SF:/a\nFN:1,2,f\nFNDA:1,f\n"), std::string::npos) << out->bytes;
  EXPECT_NE(out->bytes.find("BRH:0\nMCDC:1,2,t,1,0,0\nMCDC:1,2,f,1,0,0\nMCDC:1,2,t,1,1,1\n"
                            "MCDC:1,2,f,0,1,1\nMCDC:2,2,t,0,0,0\nMCDC:2,2,f,0,0,0\n"
                            "MCDC:2,2,t,1,1,1\nMCDC:2,2,f,1,1,1\nMCF:8\nMCH:5\nDA:1,1\n"),
            std::string::npos)
      << out->bytes;
  // Conditions are read as they were written.
  EXPECT_EQ(coverage(out->bytes).files[0].conditions[0].when_true, 3u);
  EXPECT_EQ(coverage(out->bytes).files[0].conditions[0].when_false, 1u);
  options.lcov_version = "2.0";
  EXPECT_EQ(lcov::write(all, options).error().message,
            "unknown version '2.0' of lcov (there are: 1.16, 2.3)");
}

TEST(Lcov, ReportsOdditiesAsDiagnostics) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(
      findings(section("DA:1,-5\nBRDA:1,0,0,-7\n")),
      (Texts{"a.info:2:1: warning: a count is negative and is read as 1: the code ran, but how "
             "often is not known (threads that count without -fprofile-update=atomic leave "
             "such counts) (2 times)"}));
  EXPECT_EQ(text_of(coverage(section("DA:1,-5\nBRDA:1,0,0,-7\n"))), "file /a.c\n1 1 1\n");
  // -1 as a writer of unsigned numbers prints it, and numbers of any size.
  const std::string large =
      section("FN:1,f\nFNDA:99999999999999999999,f\nDA:1,3\nBRDA:1,0,0,18446744073709551615\n"
              "BRDA:1,0,1,9223372036854775807\nDA:2,-99999999999999999999\n");
  EXPECT_EQ(
      findings(large),
      (Texts{"a.info:3:1: warning: a count does not fit in 63 bits and is read as 1: the code "
             "ran, but how often is not known (2 times)",
             "a.info:7:1: warning: a count is negative and is read as 1: the code ran, but how "
             "often is not known (threads that count without -fprofile-update=atomic leave "
             "such counts)"}));
  EXPECT_EQ(text_of(coverage(large)),
            "file /a.c\nfunction f 1-0 1\n1 3 1 9223372036854775807\n2 1\n");
  EXPECT_EQ(findings(section("DA:1,1\nLF:2\nLH:1\nFNF:3\nBRH:1\n")),
            (Texts{"a.info:3:1: warning: LF: says 2, but the section has 1",
                   "a.info:5:1: warning: FNF: says 3, but the section has 0",
                   "a.info:6:1: warning: BRH: says 1, but the section has 0"}));
  EXPECT_EQ(findings(section("FN:0,f\nFNDA:1,f\nDA:0,1\nDA:1,1\n")),
            (Texts{"a.info:2:1: warning: line 0 does not exist and is left out (2 times)"}));
  EXPECT_EQ(findings(section("FN:9,f\nFN:3,7,f\nFNDA:1,f\n")),
            (Texts{"a.info:3:1: warning: f begins in line 3 and in line 9: it is treated as one "
                   "function, because lcov identifies functions by name"}));
  EXPECT_EQ(findings(section("FNDA:1,f\nDA:1,1\n")),
            (Texts{"a.info:2:1: error: FNDA: for f, which has no FN:, is ignored"}));
  EXPECT_EQ(findings(section("FN:9,3,f\n")),
            (Texts{"a.info:2:1: warning: a function ends before it begins; its end is left out"}));
  EXPECT_EQ(findings(section("XY:1\nXY:2\nDA:1,1\n")),
            (Texts{"a.info:2:1: warning: XY: is unknown and is ignored (2 times)"}));
  EXPECT_EQ(findings(section("VER:1\nDA:1,1,sum\n")),
            (Texts{"a.info:2:1: note: VER: versions of sources are not kept",
                   "a.info:3:1: note: DA: checksums of lines are not kept"}));
  EXPECT_EQ(findings("SF:/a\nTN:x\nDA:1,1\nend_of_record\n"),
            (Texts{"a.info:2:1: warning: TN: inside a section: it applies from the next section "
                   "on"}));
  // Istanbul writes this if a branch begins in a line without a statement.
  EXPECT_EQ(findings(section("BRDA:3,0,0,4\nBRDA:3,0,1,0\nDA:1,1\n")),
            (Texts{"/a.c:3:1: warning: 1 lines have branches or conditions, but no DA: they are "
                   "counted as lines"}));
  EXPECT_EQ(text_of(coverage(section("BRDA:3,0,0,4\nBRDA:3,0,1,0\nDA:1,1\n"))),
            "file /a.c\n1 1\n3 4 4 0\n");
}

TEST(Lcov, ErrorsStateLineAndColumn) {
  EXPECT_EQ(error(section("DA:1,1e+06\n")), "a.info:2:6: expected a count, found '1e+06'");
  EXPECT_EQ(error(section("DA:1\n")), "a.info:2:5: expected a count, found ''");
  EXPECT_EQ(error(section("DA:x,1\n")), "a.info:2:4: expected a line, found 'x'");
  EXPECT_EQ(error(section("DA:-1,1\n")), "a.info:2:4: expected a line, found '-1'");
  EXPECT_EQ(error(section("DA:4294967296,1\n")), "a.info:2:4: 4294967296 does not fit in 32 bits");
  EXPECT_EQ(error(section("\nBRDA:1,0,0\n")),
            "a.info:3:10: expected a branch, a comma and a count");
  EXPECT_EQ(error(section("BRDA:1,x0,0,1\n")), "a.info:2:8: expected a block, found 'x0'");
  EXPECT_EQ(error(section("BRDA:1,0,0,+\n")), "a.info:2:12: expected a count or '-', found '+'");
  EXPECT_EQ(error(section("FN:1,\n")), "a.info:2:6: expected a name");
  EXPECT_EQ(error(section("FNDA:1\n")), "a.info:2:7: expected a name");
  EXPECT_EQ(error(section("FNL:1,3\nFNL:1,4\n")),
            "a.info:3:1: FNL: this section already has a function 1");
  EXPECT_EQ(error(section("FNA:1,3,f\n")), "a.info:2:5: FNA: there is no FNL:1");
  EXPECT_EQ(error(section("MCDC:1,2,x,1,0,a\n")), "a.info:2:10: expected t or f, found 'x'");
  EXPECT_EQ(error(section("MCDC:1,2,t,1,2,a\n")), "a.info:2:14: there is no term 2 of 2");
  EXPECT_EQ(error(section("LF:many\n")), "a.info:2:4: expected a number, found 'many'");
  EXPECT_EQ(error(section("DA 1,1\n")), "a.info:2:1: is not a record of a tracefile: 'DA 1,1'");
  EXPECT_EQ(error(section("da:1,1\n")), "a.info:2:1: is not a record of a tracefile: 'da:1,1'");
  EXPECT_EQ(error("DA:1,1\n"), "a.info:1:1: DA: before any SF:");
  EXPECT_EQ(error("SF:\n"), "a.info:1:4: expected a path");
  EXPECT_EQ(error("SF:/a\nSF:/b\n"),
            "a.info:2:1: a section begins before end_of_record of the previous one");
  EXPECT_EQ(error("end_of_record\n"), "a.info:1:1: end_of_record without SF:");
  EXPECT_EQ(error("SF:/a\nDA:1,1"), "a.info:2:1: truncated: there is no end_of_record");
  EXPECT_EQ(error("# nothing\n\n"), "a.info: holds no sections");
  EXPECT_EQ(error(section("DA:7,9223372036854775807\nDA:7,1\n")),
            "a.info:4:1: the sum of the counts of line 7 exceeds 64 bits");
  Diagnostics ignored;
  const auto tests = read("TN:a\nSF:/a\nDA:7,9223372036854775807\nend_of_record\n"
                          "TN:b\nSF:/a\nDA:7,1\nend_of_record\n",
                          ignored);
  ASSERT_FALSE(tests);
  EXPECT_EQ(tests.error().code, ErrorCode::overflow);
}

TEST(Lcov, IsRecognizedByItsFirstRecord) {
  EXPECT_TRUE(lcov::probe("TN:\nSF:/a\n"));
  EXPECT_TRUE(lcov::probe("SF:/a"));
  EXPECT_TRUE(lcov::probe("\xEF\xBB\xBFTN:\n"));
  EXPECT_TRUE(lcov::probe("# comment\n\r\nTN:x\n"));
  EXPECT_FALSE(lcov::probe(""));
  EXPECT_FALSE(lcov::probe("# comment\n"));
  EXPECT_FALSE(lcov::probe("main;f 3\n"));
  EXPECT_EQ((*format_for_output("x.info", "", "--to"))->name, "lcov");
  TemporaryFolder folder;
  Diagnostics diagnostics;
  const auto read = read_file(folder.put("plain", std::string(whole)), diagnostics);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->format->name, "lcov");
}

TEST(Lcov, WritesEmptyCoverageAsAReadableFile) {
  EXPECT_EQ(written({}).bytes, "TN:\n");
  EXPECT_EQ(text_of(coverage("TN:\n")), "");
}

// Lines in any order, in many sections and tests, have the same counts as in one section.
TEST(Lcov, ReadsManySectionsInAnyOrder) {
  std::mt19937 random(5);
  std::vector<std::string> sections;
  std::vector<int64_t> counts(400);
  for (int i = 0; i < 3000; ++i) {
    const auto line = random() % counts.size();
    const auto count = random() % 10;
    counts[line] += count;
    sections.push_back(fmt::format("TN:{}\nSF:/a\nDA:{},{}\nend_of_record\n",
                                   i % 3 == 0 ? "" : fmt::format("t{}", random() % 40), line + 1,
                                   count));
  }
  std::string text, other;
  for (const std::string &one : sections)
    text += one;
  std::ranges::shuffle(sections, random);
  for (const std::string &one : sections)
    other += one;
  const Coverage read = coverage(text);
  for (const LineCoverage &line : read.files[0].lines)
    EXPECT_EQ(line.count, counts[line.line - 1]) << line.line;
  EXPECT_EQ(text_of(read), text_of(coverage(other)));
}

// A hostile file may have many sections of one path, and a new test in each section.
TEST(Lcov, ReadsInTimeLinearInTheFile) {
  constexpr int lines = TALLY_SANITIZED ? 20'000 : 200'000, tests = lines / 4;
  std::string text;
  for (int i = 0; i < lines; ++i)
    text += fmt::format("SF:/a\nDA:{},1\nend_of_record\n", lines - i);
  EXPECT_EQ(coverage(text).files[0].lines.size(), size_t{lines});
  text.clear();
  for (int i = 0; i < tests; ++i)
    text += fmt::format("TN:t{}\nSF:/{}\nDA:1,1\nend_of_record\nSF:/a\nDA:{},1\nend_of_record\n", i,
                        i, i + 1);
  const Coverage read = coverage(text);
  EXPECT_EQ(read.tests.size(), size_t{tests});
  EXPECT_EQ(read.files.size(), size_t{tests + 1});
  text.clear();
  for (int i = 0; i < tests; ++i) // each test with a branch of its own
    text += fmt::format("TN:t{}\nSF:/a\nBRDA:1,0,{},1\nDA:1,1\nend_of_record\n", i, i);
  EXPECT_EQ(coverage(text).files[0].branches.size(), 1u);
}

// The paths of these files become equal when they are written.
TEST(Lcov, WritesInTimeLinearInTheFiles) {
  constexpr uint32_t count = TALLY_SANITIZED ? 5'000 : 20'000;
  Coverage all;
  all.tests.push_back({"t", {}});
  for (uint32_t i = 0; i < count; ++i) {
    FileCoverage file;
    file.path = "/a"; // followed by characters that all become blanks
    for (int bit = 0; bit < 15; ++bit)
      file.path += i >> bit & 1 ? ' ' : '\n';
    file.path += 'b';
    file.lines.push_back({.line = i + 1, .count = 1});
    all.tests[0].files.push_back(std::move(file));
  }
  std::ranges::sort(all.tests[0].files, {}, &FileCoverage::path);
  const Coverage read = coverage(written(all).bytes);
  ASSERT_EQ(read.files.size(), 1u);
  EXPECT_EQ(read.files[0].lines.size(), count);
}

} // namespace
} // namespace tally::formats_lcov_test
