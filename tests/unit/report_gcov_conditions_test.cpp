// Tests what GCC 14 adds: conditions, blocks and calls. The files here are not made by that
// compiler.
#include <algorithm>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "coverage/coverage_of.h"
#include "coverage/gcov_counts.h"
#include "formats/gcov.h"
#include "gcov_bytes.h"
#include "report/gcov_json.h"

namespace tally::report_gcov_conditions_test {
namespace {

constexpr Layout gcc_14{"B41*"};
using Json = nlohmann::json;

// Returns notes of two functions, in line 10 and line 20, each with the arcs 0 -> 2, 2 -> 3
// (counted), 2 -> 4 (counted), 3 -> 4, and from 4 to the exit, by a call that does not return
// (counted) or through 5. Block 2 has a condition of 3 terms, and block 3, in the next line, one of
// 1 term.
std::string notes_of(const Layout &layout = gcc_14, bool conditions = true) {
  Bytes out = notes_header(layout);
  for (const uint32_t ident : {1u, 2u}) {
    const uint32_t line = ident * 10;
    put_function(out, layout, ident, ident == 1 ? "one" : "two", line);
    put_blocks(out, layout, 6);
    put_arcs(out, {0, 2, arc_on_tree});
    put_arcs(out, {2, 3, 0, 4, arc_fall_through});
    put_arcs(out, {3, 4, arc_on_tree | arc_fall_through});
    put_arcs(out, {4, 1, arc_fake, 5, arc_on_tree | arc_fall_through});
    put_arcs(out, {5, 1, arc_on_tree});
    if (conditions)
      out.record(tag_conditions, [](Bytes &to) { to.word(2).word(3).word(3).word(1); });
    put_line(out, 2, line);
    put_line(out, 3, line + 1);
    put_line(out, 4, line + 1);
  }
  return out.bytes();
}

using Values = std::vector<int64_t>;

void put_counters(Bytes &out, uint32_t tag, const Values &values) {
  out.record(tag, [&](Bytes &to) {
    for (const int64_t value : values)
      to.count(value);
  });
}

// Returns counters in which function 1 ran 7 times, and its call did not return twice.
std::string data_of(const Values &conditions, const Layout &layout = gcc_14) {
  Bytes out = header(layout, "gcda", 77);
  for (const uint32_t ident : {1u, 2u}) {
    out.record(gcov_tag_function, [&](Bytes &to) { to.word(ident).word(11).word(22); });
    put_counters(out, gcov_tag_counters, ident == 1 ? Values{4, 3, 2} : Values{0, 0, 0});
    if (ident == 1)
      put_counters(out, counter_tag(GcovCounter::conditions), conditions);
    else
      out.word(counter_tag(GcovCounter::conditions)).word(static_cast<uint32_t>(-32));
  }
  return out.word(0).bytes();
}

struct Counted {
  GcovNotes notes;
  GcovCounts counts;
  Diagnostics findings;

  Json json(bool branches = true, bool conditions = true) const {
    return Json::parse(to_gcov_json({.compiler = "14.1",
                                     .data_file = "x.gcda",
                                     .gcc3 = false,
                                     .branches = branches,
                                     .format_2 = notes.header.version >= GcovVersion::v14,
                                     .conditions = conditions,
                                     .graph = &notes.graph,
                                     .counts = &counts}));
  }
  Json line(uint32_t number, bool branches = true, bool conditions = true) const {
    const Json whole = json(branches, conditions);
    for (const Json &line : whole["files"][0]["lines"])
      if (line["line_number"] == number)
        return line;
    return {};
  }
};

Counted counted(const std::string &notes_bytes, const std::string *data_bytes) {
  Counted out;
  auto notes = read_gcov_notes(notes_bytes, "x.gcno", out.findings);
  EXPECT_TRUE(notes) << notes.error().text();
  out.notes = std::move(*notes);
  std::optional<GcovData> data;
  if (data_bytes) {
    auto read = read_gcov_data(*data_bytes, "x.gcda", out.findings);
    EXPECT_TRUE(read) << read.error().text();
    data = std::move(*read);
  }
  const auto counters = match_counters(out.notes, data ? &*data : nullptr, "x.gcda", out.findings);
  GcovOptions options;
  options.blocks = out.notes.header.version >= GcovVersion::v14;
  out.counts = count_as_gcov(out.notes.graph, counters, "x.gcno", out.findings, options);
  return out;
}
Counted counted(const Values &conditions) {
  const std::string data = data_of(conditions);
  return counted(notes_of(), &data);
}

TEST(Conditions, ListTermsThatWereNotCovered) {
  const Counted of = counted({0b101, 0b010, 0, 1});
  EXPECT_TRUE(of.findings.findings().empty());
  EXPECT_EQ(of.json()["format_version"], "2");
  EXPECT_EQ(of.line(10)["conditions"], Json::parse(R"([{"count": 6, "covered": 3,
    "not_covered_true": [1], "not_covered_false": [0, 2]}])"));
  EXPECT_EQ(of.line(11)["conditions"], Json::parse(R"([{"count": 2, "covered": 1,
    "not_covered_true": [0], "not_covered_false": []}])"));
  // Its counters are not stored, because they are all 0.
  EXPECT_EQ(of.line(20)["conditions"], Json::parse(R"([{"count": 6, "covered": 0,
    "not_covered_true": [0, 1, 2], "not_covered_false": [0, 1, 2]}])"));
}

