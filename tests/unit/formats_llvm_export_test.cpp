// Reading the JSON of llvm-cov export.
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "formats/llvm/export.h"
#include "line_rows.h"

namespace tally::formats_llvm_export_test {
namespace {

Result<Coverage> read(std::string_view text, Diagnostics *found = nullptr) {
  Diagnostics diagnostics;
  return llvm::read_export(*ByteSource::of(text, "x"), found ? *found : diagnostics);
}

std::string document(const std::string &files, const std::string &functions) {
  return R"({"data":[{"files":[)" + files + R"(],"functions":[)" + functions +
         R"(],"totals":{}}],"type":"llvm.coverage.json.export","version":"2.0.1"})";
}

// Line 3 has a branch, and line 4 one in the body of a macro at line 1, which is also a decision.
const std::string source = R"({"filename":"/a.c","segments":[],"expansions":[],"branches":[]})";
const std::string function = R"({"name":"f","count":5,"filenames":["/a.c","/a.c","/left.h"],
  "regions":[[2,10,6,2,5,0,0,0],[3,9,3,12,2,0,0,0],[4,5,4,9,5,0,1,1],[1,9,1,20,5,1,0,0],
             [1,1,9,1,7,2,0,0]],
  "branches":[[3,6,3,7,2,3,0,0,4],[1,9,1,12,1,4,1,0,6],[1,16,1,20,0,1,1,0,6]],
  "mcdc_records":[[1,9,1,20,0,5,[true,false]]]})";

TEST(LlvmExport, ReadsFunctions) {
  const std::string text = document(source, function);
  EXPECT_TRUE(llvm::probe_export(text));
  EXPECT_TRUE(llvm::probe_export("{\n  \"data\": [\n    {\n      \"files\": [\n"));
  EXPECT_FALSE(llvm::probe_export(R"({"data":[{"time":1}]})"));
  const auto coverage = read(text);
  ASSERT_TRUE(coverage) << coverage.error().text();
  ASSERT_EQ(coverage->files.size(), 1u); // the export leaves the other one out
  const FileCoverage &file = coverage->files[0];
  EXPECT_EQ(file.path, "/a.c");
  EXPECT_EQ(line_rows_of(file), (std::vector<LineRow>{{1, 5, {1, 4, 0, 1}},
                                                      {2, 5, {}},
                                                      {3, 5, {2, 3}},
                                                      {4, 5, {1, 5}},
                                                      {5, 5, {}},
                                                      {6, 5, {}}}));
  ASSERT_EQ(file.decisions_of(file.lines[0]).size(), 1u);
  EXPECT_EQ(file.decisions[0].terms, 2u);
  EXPECT_EQ(file.decisions[0].covered, 1u);
  ASSERT_EQ(file.functions.size(), 1u);
  EXPECT_EQ(file.functions[0].name, "f");
  EXPECT_EQ(file.functions[0].start_line, 2u);
  EXPECT_EQ(file.functions[0].end_line, 6u);
  EXPECT_EQ(file.functions[0].count, 5);
  EXPECT_EQ(file.regions, (RegionTotals{4, 4, 1, 1}));
}

TEST(LlvmExport, ReadsSourcesWithoutFunctions) {
  Diagnostics findings;
  const auto coverage = read(
      document(R"({"filename":"/a.c","segments":[[2,10,5,true,true,false],[3,9,2,true,true,false],
                   [3,12,5,true,false,false],[6,2,0,false,false,false]],
                   "branches":[[3,6,3,7,2,3,0,0,4]],
                   "expansions":[{"source_region":[4,5,4,9,5,0,1,1],"branches":
                     [[1,9,1,12,1,4,1,0,6],[1,16,1,20,0,1,1,0,6],[7,1,7,2,8,9,3,0,4]]}],
                   "mcdc_records":[[2,9,2,20,1,1,0,0,5,[true,false],[{}]]],
                   "summary":{"regions":{"count":4,"covered":3},
                              "instantiations":{"count":2,"covered":1}}})",
               ""),
      &findings);
  ASSERT_TRUE(coverage) << coverage.error().text();
  ASSERT_EQ(coverage->files.size(), 1u);
  const FileCoverage &file = coverage->files[0];
  EXPECT_EQ(line_rows_of(file),
            (std::vector<LineRow>{
                {2, 5, {}}, {3, 5, {2, 3}}, {4, 5, {1, 5, 8, 9}}, {5, 5, {}}, {6, 5, {}}}));
  ASSERT_EQ(file.decisions_of(file.lines[0]).size(), 1u);
  EXPECT_EQ(file.regions, (RegionTotals{4, 3, 2, 1}));
  ASSERT_EQ(findings.findings().size(), 1u);
  EXPECT_EQ(findings.findings()[0].severity, Severity::note);
}

std::string with(const std::string &from, const std::string &to) {
  std::string text = function;
  text.replace(text.find(from), from.size(), to);
  return document(source, text);
}

TEST(LlvmExport, RefusesWhatMakesNoSense) {
  const std::string begin = R"({"filename":"/a.c","segments":)";
  for (const auto &[text, message] : std::vector<std::pair<std::string, std::string>>{
           {"{", "0x1"},
           {R"({"type":"x","data":[]})", "is not JSON of llvm-cov"},
           {document("{}", ""), "expected the name of a file"},
           {document(R"({"filename":"/a.c","summary":{}})", ""), "without -summary-only"},
           {document(begin + "[[1]]}", ""), "expected the number of a column"},
           {document(begin + "[[1,1,0,true,true],[0,9,1,true,true]]}", ""), "above it"},
           {document(begin + "[[1,1,-3,true,true]]}", ""), "expected a count"},
           {with(R"("name":"f",)", ""), "expected the name of a function"},
           {with("[2,10,6,2,5,0,0,0]", "[2,10,6,2,5,0,0]"), "8 numbers of a region"},
           {with("[2,10,6,2,5,0,0,0]", "[2,10,6,2,5,3,0,0]"), "index of a file"},
           {with("[2,10,6,2,5,0,0,0]", "[2,10,6,2,5,0,9,1]"), "index of a file"},
           {with("[2,10,6,2,5,0,0,0]", "[2,10,6,2,5,0,0,4]"), "kind of a region"},
           {with("[2,10,6,2,5,0,0,0]", "[2,10,1,2,5,0,0,0]"), "not before the start"},
           {with("[2,10,6,2,5,0,0,0]", "[99999999,1,99999999,2,5,0,0,0]"), "number of a line"},
           {with("[3,6,3,7,2,3,0,0,4]", "[3,6,3,7,2]"), "9 numbers of a branch"},
           {with("5,[true,false]", "5"), "expected a decision"},
           {document(source, R"({"name":"f","count":1,"filenames":[],"regions":[]})"), "regions"},
       }) {
    const auto refused = read(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_NE(refused.error().text().find(message), std::string::npos) << refused.error().text();
  }
}

TEST(LlvmExport, CountsOfThreadsContradictEachOther) {
  for (const char *const count : {"9223372036854775807", "18446744073709551611"}) {
    Diagnostics findings;
    const auto coverage =
        read(with("[3,9,3,12,2,0,0,0]", std::string("[3,9,3,12,") + count + ",0,0,0]"), &findings);
    ASSERT_TRUE(coverage) << coverage.error().text();
    EXPECT_EQ(coverage->files[0].lines[2].count, 5);
    ASSERT_EQ(findings.findings().size(), 1u);
  }
}

} // namespace
} // namespace tally::formats_llvm_export_test
