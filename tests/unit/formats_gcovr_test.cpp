#include <algorithm>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "../support/coverage_text.h"
#include "../support/sanitized.h"
#include "formats/formats.h"
#include "formats/gcovr/gcovr.h"
#include "temporary.h"

namespace tally::formats_gcovr_test {
namespace {

Result<Coverage> read(std::string_view bytes, Diagnostics &diagnostics) {
  return gcovr::read(*ByteSource::of(bytes, "a.json"), diagnostics);
}

Coverage coverage(std::string_view bytes) {
  Diagnostics diagnostics;
  auto out = read(bytes, diagnostics);
  EXPECT_TRUE(out) << out.error().text() << "\n" << bytes;
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

std::string document(std::string_view lines, std::string_view functions = "",
                     std::string_view version = "0.3") {
  return fmt::format(R"({{"gcovr/format_version": "{}", "files": [{{"file": "a.c", "lines": [{}], )"
                     R"("functions": [{}]}}]}})",
                     version, lines, functions);
}

Written written(const Coverage &coverage, const WriteOptions &options = {}) {
  auto out = gcovr::write(coverage, options);
  EXPECT_TRUE(out) << out.error().text();
  return std::move(*out);
}

// Returns coverage with everything that a version may hold.
Coverage full() {
  FileCoverage a;
  a.path = "/src/a.c";
  a.lines = {{3, 2, 0, 2, 0, 1}, {4, 0, 2, 2, 1, 1}};
  a.branches = {{1, true, false}, {0, false, true}};
  a.conditions = {{2, 0b01, 0b10}};
  a.functions = {{"_Z1fi", 3, 9, 2}, {"g(int)", 11, 0, 0}};
  FileCoverage b;
  b.path = "/other/b \"c\"\\d.c";
  b.lines = {{1, 1, 0, 0, 0, 0}};
  Coverage all;
  all.files = {b, a};
  return all;
}

TEST(Gcovr, ReadsTheOutputOfVersion5) {
  const std::string text =
      R"({"files": [{"file": "a.c", "functions": [{"execution_count": 2, "lineno": 3, )"
      R"("name": "f(int) const"}], "lines": [)"
      R"({"branches": [{"count": 1, "fallthrough": true, "throw": false}, {"count": 0, )"
      R"("fallthrough": false, "throw": true}], "count": 2, "gcovr/excluded": false, )"
      R"("gcovr/noncode": false, "line_number": 3},)"
      R"({"branches": [{"count": 9, "fallthrough": false, "throw": false}], "count": 7, )"
      R"("gcovr/excluded": true, "gcovr/noncode": false, "line_number": 4},)"
      R"({"branches": [], "count": 7, "gcovr/excluded": false, "gcovr/noncode": true, )"
      R"("line_number": 5},)"
      R"({"branches": [], "count": 0, "gcovr/excluded": false, "gcovr/noncode": false, )"
      R"("line_number": 6, "gcovr/decision": {"type": "switch", "count": 1}}]}], )"
      R"("gcovr/format_version": "0.3"})";
  EXPECT_EQ(text_of(coverage(text)), "file a.c\nfunction f(int) const 3-0 2\n3 2 1f 0e\n6 0\n");
  EXPECT_TRUE(gcovr::probe(text));
  ASSERT_EQ(findings(text).size(), 1u);
  EXPECT_NE(findings(text)[0].find("note: gcovr/decision is not kept"), std::string::npos);
}

TEST(Gcovr, ReadsTheOutputOfVersion8) {
  EXPECT_EQ(
      text_of(coverage(document(
          R"({"line_number": 3, "function_name": "_Z1fi", "count": 2, "branches": [)"
          R"({"count": 1, "fallthrough": true, "throw": false, "source_block_id": 2, )"
          R"("destination_block_id": 3}, {"count": 5, "fallthrough": false, "throw": false, )"
          R"("gcovr/excluded": true}], "conditions": [{"conditionno": 0, "count": 4, "covered": 3, )"
          R"("not_covered_false": [1], "not_covered_true": []}], "block_ids": [1, 2], )"
          R"("gcovr/md5": "x", "gcovr/data_sources": [["x", "y"]]},)"
          // A line occurs once for each function that it belongs to.
          R"({"line_number": 3, "function_name": "_Z1gi", "count": 5, "branches": [)"
          R"({"count": 4, "fallthrough": false, "throw": false}]},)"
          R"({"line_number": 2, "function_name": "<unknown function>", "count": 1, "branches": []})",
          R"({"name": "_Z1fi", "demangled_name": "f(int) const", "lineno": 3, "execution_count": 2, )"
          R"("blocks_percent": 66.7, "pos": ["3:1", "9:2"]},)"
          R"({"demangled_name": "g(int) const", "lineno": 3, "execution_count": 5, )"
          R"("blocks_percent": 1e1},)"
          R"({"name": "h", "lineno": 4, "execution_count": 5, "gcovr/excluded": true},)"
          R"({"name": "<unknown function>", "lineno": 0})",
          "0.14"))),
      "file a.c\nfunction _Z1fi 3-9 2\nfunction g(int) const 3-0 5\n2 1\n3 7 5f 2:3,1\n");
}

TEST(Gcovr, ReadsBackEachVersion) {
  for (const auto &[version, name] : gcovr::versions) {
    const Written out = written(full(), {.root = "/src/", .gcovr_version = std::string(name)});
    Coverage expected = full();
    expected.files[1].path = "a.c";
    FileCoverage &a = expected.files[1];
    if (version < gcovr::Version::v0_3)
      a.functions.clear();
    if (version < gcovr::Version::v0_10) {
      a.conditions.clear();
      a.lines[0].last_condition = a.lines[1].first_condition = a.lines[1].last_condition = 0;
      for (FunctionCoverage &function : a.functions)
        function.end_line = 0;
    }
    EXPECT_EQ(text_of(coverage(out.bytes)), text_of(expected)) << name;
    EXPECT_TRUE(findings(out.bytes).empty()) << name;
    EXPECT_TRUE(gcovr::probe(out.bytes)) << name;
    EXPECT_TRUE(nlohmann::json::accept(out.bytes)) << name;
    EXPECT_EQ(written(coverage(out.bytes), {.gcovr_version = std::string(name)}).bytes, out.bytes);
  }
}

// The keys that gcovr's readers require.
TEST(Gcovr, WritesTheKeysOfEachVersion) {
  const auto of = [](const std::string &version) {
    return nlohmann::json::parse(written(full(), {.gcovr_version = version}).bytes);
  };
  const auto line = [&](const std::string &version) { return of(version)["files"][1]["lines"][0]; };
  const auto function = [&](const std::string &version) {
    return of(version)["files"][1]["functions"][0];
  };
  EXPECT_EQ(of("0.1")["gcovr/format_version"], 0.1);
  EXPECT_EQ(of("0.2")["gcovr/format_version"], "0.2");
  EXPECT_FALSE(of("0.2")["files"][1].contains("functions"));
  EXPECT_FALSE(line("0.2").contains("gcovr/excluded"));
  EXPECT_EQ(line("0.3").dump(), R"({"branches":[{"count":1,"fallthrough":true,"throw":false},)"
                                R"({"count":0,"fallthrough":false,"throw":true}],"count":2,)"
                                R"("gcovr/excluded":false,"gcovr/noncode":false,"line_number":3})");
  EXPECT_EQ(function("0.3").dump(), R"({"execution_count":2,"lineno":3,"name":"_Z1fi"})");
  EXPECT_EQ(line("0.5").size(), 3u);
  EXPECT_TRUE(line("0.6")["branches"][0].contains("blockno"));
  EXPECT_EQ(function("0.6").size(), 5u);
  EXPECT_TRUE(line("0.10").contains("conditions"));
  EXPECT_EQ(function("0.10").dump(),
            R"j({"blocks_percent":0.0,"demangled_name":"f(int)","execution_count":2,"lineno":3,)j"
            R"("name":"_Z1fi","pos":["3:0","9:0"]})");
  EXPECT_TRUE(line("0.11")["branches"][0].contains("source_block_id"));
  EXPECT_EQ(line("0.14")["branches"][1]["branchno"], 1);
  EXPECT_EQ(line("0.14")["conditions"][0].dump(),
            R"({"conditionno":0,"count":4,"covered":2,"not_covered_false":[0],)"
            R"("not_covered_true":[1]})");
  EXPECT_EQ(
      of("0.14")["files"][1]["functions"][1].dump(),
      R"j({"blocks_percent":0.0,"demangled_name":"g(int)","execution_count":0,"lineno":11})j");
  EXPECT_EQ(of("")["gcovr/format_version"], "0.14");
  const auto unknown = gcovr::write({}, {.gcovr_version = "9"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(unknown.error().message, "unknown version '9' of gcovr's JSON (there are: 0.1, 0.2, "
                                     "0.3, 0.5, 0.6, 0.10, 0.11, 0.14)");
}

// Clang's MC/DC follows GCC's conditions, with one outcome of each term for both.
TEST(Gcovr, WritesMcdcAsConditions) {
  Coverage all = full();
  FileCoverage &a = all.files[1];
  for (LineCoverage &line : a.lines)
    line.first_decision = line.last_decision = 1;
  a.lines[0].first_decision = 0;
  a.decisions = {{3, 0b101, 0}};
  const Written out = written(all, {.gcovr_version = "0.14"});
  EXPECT_EQ(nlohmann::json::parse(out.bytes)["files"][1]["lines"][0]["conditions"][1].dump(),
            R"({"conditionno":1,"count":6,"covered":4,"not_covered_false":[1],)"
            R"("not_covered_true":[1]})");
  const auto lost = [&](const char *version) {
    return written(all, {.gcovr_version = version}).lost;
  };
  EXPECT_EQ(lost("0.14")[0], "the kind of MC/DC (both outcomes of a term are written alike)");
  a.conditions.clear();
  for (LineCoverage &line : a.lines)
    line.first_condition = line.last_condition = 0;
  EXPECT_TRUE(std::ranges::count(lost("0.6"), "conditions (this version of the layout has none)"));
}

TEST(Gcovr, ReportsWhatTheLayoutCannotHold) {
  Coverage all = full();
  all.tests.push_back({"t", all.files});
  all.files[0].lines = {{0, 1, 0, 0, 0, 0}, {1, -1, 0, 0, 0, 0}};
  all.files[0].path = "\xFF";
  all.files[1].functions.push_back({"g(int)", 12, 0, 1});
  EXPECT_EQ(written(all, {.gcovr_version = "0.3"}).lost,
            (std::vector<std::string>{
                "the coverage of each test (the sum of all tests is written)",
                "the separate start lines of functions with the same name (their sum is written)",
                "the last lines of functions (this version of the layout has none)",
                "conditions (this version of the layout has none)", "lines without a line number",
                "negative counts (written as 1, because the code ran)",
                "names and paths that are empty or not valid UTF-8 (changed)"}));
  EXPECT_EQ(written(full()).lost,
            (std::vector<std::string>{"the percentage of each function's blocks that ran (0 is "
                                      "written, because gcovr requires a number)"}));
  EXPECT_EQ(written(full(), {.gcovr_version = "0.1"}).lost[0],
            "functions (this version of the layout has none)");
}

TEST(Gcovr, AddsUpFilesAndLines) {
  EXPECT_EQ(text_of(coverage(
                R"({"files": [{"file": "b", "lines": [{"line_number": 9, "count": 1}, )"
                R"({"line_number": 2, "count": 1, "branches": [{"count": 1}]}, )"
                R"({"line_number": 2, "count": 3, "branches": [{"count": 2}, {"count": 7}]}]}, )"
                R"({"file": "a", "lines": [], "functions": null}, )"
                R"({"file": "b", "lines": [{"line_number": 9, "count": 5, "branches": []}]}], )"
                R"("gcovr/format_version": 0.1})")),
            "file a\nfile b\n2 4 3 7\n9 6\n");
}

TEST(Gcovr, ReportsOdditiesAsDiagnostics) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(findings(R"({"gcovr/format_version": "9.1", "files": []})"),
            (Texts{"a.json: warning: has version 9.1 of gcovr's JSON, which is unknown: only known "
                   "keys are read"}));
  const std::string negative = document(R"({"line_number": 3, "count": -4, "branches": []})");
  EXPECT_EQ(text_of(coverage(negative)), "file a.c\n3 1\n");
  EXPECT_NE(findings(negative).at(0).find("-fprofile-update=atomic"), std::string::npos);
  const std::string large = document(R"({"line_number": 3, "count": 18446744073709551615})");
  EXPECT_EQ(text_of(coverage(large)), "file a.c\n3 1\n");
  EXPECT_NE(findings(large).at(0).find("does not fit in 63 bits"), std::string::npos);
  EXPECT_EQ(text_of(coverage(document(R"({"line_number": 0, "count": 1, "branches": []})"))),
            "file a.c\n");
  EXPECT_EQ(findings(document(R"({"line_number": 3, "count": 4, "conditions": [{"count": 2, )"
                              R"("covered": 2, "not_covered_true": [0]}]})"))
                .at(0),
            "a.json:0x72: warning: covered: says 2, but the lists say 1");
  EXPECT_EQ(findings(document(R"({"line_number": 3, "count": 4, "conditions": [{"count": 130}]})"))
                .size(),
            1u);
}

TEST(Gcovr, ErrorsStateTheOffset) {
  const auto line = [](std::string_view value) {
    return error(
        fmt::format(R"({{"files": [{{"file": "a", "lines": [{{"count": {}}}]}}]}})", value));
  };
  EXPECT_EQ(line("1.5"), "a.json:0x2d: 1.5 of count is not a whole number that fits in 63 bits");
  EXPECT_EQ(line("1e3"), "a.json:0x2d: 1e3 of count is not a whole number that fits in 63 bits");
  EXPECT_EQ(error(R"({"files": [{"file": "a", "lines": [{"line_number": 9223372036854775808}]}]})"),
            "a.json:0x33: 9223372036854775808 does not fit in 63 bits");
  EXPECT_EQ(
      line("99999999999999999999"),
      "a.json:0x2d: 99999999999999999999 of count is not a whole number that fits in 63 bits");
  EXPECT_EQ(line("1e999"), "a.json:0x2d: the number is too large");
  EXPECT_EQ(line(R"("\"1")"), "a.json:0x2d: expected a whole number as count");
  EXPECT_EQ(line("true"), "a.json:0x2d: expected a whole number as count");
  EXPECT_EQ(line("[]"), "a.json:0x2d: expected a whole number as count");
  EXPECT_EQ(line("5"), "a.json:0x23: a line without line_number");
  EXPECT_EQ(line("x"), "a.json:0x2d: is not JSON here: found 'x}]}]}'");
  EXPECT_EQ(error("{\"files\": ["), "a.json:0xb: truncated: the JSON does not end");
  EXPECT_EQ(error("{}"), "a.json: is not a tracefile of gcovr: there is no files");
  EXPECT_EQ(error("{\"files\": []}"),
            "a.json: is not a tracefile of gcovr: there is no gcovr/format_version");
  EXPECT_EQ(error("{\"files\": [1]}"), "a.json:0xb: this is not a part of a tracefile");
  EXPECT_EQ(error("{\"files\": [[]]}"), "a.json:0xb: this is not a part of a tracefile");
  EXPECT_EQ(error("{\"files\": {}}"), "a.json:0xa: expected a list as files");
  EXPECT_EQ(error("{\"files\": [], \"files\": []}"), "a.json:0x17: files occurs twice");
  EXPECT_EQ(error(R"({"files": [{"filename": "a", "line_total": 3}]})"),
            "a.json: is gcovr's summary, which has no lines: use the output of `gcovr --json`");
  EXPECT_EQ(error(document(R"({"line_number": 4294967296, "count": 1})")),
            "a.json:0x44: there is no line 4294967296");
  EXPECT_EQ(error(document(R"({"conditions": [{"count": 4, "not_covered_true": [2]}]})")),
            "a.json:0x54: there is no term 2 of 2");
  EXPECT_EQ(error(document(R"({"conditions": [{"count": 3}]})")),
            "a.json:0x54: a condition cannot have 3 outcomes: each term has two");
  std::string deep = R"({"gcovr/format_version":"0.3","files":[],"x":)";
  EXPECT_TRUE(gcovr::probe(deep));
  deep += std::string(1'000'000, '[');
  EXPECT_NE(error(deep).find("is more than 64 levels deep"), std::string::npos);
  Diagnostics ignored;
  const auto sum = read(document(R"({"line_number": 3, "count": 9223372036854775807}, )"
                                 R"({"line_number": 3, "count": 1})"),
                        ignored);
  ASSERT_FALSE(sum);
  EXPECT_EQ(sum.error().code, ErrorCode::overflow);
  EXPECT_EQ(sum.error().source, "a.c");
}

TEST(Gcovr, IsRecognizedByItsKeys) {
  EXPECT_TRUE(gcovr::probe(" {\n \"gcovr/format_version\""));
  EXPECT_TRUE(gcovr::probe("{\"files\" : [ {\"file\": \"a.c\", \"functions\""));
  EXPECT_FALSE(gcovr::probe(""));
  EXPECT_FALSE(gcovr::probe("\"gcovr/"));
  EXPECT_FALSE(gcovr::probe(R"({"gcc_version": "12.2", "files": [)"));
  EXPECT_FALSE(gcovr::probe(R"({"meta": {}, "files": {)"));
  EXPECT_EQ((*format_for_output("x.gcovr.json", "", "--to"))->name, "gcovr");
  TemporaryFolder folder;
  Diagnostics diagnostics;
  for (const char *version : {"0.1", "0.3", "0.14"}) {
    const auto read = read_file(
        folder.put("plain", written(full(), {.gcovr_version = version}).bytes), diagnostics);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->format->name, "gcovr");
  }
}

TEST(Gcovr, AllowsALineThatOccursVeryOften) {
  std::string lines = R"({"line_number": 1, "count": 0})";
  constexpr int times = TALLY_SANITIZED ? 10'000 : 100'000;
  for (int i = 0; i < times; ++i)
    lines += R"(, {"line_number": 1, "count": 1, "branches": [{"count": 2}]})";
  EXPECT_EQ(text_of(coverage(document(lines))),
            fmt::format("file a.c\n1 {} {}\n", times, 2 * times));
}

} // namespace
} // namespace tally::formats_gcovr_test