TEST(Conditions, AreReportedOnRequestOnly) {
  const Counted of = counted({7, 7, 1, 1});
  EXPECT_EQ(of.line(10, true, false)["conditions"], Json::array());
  EXPECT_EQ(of.line(10, false, true)["conditions"].size(), 1u);
  EXPECT_EQ(of.line(10, false, true)["branches"], Json::array());
  EXPECT_EQ(of.line(11, false, true)["calls"], Json::array());
}

TEST(Conditions, AreNotCoveredWithoutCounters) {
  const Counted of = counted(notes_of(), nullptr);
  EXPECT_EQ(of.line(10)["conditions"][0]["covered"], 0);
  EXPECT_EQ(of.line(10)["conditions"][0]["count"], 6);
}

TEST(Conditions, IgnoreBitsBeyondTheTerms) {
  const Counted of = counted({-1, -1, -1, -1});
  EXPECT_EQ(of.line(10)["conditions"][0]["covered"], 6);
  EXPECT_EQ(of.line(11)["conditions"][0]["covered"], 2);
}

TEST(Conditions, MismatchedNumberEndsTheCounting) {
  const Counted of = counted({1, 2});
  ASSERT_EQ(of.findings.findings().size(), 1u);
  EXPECT_NE(of.findings.findings()[0].message.find("the number of conditions of function one"),
            std::string::npos);
  EXPECT_EQ(of.line(10)["conditions"][0]["covered"], 0);
  EXPECT_EQ(of.line(20)["count"], 0);
}

// A block of several lines belongs to each of them; its condition belongs to the last one.
TEST(Conditions, BelongToTheLastLineOfTheirBlock) {
  Bytes notes(gcc_14);
  notes = notes_header(gcc_14);
  put_function(notes, gcc_14, 1, "f", 1);
  put_blocks(notes, gcc_14, 4);
  put_arcs(notes, {0, 2, 0});
  put_arcs(notes, {2, 3, arc_on_tree});
  put_arcs(notes, {3, 1, arc_on_tree});
  notes.record(tag_conditions, [](Bytes &to) { to.word(2).word(2); });
  notes.record(tag_lines, [](Bytes &to) {
    to.word(2).word(0).text("f.c").word(2).word(3).word(0).text("f.c").word(4);
    to.word(0).text("f.c").word(4).word(0).text(""); // the same line again
  });
  const Counted of = counted(notes.bytes(), nullptr);
  EXPECT_EQ(of.line(2)["block_ids"], Json::array());
  EXPECT_EQ(of.line(3)["block_ids"], Json({2}));
  EXPECT_EQ(of.line(4)["block_ids"], Json({2, 2}));
  EXPECT_EQ(of.line(3)["conditions"], Json::array());
  EXPECT_EQ(of.line(4)["conditions"].size(), 1u);
}

TEST(Conditions, AreUnitedWhenCountersAreAdded) {
  Diagnostics findings;
  auto data = read_gcov_data(data_of({0b100, 0b010, 0, 1}), "x.gcda", findings);
  const auto more = read_gcov_data(data_of({0b101, 0, 1, 1}), "y.gcda", findings);
  ASSERT_TRUE(data && more);
  ASSERT_TRUE(data->add(*more));
  const std::string sum = *data->bytes();
  const Counted of = counted(notes_of(), &sum);
  EXPECT_EQ(of.line(10)["conditions"][0]["not_covered_true"], Json({1}));
  EXPECT_EQ(of.line(10)["conditions"][0]["not_covered_false"], Json({0, 2}));
  EXPECT_EQ(of.line(11)["conditions"][0]["covered"], 2);
}

