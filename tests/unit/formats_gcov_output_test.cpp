// Reading gcov's own output: its JSON and annotated sources.
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "formats/gcov_output/gcov_output.h"
#include "line_rows.h"

namespace tally::formats_gcov_output_test {
namespace {

Result<Coverage> json(std::string_view text, Diagnostics *found = nullptr) {
  Diagnostics diagnostics;
  return gcov_output::read_json(*ByteSource::of(text, "x"), found ? *found : diagnostics);
}
Result<Coverage> annotated(std::string_view text, Diagnostics *found = nullptr) {
  Diagnostics diagnostics;
  return gcov_output::read_text(*ByteSource::of(text, "x"), found ? *found : diagnostics);
}

std::string document(const std::string &lines, const std::string &functions = "") {
  return R"({"gcc_version": "14", "current_working_directory": "/b", "files": [{"file": "a.c", )"
         R"("functions": [)" +
         functions + R"(], "lines": [)" + lines + "]}]}";
}

TEST(GcovJson, Reads) {
  const std::string text = document(
      R"({"line_number": 4, "count": 7, "branches": [{"count": 2, "fallthrough": true, "throw": false},
          {"count": 0, "fallthrough": false, "throw": true}],
          "conditions": [{"count": 4, "covered": 2, "not_covered_true": [1], "not_covered_false": [0]}]},
         {"line_number": 3, "count": 0, "branches": []}, {"line_number": 3, "count": 5, "branches": []})",
      R"({"name": "f", "start_line": 3, "end_line": 5, "execution_count": 7})");
  EXPECT_TRUE(gcov_output::probe_json(text));
  const auto read = json(text);
  ASSERT_TRUE(read) << read.error().text();
  const FileCoverage &file = read->files.at(0);
  EXPECT_EQ(file.path, "/b/a.c");
  EXPECT_EQ(line_rows_of(file), (std::vector<LineRow>{{3, 5, {}}, {4, 7, {2, 0}}}));
  EXPECT_TRUE(file.branches[0].fall_through);
  EXPECT_TRUE(file.branches[1].throws);
  ASSERT_EQ(file.conditions.size(), 1u);
  EXPECT_EQ(file.conditions[0].terms, 2u);
  EXPECT_EQ(file.conditions[0].when_true, 1u);
  EXPECT_EQ(file.conditions[0].when_false, 2u);
  ASSERT_EQ(file.functions.size(), 1u);
  EXPECT_EQ(file.functions[0].end_line, 5u);
  EXPECT_EQ(file.functions[0].count, 7);
}

TEST(GcovJson, RefusesWhatMakesNoSense) {
  for (const auto &[text, message] : std::vector<std::pair<std::string, std::string>>{
           {"{", "0x1"},
           {"{}", "list of files"},
           {R"({"files": [{}]})", "name of a file"},
           {document(R"({"count": 1})"), "number of a line as line_number"},
           {document(R"({"line_number": 1})"), "count of 63 bits as count"},
           {document(R"({"line_number": 1, "count": 1, "branches": [{}]})"), "count of 63 bits"},
           {document(R"({"line_number": 1, "count": 1, "conditions": [{"count": 3}]})"), "even"},
           {document(R"({"line_number": 1, "count": 1, "conditions":
                        [{"count": 2, "not_covered_true": [1]}]})"),
            "index of a term"},
           {document("", R"({"start_line": 1})"), "name of a function"},
       }) {
    const auto read = json(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().text().find(message), std::string::npos) << read.error().text();
  }
  Diagnostics diagnostics;
  const auto odd = json(document(R"({"line_number": 0, "count": -4},
                                    {"line_number": 1, "count": 1, "conditions": [{"count": 130}]})"),
                        &diagnostics);
  ASSERT_TRUE(odd);
  EXPECT_EQ(line_rows_of(odd->files[0]), (std::vector<LineRow>{{1, 1, {}}}));
  EXPECT_EQ(diagnostics.findings().size(), 3u);
}

