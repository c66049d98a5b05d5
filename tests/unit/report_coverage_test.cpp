#include <gtest/gtest.h>

#include <limits>

#include <fmt/format.h>

#include "report/coverage_report.h"
#include "report/live_coverage.h"
#include "report/render.h"

namespace tally::report_coverage_test {
namespace {

FileCoverage file_of(std::string path, std::vector<std::pair<uint32_t, int64_t>> lines) {
  FileCoverage file;
  file.path = std::move(path);
  for (const auto &[line, count] : lines)
    file.lines.push_back({line, count});
  return file;
}

// Returns two files: one ran except for two ranges, the other did not run.
Coverage two_files() {
  Coverage out;
  FileCoverage a =
      file_of("/src/lib/a.c", {{1, 1}, {3, 0}, {4, 0}, {7, 0}, {8, 2}, {12, 0}, {20, 5}});
  a.functions = {{"f", 1, 8, 1}, {"g", 12, 20, 0}};
  a.branches = {{1, true, false}, {0, false, false}};
  a.lines[0].last_branch = 2;
  out.files = {std::move(a), file_of("/src/lib/b.c", {{5, 0}})};
  return out;
}

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    EXPECT_NE(end, text.npos) << "the last line has no end";
    lines.push_back(text.substr(at, end - at));
    at = end == text.npos ? text.size() : end + 1;
  }
  return lines;
}

TEST(ShareText, ReservesHundredForAllAndZeroForNone) {
  EXPECT_EQ(share_text(0, 0), "-");
  EXPECT_EQ(share_text(0, 7), "0.0%");
  EXPECT_EQ(share_text(7, 7), "100.0%");
  EXPECT_EQ(share_text(5, 6), "83.3%");
  EXPECT_EQ(share_text(9999, 10000), "99.9%");
  EXPECT_EQ(share_text(1, 10000), "0.1%");
  constexpr uint64_t most = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(share_text(most - 1, most), "99.9%");
  EXPECT_EQ(share_text(1, most), "0.1%");
  EXPECT_EQ(share_text(most, most), "100.0%");
  for (uint64_t whole = 1; whole < 3000; whole += 7)
    for (uint64_t part : {uint64_t{1}, whole / 2, whole - 1}) {
      EXPECT_EQ(share_text(part, whole) == "100.0%", part == whole) << part << '/' << whole;
      EXPECT_EQ(share_text(part, whole) == "0.0%", part == 0) << part << '/' << whole;
    }
}

TEST(RangesNotRun, ContinueAcrossLinesWithoutCode) {
  const Coverage coverage = two_files();
  EXPECT_EQ(missing_ranges(coverage.files[0]), "3-7, 12");
  EXPECT_EQ(missing_ranges(coverage.files[0], 2), "3-7, 12");
  EXPECT_EQ(missing_ranges(coverage.files[0], 1), "3-7, … 1 more");
  EXPECT_EQ(missing_ranges(coverage.files[1]), "5");
  EXPECT_EQ(missing_ranges(FileCoverage()), "");
  const auto ranges = ranges_not_run(coverage.files[0]);
  ASSERT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges[0].first, 3U);
  EXPECT_EQ(ranges[0].last, 7U);
  EXPECT_EQ(ranges[0].lines, 3U);
}

TEST(CoverageTable, HasRowsAndTotals) {
  EXPECT_EQ(lines_of(to_text(two_files(), "/src", {0, 0})),
            (std::vector<std::string>{
                "file     lines       functions  branches  lines not run",
                "lib/a.c  42.9%  3/7      50.0%     50.0%  3-7, 12",
                "lib/b.c   0.0%  0/1          -         -  5",
                "-------------------------------------------------------",
                "TOTAL    37.5%  3/8      50.0%     50.0%",
            }));
}