TEST(Conditions, AreUnitedForInstancesOfAFunction) {
  Counted of = counted({0b101, 0b010, 0, 1});
  Diagnostics findings;
  const auto coverage = coverage_of(of.notes.graph, of.counts, findings);
  ASSERT_TRUE(coverage);
  const FileCoverage &file = coverage->files.at(0);
  const auto conditions = file.conditions_of(file.lines.at(0));
  ASSERT_EQ(conditions.size(), 1u);
  EXPECT_EQ(conditions[0].terms, 3u);
  EXPECT_EQ(conditions[0].when_true, 0b101u);
  EXPECT_EQ(conditions[0].when_false, 0b010u);
  const CoverageTotals totals = totals_of(*coverage);
  EXPECT_EQ(totals.outcomes, 2 * (6 + 2u));
  EXPECT_EQ(totals.outcomes_covered, 4u);
  // Turn both functions into instances of one, with rows for the same lines.
  const StringId name = of.notes.graph.functions[GraphFunctionId{0}].name;
  of.notes.graph.functions[GraphFunctionId{1}].name = name;
  for (GcovLine &line : of.counts.files[0].lines)
    line.line %= 10;
  const auto instances = coverage_of(of.notes.graph, of.counts, findings);
  ASSERT_TRUE(instances);
  EXPECT_EQ(totals_of(*instances).outcomes, 6 + 2u);
  EXPECT_EQ(totals_of(*instances).outcomes_covered, 4u);
}

TEST(Format2, ListsBlocksBranchesAndCalls) {
  const Counted of = counted({0, 0, 0, 0});
  EXPECT_EQ(of.line(10), Json::parse(R"({"line_number": 10, "function_name": "one", "count": 7,
    "unexecuted_block": false, "block_ids": [2], "calls": [],
    "branches": [
      {"count": 4, "throw": false, "fallthrough": false, "source_block_id": 2,
       "destination_block_id": 3},
      {"count": 3, "throw": false, "fallthrough": true, "source_block_id": 2,
       "destination_block_id": 4}],
    "conditions": [{"count": 6, "covered": 0, "not_covered_true": [0, 1, 2],
                    "not_covered_false": [0, 1, 2]}]})"));
  EXPECT_EQ(of.line(11)["block_ids"], Json({3, 4}));
  EXPECT_EQ(of.line(11)["calls"],
            Json::parse(R"([{"source_block_id": 4, "destination_block_id": 1, "returned": 5}])"));
}

// If a line has two functions and neither is an instance of the other, the entries of one follow
// those of the other.
TEST(Format2, ListsBothFunctionsOfALine) {
  Bytes notes = notes_header(gcc_14);
  for (const uint32_t ident : {1u, 2u, 3u}) {
    put_function(notes, gcc_14, ident, "f", ident);
    put_blocks(notes, gcc_14, 4 + ident);
    put_arcs(notes, {0, 2, 0});
    for (uint32_t block = 2; block < 3 + ident; ++block)
      put_arcs(notes, {block, block + 1, arc_on_tree});
    put_arcs(notes, {3 + ident, 1, arc_on_tree});
    notes.record(tag_conditions, [&](Bytes &to) { to.word(1 + ident).word(ident); });
    put_line(notes, 1 + ident, 50);
    put_line(notes, 2, 60);
  }
  const Counted of = counted(notes.bytes(), nullptr);
  EXPECT_EQ(of.line(50)["block_ids"], Json({2, 3, 4}));
  std::vector<int> outcomes;
  const Json line = of.line(50);
  for (const Json &condition : line["conditions"])
    outcomes.push_back(condition["count"]);
  EXPECT_EQ(outcomes, (std::vector{4, 6}));
  EXPECT_EQ(of.line(60)["block_ids"], Json({2, 2, 2}));
  EXPECT_EQ(of.line(60)["conditions"][0]["count"], 2); // the condition of the last block added here
}

TEST(Format1, HasNoBlocksCallsOrConditions) {
  const Layout layout{gcc_12};
  const std::string notes = notes_of(layout);
  Bytes plain = header(layout, "gcda", 77);
  for (const uint32_t ident : {1u, 2u}) {
    plain.record(gcov_tag_function, [&](Bytes &to) { to.word(ident).word(11).word(22); });
    put_counters(plain, gcov_tag_counters, {4, 3, 2});
    put_counters(plain, counter_tag(GcovCounter::conditions), {1, 2, 3}); // another kind in GCC 12
  }
  const std::string data = plain.word(0).bytes();
  const Counted of = counted(notes, &data);
  EXPECT_TRUE(of.findings.findings().empty());
  EXPECT_EQ(of.json()["format_version"], "1");
  const Json line = of.line(10);
  for (const char *key : {"block_ids", "calls", "conditions"})
    EXPECT_FALSE(line.contains(key)) << key;
  EXPECT_FALSE(line["branches"][0].contains("source_block_id"));
}

} // namespace
} // namespace tally::report_gcov_conditions_test