TEST(GcovText, Reads) {
  const std::string text = "        -:    0:Source:sub/a.cpp\n"
                           "        -:    0:Graph:a.gcno\n"
                           "        -:    1:// a: comment\n"
                           "function _Z1fi called 5 returned 100% blocks executed 57%\n"
                           "       5*:    2:int f(int a) {\n"
                           "        3:    2-block  0\n"
                           "branch  0 taken 3 (fallthrough)\n"
                           "branch  1 taken 0 (throw)\n"
                           "branch  2 never executed\n"
                           "call    0 returned 1\n"
                           "    #####:    3:  return \"::\";\n"
                           "    =====:    4:}\n"
                           "        -:    0:Source:b.c\n"
                           "        1:    9:x\n"
                           "unconditional  0 taken 1\n";
  EXPECT_TRUE(gcov_output::probe_text(text));
  EXPECT_FALSE(gcov_output::probe_text("        -:    1:a\n"));
  const auto read = annotated(text);
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->files.size(), 2u);
  EXPECT_EQ(read->files[0].path, "b.c");
  EXPECT_EQ(line_rows_of(read->files[0]), (std::vector<LineRow>{{9, 1, {}}}));
  const FileCoverage &file = read->files[1];
  EXPECT_EQ(file.path, "sub/a.cpp");
  EXPECT_EQ(line_rows_of(file), (std::vector<LineRow>{{2, 5, {3, 0, 0}}, {3, 0, {}}, {4, 0, {}}}));
  EXPECT_TRUE(file.branches[0].fall_through);
  EXPECT_TRUE(file.branches[1].throws);
  ASSERT_EQ(file.functions.size(), 1u);
  EXPECT_EQ(file.functions[0].name, "_Z1fi");
  EXPECT_EQ(file.functions[0].start_line, 2u);
  EXPECT_EQ(file.functions[0].count, 5);
}

TEST(GcovText, CountsTemplatesOnceAndSharesAsOne) {
  Diagnostics diagnostics;
  const auto read = annotated("        -:    0:Source:a.cpp\n"
                              "        3:    1:template <class T> T f(T a) {\n"
                              "------------------\n"
                              "int f<int>(int):\n"
                              "function _Z1fIiET_S0_ called 2 returned 100% blocks executed 100%\n"
                              "        2:    1:template <class T> T f(T a) {\n"
                              "branch  0 taken 50%\n"
                              "------------------\n"
                              "long f<long>(long):\n"
                              "function _Z1fIlET_S0_ called 1 returned 100% blocks executed 100%\n"
                              "        1:    1:template <class T> T f(T a) {\n"
                              "branch  0 taken 0%\n"
                              "------------------\n"
                              "        1:    4:}\n",
                              &diagnostics);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(line_rows_of(read->files.at(0)), (std::vector<LineRow>{{1, 3, {1}}, {4, 1, {}}}));
  EXPECT_EQ(read->files[0].functions.size(), 2u);
  EXPECT_EQ(diagnostics.findings().size(), 1u);
}

TEST(GcovText, RefusesWhatMakesNoSense) {
  const std::string head = "        -:    0:Source:a.c\n";
  for (const auto &[text, message] : std::vector<std::pair<std::string, std::string>>{
           {head + "what is this\n", "x:2:1: expected COUNT:LINE:TEXT"},
           {"        1:    1:a\n", "x:1:1: a line before the header"},
           {head + "     1.2k:    1:a\n", "is rounded: run gcov without -H"},
           {head + "        x:    1:a\n", "expected a count, found 'x'"},
           {head + "branch  0 taken 1\n", "a branch without a line"},
           {head + "        1:    1:a\nbranch  0 went\n", "whether the branch was taken"},
           {head + "function f\n", "the name of a function"},
           {"        -:    0:Source:\n", "a source without a name"},
       }) {
    const auto read = annotated(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().text().find(message), std::string::npos) << read.error().text();
  }
}

} // namespace
} // namespace tally::formats_gcov_output_test