TEST(CoverageTable, ShowsTwoLinesOfALongList) {
  Coverage coverage;
  coverage.files.push_back(file_of("a", {}));
  for (uint32_t line = 1; line <= 100; ++line)
    coverage.files[0].lines.push_back({line, line % 2});
  TextOptions options{.limit = 0, .width = 60};
  const auto list = [&] {
    const auto lines = lines_of(to_text(coverage, "", options));
    const size_t column = lines[0].find("lines not run");
    std::vector<std::string> out;
    for (size_t i = 1; !lines[i].starts_with('-'); ++i)
      out.push_back(lines[i].substr(column));
    return out;
  };
  EXPECT_EQ(list(), (std::vector<std::string>{"2, 4, 6, 8, 10,", "12, 14, 16, 18, …"}));
  options.full = true;
  std::string all;
  for (const std::string &line : list()) {
    EXPECT_LE(line.size(), 16U);
    all += (all.empty() ? "" : " ") + line;
  }
  EXPECT_EQ(all, missing_ranges(coverage.files[0]));
  // In a pipe, the list stays on one line.
  options = {.limit = 0, .width = 0, .full = true};
  EXPECT_EQ(list(), (std::vector<std::string>{all}));
  options.full = false;
  EXPECT_EQ(list(), (std::vector<std::string>{missing_ranges(coverage.files[0], 20)}));
  EXPECT_TRUE(list()[0].ends_with(", 38, 40, … 30 more")) << list()[0];
}

TEST(CoverageTable, KeepsTheTotalsWithALimit) {
  const auto lines = lines_of(to_text(two_files(), "", {1, 0}));
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_TRUE(lines[1].starts_with("/src/lib/a.c "));
  EXPECT_TRUE(lines[3].starts_with("TOTAL "));
  EXPECT_EQ(lines[4], "(1 more; --limit 0 shows all)");
}

std::vector<std::string> first_words(const std::string &text) {
  std::vector<std::string> out;
  for (const std::string &line : lines_of(text))
    out.push_back(line.starts_with('-') ? "-" : line.substr(0, line.find(' ')));
  return out;
}

TEST(CoverageTable, SortsFiles) {
  Coverage coverage;
  coverage.files = {file_of("a", {{1, 1}, {2, 0}, {3, 0}, {4, 1}, {5, 0}, {6, 1}}),
                    file_of("b", {}), file_of("c", {{1, 0}, {2, 0}}), file_of("d", {{1, 1}})};
  coverage.files[3].functions = {{"f", 1, 1, 0}};
  for (const auto &[word, files] :
       std::vector<std::pair<std::string, std::string>>{{"file", "abcd"},
                                                        {"lines", "cadb"},
                                                        {"functions", "dabc"},
                                                        {"branches", "abcd"},
                                                        {"missed", "acbd"}}) {
    std::string order;
    for (const std::string &name :
         first_words(to_text(coverage, "", {0, 0}, file_order_of(word).value())))
      order += name.size() == 1 && name != "-" ? name : "";
    EXPECT_EQ(order, files) << word;
  }
  EXPECT_EQ(file_order_words, "file|lines|functions|branches|missed");
  EXPECT_EQ(file_order_of("size").error().message,
            "expected " + std::string(file_order_words) + ", found 'size'");
}

TEST(CoverageTable, SumsFilesByDirectory) {
  Coverage coverage;
  for (const char *path : {"/p/main.c", "/p/src/a.c", "/p/src/deep/er/b.c", "/p/src/deep/er/c.c",
                           "/p/tests/t.c", "/usr/include/x.h"})
    coverage.files.push_back(file_of(path, {{1, 1}, {2, 0}}));
  const auto lines = lines_of(to_text(coverage, "/p", {1, 0}));
  const std::vector<std::string> folders(lines.begin() + 3, lines.begin() + 7);
  EXPECT_EQ(folders, (std::vector<std::string>{
                         "/usr/include/  50.0%   1/2          -         -",
                         "src/           50.0%   3/6          -         -",
                         "src/deep/er/   50.0%   2/4          -         -",
                         "tests/         50.0%   1/2          -         -",
                     }));
  EXPECT_TRUE(lines[2].starts_with("---") && lines[7].starts_with("---")) << lines[7];
  EXPECT_TRUE(lines[8].starts_with("TOTAL ")) << lines[8];
}

// Lists no more levels of directories than fill a screen, and none if they add no information.
TEST(CoverageTable, LimitsTheLevelsOfDirectories) {
  const auto folders = [](const std::vector<std::string> &paths) {
    Coverage coverage;
    for (const std::string &path : paths)
      coverage.files.push_back(file_of(path, {{1, 1}}));
    size_t count = 0;
    for (const std::string &name : first_words(to_text(coverage, "/p", {0, 0})))
      count += name.ends_with('/');
    return count;
  };
  EXPECT_EQ(folders({"/p/src/a.c", "/p/src/b.c"}), 0u);
  EXPECT_EQ(folders({"/p/src/a.c", "/p/tests/b.c", "/p/c.c"}), 0u);
  EXPECT_EQ(folders({"/p/src/a.c", "/p/src/b.c", "/p/c.c"}), 1u);
  std::vector<std::string> many;
  for (size_t i = 0; i < 1000; ++i)
    many.push_back(fmt::format("/p/{}/{}/{:03}.c", i % 5, i % 50, i));
  std::ranges::sort(many);
  EXPECT_EQ(folders(many), 5u);
  many.clear();
  for (size_t i = 0; i < 60; ++i)
    many.push_back(fmt::format("/p/{:02}/{:03}.c", i % 30, i));
  std::ranges::sort(many);
  EXPECT_EQ(folders(many), 30u); // the first level is always listed
}

