// Tests gcov's JSON of notes and counters that are built here byte by byte.
#include <gtest/gtest.h>

#include "coverage/gcov_counts.h"
#include "formats/gcov.h"
#include "gcov_bytes.h"
#include "report/gcov_json.h"

namespace tally::report_gcov_json_test {
namespace {

std::string findings_of(const Diagnostics &diagnostics) {
  std::string out;
  for (const Finding &finding : diagnostics.findings())
    out += finding.text() + "\n";
  return out;
}

std::string json_of(const std::string &notes_bytes, const std::string *data_bytes,
                    std::string *findings = nullptr) {
  Diagnostics diagnostics;
  const auto notes = read_gcov_notes(notes_bytes, "x.gcno", diagnostics);
  if (!notes)
    return notes.error().text();
  std::optional<GcovData> data;
  if (data_bytes) {
    auto read = read_gcov_data(*data_bytes, "x.gcda", diagnostics);
    if (!read)
      return read.error().text();
    data = std::move(*read);
  }
  const auto counters = match_counters(*notes, data ? &*data : nullptr, "x.gcda", diagnostics);
  const auto counts = count_as_gcov(notes->graph, counters, "x.gcno", diagnostics);
  if (findings)
    *findings = findings_of(diagnostics);
  GcovDocument document;
  document.compiler = "12.2";
  document.data_file = "x.gcda";
  document.graph = &notes->graph;
  document.counts = &counts;
  return to_gcov_json(document);
}

std::string json_of(const Layout &layout) {
  const std::string data = counters_of_loops(layout);
  std::string findings;
  std::string json = json_of(notes_of_loops(layout), &data, &findings);
  EXPECT_EQ(findings, "");
  return json;
}

TEST(GcovJson, CountsASmallFile) {
  const std::string json = json_of({gcc_12});
  EXPECT_NE(json.find("\"current_working_directory\": \"/src/x\""), json.npos);
  EXPECT_NE(json.find("\"count\": 42, \"line_number\": 50, "), json.npos) << json;
  EXPECT_NE(json.find("\"count\": 40, \"line_number\": 51, "), json.npos) << json;
  EXPECT_NE(json.find("\"count\": 8589934601, \"line_number\": 90, "), json.npos) << json;
  EXPECT_NE(json.find("\"name\": \"nine\", \"blocks_executed\": 3, \"execution_count\": 2"),
            json.npos)
      << json;
}

TEST(GcovJson, ReadsAnyByteOrderAndUnitOfLengths) {
  const std::string json = json_of({gcc_12});
  for (const bool big_endian : {false, true}) {
    EXPECT_EQ(json_of({gcc_12, big_endian}), json);
    EXPECT_EQ(json_of({gcc_11, big_endian}), json);
    const std::string clang = json_of({clang_14, big_endian, true});
    EXPECT_EQ(clang, json_of({clang_14, false, true}));
    EXPECT_NE(clang.find("\"count\": 42, \"line_number\": 50, "), clang.npos) << clang;
    // Clang writes GCC 12's version before the older layout.
    const std::string pretended = json_of({gcc_12, big_endian, true});
    EXPECT_NE(pretended.find("\"count\": 8589934601, \"line_number\": 90, "), pretended.npos)
        << pretended;
  }
}

// Until version 10, Clang writes the function's name into the counters, too, and only one checksum.
TEST(GcovJson, ReadsCountersWithFunctionNames) {
  const Layout layout{"402*", false, true};
  Bytes notes = notes_header(layout);
  notes.record(0x01000000, [](Bytes &to) { to.word(0).word(11).text("foo").text("f.c").word(1); });
  put_blocks(notes, layout, 3);
  put_arcs(notes, {0, 1, 1});
  put_arcs(notes, {1, 2, 0});
  put_line(notes, 1, 4);
  notes.word(0).word(0);
  Bytes data = header(layout, "gcda", 77);
  data.record(gcov_tag_function, [](Bytes &to) { to.word(0).word(11).text("foo"); });
  data.record(gcov_tag_counters, [](Bytes &to) { to.count(594); });
  data.word(0).word(0);
  std::string findings;
  const std::string json = json_of(notes.bytes(), &data.bytes(), &findings);
  EXPECT_NE(json.find("\"count\": 594, \"line_number\": 4, "), json.npos) << json;
  EXPECT_EQ(findings, "");
}

TEST(GcovJson, IgnoresCountersOfAnotherCompilation) {
  const Layout layout{gcc_12};
  std::string findings;
  const std::string data = counters_of_loops(layout, 78);
  EXPECT_EQ(json_of(notes_of_loops(layout), &data, &findings),
            json_of(notes_of_loops(layout), nullptr));
  EXPECT_NE(findings.find("x.gcda: warning: the stamp differs"), findings.npos) << findings;
}

TEST(GcovJson, StopsCountingAtAFunctionThatDiffers) {
  const Layout layout{gcc_12};
  const auto with = [&](auto put) {
    Bytes out = header(layout, "gcda", 77);
    put(out);
    out.word(0);
    std::string findings;
    const std::string json = json_of(notes_of_loops(layout), &out.bytes(), &findings);
    return std::pair(json, findings);
  };
  const auto function = [](Bytes &out, uint32_t ident, uint32_t checksum, int counters) {
    out.record(gcov_tag_function, [&](Bytes &to) { to.word(ident).word(11).word(checksum); });
    out.record(gcov_tag_counters, [&](Bytes &to) {
      for (int i = 0; i < counters; ++i)
        to.count(6);
    });
  };
  auto [json, findings] = with([&](Bytes &out) {
    function(out, 5, 23, 2);
    function(out, 9, 22, 2);
  });
  EXPECT_NE(findings.find("the checksum of function five differs"), findings.npos) << findings;
  // The functions after it are reported as not run.
  EXPECT_NE(json.find("\"name\": \"nine\", \"blocks_executed\": 0"), json.npos) << json;
  auto [json2, findings2] = with([&](Bytes &out) {
    function(out, 5, 22, 2);
    function(out, 9, 22, 3);
  });
  EXPECT_NE(findings2.find("the number of counters of function nine differs"), findings2.npos);
  EXPECT_NE(json2.find("\"name\": \"five\""), json2.npos);
  EXPECT_NE(json2.find("\"name\": \"nine\", \"blocks_executed\": 0"), json2.npos);
  auto [json3, findings3] = with([&](Bytes &out) {
    function(out, 6, 22, 2);
    function(out, 9, 22, 2);
  });
  EXPECT_NE(findings3.find("counters of function 6, which is not in the notes"), findings3.npos);
  EXPECT_NE(json3.find("\"name\": \"nine\""), json3.npos);
}

} // namespace
} // namespace tally::report_gcov_json_test