TEST(CoverageTable, AcceptsEmptyCoverage) {
  const auto lines = lines_of(to_text(Coverage(), "", {}));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_EQ(lines[2], "TOTAL      -  0/0          -         -");
}

TEST(CoverageTable, HasAColumnOfConditionsIfThereAreAny) {
  Coverage coverage = two_files();
  coverage.files[0].conditions = {{2, 3, 1}};
  coverage.files[0].lines[0].last_condition = 1;
  const auto lines = lines_of(to_text(coverage, "/src", {0, 0}));
  EXPECT_NE(lines[0].find("conditions"), std::string::npos);
  EXPECT_NE(lines[1].find("75.0%"), std::string::npos);
}

TEST(CoverageTable, StaysWithinTheWidth) {
  Coverage coverage;
  FileCoverage file = file_of("/src/" + std::string(60, 'd') + "/größe.c", {});
  for (uint32_t line = 1; line < 100; ++line)
    file.lines.push_back({line, line % 2});
  coverage.files = {file, file_of("/src/\x1b[31m\n.c", {{1, 1}})};
  for (uint32_t width : {80U, 100U, 110U}) {
    const auto lines = lines_of(to_text(coverage, "/src", {0, width}));
    ASSERT_EQ(lines.size(), 6U); // one continues the first row
    for (const std::string &line : lines)
      EXPECT_LE(display_width(line), width) << line;
    EXPECT_TRUE(lines[1].starts_with("…"));
    EXPECT_NE(lines[1].find("/größe.c "), std::string::npos) << lines[1];
    EXPECT_TRUE(lines[1].ends_with(",")) << lines[1];
    EXPECT_TRUE(lines[2].starts_with("   ") && lines[2].ends_with("…")) << lines[2];
    EXPECT_TRUE(lines[3].starts_with("?[31m?.c ")) << lines[3];
  }
}

TEST(CoverageMarkdown, ListsTotalsThenTheWorstFiles) {
  EXPECT_EQ(to_markdown(two_files(), "/src"),
            "### Coverage\n\n|  | executed | of | percent |\n|:--|--:|--:|--:|\n"
            "| lines | 3 | 8 | 37.5% |\n| functions | 1 | 2 | 50.0% |\n"
            "| branches | 1 | 2 | 50.0% |\n\n"
            "| file | lines | functions | branches | lines not run |\n|:--|--:|--:|--:|:--|\n"
            "| `lib/a.c` | 42.9% (3/7) | 50.0% (1/2) | 50.0% (1/2) | 3-7, 12 |\n"
            "| `lib/b.c` | 0.0% (0/1) | - | - | 5 |\n");
}

TEST(CoverageMarkdown, HasACellOfConditionsInEachRow) {
  Coverage coverage = two_files();
  coverage.files[0].conditions = {{2, 3, 1}};
  coverage.files[0].lines[0].last_condition = 1;
  const std::string text = to_markdown(coverage, "/src");
  EXPECT_NE(text.find("| `lib/a.c` | 42.9% (3/7) | 50.0% (1/2) | 50.0% (1/2) | 75.0% (3/4) |"),
            text.npos)
      << text;
  EXPECT_NE(text.find("| `lib/b.c` | 0.0% (0/1) | - | - | - | 5 |"), text.npos) << text;
}

TEST(CoverageMarkdown, EscapesNames) {
  const auto name = [](const std::string &path) {
    Coverage coverage;
    coverage.files = {file_of(path, {{1, 1}})};
    const std::string row = lines_of(to_markdown(coverage, "")).back();
    return row.substr(2, row.find(" | 100.0%") - 2);
  };
  EXPECT_EQ(name("a/__init__.py"), "`a/__init__.py`");
  EXPECT_EQ(name("<img src=x>.c"), "`<img src=x>.c`"); // a code span shows it as text
  EXPECT_EQ(name("a|b"), "<code>a&#124;b</code>");
  EXPECT_EQ(name("a\\|b"), "<code>a&#92;&#124;b</code>");
  EXPECT_EQ(name("`<b>`"), "<code>&#96;&#60;b&#62;&#96;</code>");
  EXPECT_EQ(name("a\n| b"), "<code>a&#63;&#124; b</code>");
  EXPECT_EQ(name(""), "<code></code>");
}

TEST(CoverageMarkdown, ReportsWhatIsOmitted) {
  Coverage coverage;
  for (int i = 0; i < 30000; ++i)
    coverage.files.push_back(file_of(fmt::format("/src/{:0>50}.c", i), {{1, 0}}));
  const std::string text = to_markdown(coverage, "/src");
  EXPECT_LE(text.size(), size_t{1} << 20);
  const auto rows = static_cast<size_t>(std::ranges::count(text, '`')) / 2;
  EXPECT_LT(rows, coverage.files.size());
  EXPECT_NE(text.find(fmt::format("\n\n{} more files are left out", coverage.files.size() - rows)),
            text.npos);
  EXPECT_TRUE(text.ends_with("\n\n</details>\n"));
}

TEST(CoverageGithub, AnnotatesLargestRangesFirst) {
  EXPECT_EQ(lines_of(to_github(two_files(), "/src")),
            (std::vector<std::string>{
                "::notice title=Coverage::lines 37.5%25 (3/8), functions 50.0%25 (1/2), "
                "branches 50.0%25 (1/2)",
                "::warning file=lib/a.c,line=3,endLine=7,title=Not executed::lines 3-7 did not "
                "run: 3 lines of code",
                "::warning file=lib/a.c,line=12,endLine=12,title=Not executed::line 12 did not run",
                "::warning file=lib/b.c,line=5,endLine=5,title=Not executed::line 5 did not run",
            }));
}

TEST(CoverageGithub, LimitsTheNumberOfAnnotations) {
  Coverage coverage;
  for (int i = 0; i < 25; ++i)
    coverage.files.push_back(file_of(fmt::format("/src/{:02}.c", i), {{1, 0}}));
  const auto lines = lines_of(to_github(coverage, "/src"));
  EXPECT_EQ(lines.size(), 11U);
  EXPECT_TRUE(lines[0].ends_with("; the 10 largest of 25 ranges of lines that did not run are "
                                 "annotated"));
  EXPECT_EQ(lines_of(to_github(coverage, "/src", 0)).size(), 26U);
  EXPECT_EQ(to_github(Coverage(), ""), "::notice title=Coverage::no lines of code\n");
}

TEST(CoverageGithub, EscapesNames) {
  Coverage coverage;
  coverage.files = {file_of("/src/100%,a:b\r\n::error::\x1b.c", {{1, 0}})};
  const auto lines = lines_of(to_github(coverage, "/src"));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_TRUE(lines[1].starts_with(
      "::warning file=100%25%2Ca%3Ab%0D%0A%3A%3Aerror%3A%3A?.c,line=1,endLine=1,title="))
      << lines[1];
}

// The first number beyond all lines is not representable.
TEST(CoverageJson, HasUncertainCountsAndAllTotals) {
  Coverage coverage;
  coverage.files = {file_of("/src/a.c", {{1, 3}, {2, 0}})};
  FileCoverage &file = coverage.files[0];
  file.lines[1].uncertain = INT64_MAX;
  file.decisions = {{2, 1, 0}};
  file.lines[0].last_decision = 1;
  file.regions = {4, 3, 1, 1};
  EXPECT_EQ(to_json(coverage, "/src", FileOrder::file, 0),
            R"({"root":"/src","totals":{"lines":2,"lines_run":1,"functions":0,"functions_run":0,)"
            R"("branches":0,"branches_taken":0,"mcdc":2,"mcdc_covered":1,"regions":4,)"
            R"("regions_covered":3,"instantiations":1,"instantiations_covered":1},)"
            R"("files":[{"file":"/src/a.c","lines":2,"lines_run":1,"functions":0,)"
            R"("functions_run":0,"branches":0,"branches_taken":0}],"functions":[],)"
            R"("lines":[{"file":"/src/a.c","line":1,"count":{"count":3,"at_least":false,)"
            R"("exact":true}},{"file":"/src/a.c","line":2,"count":{"count":0,"at_least":true,)"
            R"("exact":false}}]})"
            "\n");
}

TEST(LiveCoverageSource, ShowsTheLastPossibleLine) {
  const FileCoverage file =
      file_of("/no/such/source.y", {{7, 1}, {UINT32_MAX - 1, 2}, {UINT32_MAX, 3}});
  const std::string text =
      source_to_text({&file, 8, UINT32_MAX}, {{file.path, UINT32_MAX}}, "/", {});
  const auto lines = lines_of(text);
  ASSERT_EQ(lines.size(), 5u) << text; // path, error, head, and two rows
  EXPECT_NE(lines[3].find("2  4294967294"), std::string::npos) << text;
  EXPECT_NE(lines[4].find("3  4294967295"), std::string::npos) << text;
  EXPECT_TRUE(lines[4].starts_with("=>")) << text;
}

TEST(LiveCoverageSource, NamesAnObjectThatIsOlder) {
  const FileCoverage file = file_of("/no/such/source.y", {{7, 1}});
  const CoveredSource source{&file, 1, UINT32_MAX, "/b/old\x1b.gcno"};
  EXPECT_TRUE(source_to_text(source, {}, "/", {})
                  .ends_with("\n/no/such/source.y was changed after /b/old?.gcno was built: "
                             "counts may be beside wrong lines\n"));
  EXPECT_NE(source_to_json(source, {}).find(R"("older":"/b/old\u001b.gcno")"), std::string::npos);
}

TEST(LiveCoverageSource, FindsFunctionsByTheirNamesInCxx) {
  Coverage coverage;
  coverage.files = {file_of("/src/a.cpp", {{1, 1}, {9, 1}})};
  coverage.files[0].functions = {{"(anonymous namespace)::hidden(int)", 1, 2, 1},
                                 {"int twice<int>(int)", 3, 4, 1},
                                 {"A::operator()(int) const", 5, 6, 1},
                                 {"ns::f(int)", 7, 8, 1}};
  for (const auto &[name, line] : std::initializer_list<std::pair<const char *, uint32_t>>{
           {"hidden", 1},
           {"(anonymous namespace)::hidden", 1},
           {"(anonymous namespace)::hidden(int)", 1},
           {"twice<int>", 3},
           {"twice", 3},
           {"operator()", 5},
           {"A::operator()", 5},
           {"f", 7},
           {"ns::f(int)", 7}}) {
    const auto source = covered_source(coverage, name);
    ASSERT_TRUE(source) << name << ": " << source.error().text();
    EXPECT_EQ(source->first, line) << name;
  }
  for (const char *name : {"idden", "s::f", "int"})
    EXPECT_FALSE(covered_source(coverage, name)) << name;
}

// The lines of template instances have only the sum of their counts.
// Clang 14 does not note where a function ends.
TEST(LiveCoverageFunctions, EndBeforeTheNextOneIfTheirEndIsUnknown) {
  Coverage coverage;
  coverage.files.push_back(file_of("/src/a.c", {{1, 0}, {2, 0}, {5, 3}, {6, 3}, {9, 1}}));
  coverage.files[0].functions = {{"e", 1, 0, 0}, {"f", 5, 0, 3}, {"g", 9, 0, 1}};
  EXPECT_EQ(lines_of(functions_to_text(coverage, "/src", {})),
            (std::vector<std::string>{
                "#  calls  lines run  function  place",
                "1      3        2/2  f         a.c:5",
                "2      1        1/1  g         a.c:9",
            }));
  for (const auto &[name, last] : {std::pair("e", 2u), {"f", 6u}, {"g", 9u}}) {
    const auto source = covered_source(coverage, name);
    ASSERT_TRUE(source) << name;
    EXPECT_EQ(source->last, last) << name;
  }
}

TEST(LiveCoverageFunctions, LeaveOutAnInstanceThatNeverRan) {
  Coverage coverage;
  coverage.files = {file_of("/src/a.cpp", {{1, 4}, {2, 4}, {5, 3}})};
  coverage.files[0].functions = {{"int twice<char>(char)", 1, 2, 0},
                                 {"int twice<int>(int)", 1, 2, 4},
                                 {"main", 5, 6, 0}}; // a thread was in it before the mark
  const std::string text = functions_to_text(coverage, "/src", {});
  EXPECT_EQ(text.find("twice<char>"), std::string::npos) << text;
  EXPECT_NE(text.find("twice<int>"), std::string::npos) << text;
  EXPECT_NE(text.find("main"), std::string::npos) << text;
}

} // namespace
} // namespace tally::report_coverage_test
