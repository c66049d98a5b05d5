// Trace events of Chrome, which formats/cpuprofile/ reads.
#include <algorithm>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "formats/cpuprofile/cpuprofile.h"
#include "formats/formats.h"
#include "formats/stack_depth.h"
#include "timed_profile.h"

namespace tally::formats_trace_test {
namespace {

Result<StackProfile> parsed(std::string_view text, Diagnostics *found = nullptr) {
  Diagnostics diagnostics;
  auto read = cpuprofile::read_trace(*ByteSource::of(text, "x"), found ? *found : diagnostics);
  if (!read)
    return fail(std::move(read.error()));
  return std::get<StackProfile>(std::move(*read));
}

// Returns "tid a;b nanoseconds" of each stack.
std::vector<std::string> rows_of(std::string_view text, size_t findings = 0) {
  Diagnostics diagnostics;
  const auto profile = parsed(text, &diagnostics);
  EXPECT_TRUE(profile) << profile.error().text();
  std::vector<std::string> out;
  if (!profile)
    return out;
  EXPECT_EQ(diagnostics.findings().size(), findings) << text;
  for (const auto &[key, amount] : shown_totals(*profile)) {
    std::string row = std::to_string(std::get<0>(key));
    for (const ShownFrame &frame : std::get<1>(key)) {
      row += (row.find(' ') == row.npos ? " " : ";") + std::get<0>(frame);
      if (const uint32_t line = std::get<4>(frame); line > 0)
        row += ":" + std::to_string(line);
    }
    out.push_back(row + ' ' + std::to_string(amount));
  }
  return out;
}

// Returns a list of events: "B a 1", "E a 3", "X b 1 2" (with its duration), all of one thread.
std::string events(const std::vector<std::tuple<char, std::string, int, int>> &list) {
  std::string out = "[";
  for (const auto &[phase, name, at, duration] : list) {
    out += out == "[" ? "{" : ",{";
    out += R"("pid":1,"tid":2,"ph":")" + std::string(1, phase) + R"(","ts":)" + std::to_string(at);
    if (!name.empty())
      out += R"(,"name":")" + name + '"';
    if (phase == 'X')
      out += R"(,"dur":)" + std::to_string(duration);
    out += '}';
  }
  return out + "]";
}

using Rows = std::vector<std::string>;

TEST(Trace, NestsEvents) {
  EXPECT_EQ(
      rows_of(events({{'B', "a", 0, 0}, {'X', "b", 2, 3}, {'X', "c", 3, 1}, {'E', "a", 9, 0}})),
      (Rows{"2 a 6000", "2 a;b 2000", "2 a;b;c 1000"}));
  // In any order of the file; a gap belongs to none, and an end needs no name.
  EXPECT_EQ(rows_of(events({{'E', "", 9, 0}, {'X', "b", 20, 1}, {'B', "a", 8, 0}})),
            (Rows{"2 a 1000", "2 b 1000"}));
  // If events begin together, the longer one is outside.
  EXPECT_EQ(
      rows_of(events({{'X', "a", 1, 2}, {'X', "b", 1, 5}, {'B', "c", 1, 0}, {'E', "c", 9, 0}})),
      (Rows{"2 c 3000", "2 c;b 3000", "2 c;b;a 2000"}));
}

TEST(Trace, ReadsEventsThatAreNotNested) {
  EXPECT_EQ(rows_of(events({{'X', "a", 0, 5}, {'X', "b", 3, 5}}), 1),
            (Rows{"2 a 3000", "2 a;b 2000", "2 b 3000"}));
  // What is left of one may be cut again, by those that the first was in.
  EXPECT_EQ(rows_of(events({{'X', "a", 0, 9}, {'X', "b", 1, 4}, {'X', "c", 3, 20}}), 1),
            (Rows{"2 a 1000", "2 a;b 2000", "2 a;b;c 2000", "2 a;c 4000", "2 c 14000"}));
  EXPECT_EQ(rows_of(events({{'B', "a", 0, 0}, {'X', "b", 3, 5}}), 1),
            (Rows{"2 a 3000", "2 a;b 5000"}));
  EXPECT_EQ(
      rows_of(events({{'E', "a", 0, 0}, {'B', "a", 1, 0}, {'E', "b", 2, 0}, {'E', "a", 3, 0}}), 1),
      (Rows{"2 a 2000"}));
  // One that takes no time may end before it begins, unless another end is left over.
  EXPECT_EQ(
      rows_of(events({{'B', "a", 0, 0}, {'E', "b", 2, 0}, {'B', "b", 2, 0}, {'E', "a", 9, 0}})),
      (Rows{"2 a 9000"}));
  EXPECT_EQ(rows_of(events({{'E', "a", 0, 0}, {'B', "a", 0, 0}, {'E', "a", 3, 0}}), 1),
            (Rows{"2 a 3000"}));
}

TEST(Trace, HasTimesAndNames) {
  const auto profile = parsed(R"({"traceEvents": [
    {"ph": "M", "name": "process_name", "pid": 1, "args": {"name": "prog"}},
    {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "main"}},
    {"ph": "X", "name": "a", "pid": 1, "tid": 2, "ts": "1000.25", "dur": "2.5"},
    {"ph": "X", "name": "a", "pid": "1", "tid": "worker", "ts": 1010, "tdur": 1},
    {"ph": "i", "name": "an instant", "pid": 1, "tid": 2, "ts": 5}]})");
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(profile->strings[profile->command], "prog");
  ASSERT_EQ(profile->threads().size(), 2u);
  EXPECT_EQ(profile->strings[profile->threads()[ThreadId{0}].name], "main");
  EXPECT_EQ(profile->threads()[ThreadId{0}].tid, 2);
  EXPECT_EQ(profile->strings[profile->threads()[ThreadId{1}].name], "worker");
  ASSERT_EQ(profile->times().size(), 2u);
  EXPECT_EQ(profile->times()[0].at_ns, 2'500u);
  EXPECT_EQ(profile->times()[1].at_ns, 10'750u);
  EXPECT_EQ(profile->times()[1].amount, 1'000);
}

TEST(Trace, ReplacesTidsByNumbersThatTheFileDoesNotUse) {
  const auto profile = parsed(R"([
    {"ph": "X", "name": "a", "pid": 1, "tid": "x", "ts": 0, "dur": 2},
    {"ph": "X", "name": "a", "pid": 1, "tid": "y", "ts": 0, "dur": 2},
    {"ph": "X", "name": "a", "pid": 1, "tid": -1, "ts": 0, "dur": 2},
    {"ph": "X", "name": "a", "pid": 1, "tid": -3, "ts": 0, "dur": 2}])");
  ASSERT_TRUE(profile) << profile.error().text();
  std::vector<std::pair<int32_t, std::string>> threads;
  for (const Thread &thread : profile->threads())
    threads.emplace_back(thread.tid, profile->strings[thread.name]);
  std::ranges::sort(threads);
  EXPECT_EQ(threads, (std::vector<std::pair<int32_t, std::string>>{
                         {-4, "y"}, {-3, ""}, {-2, "x"}, {-1, ""}}));
}

TEST(Trace, LimitsTheDepthOfStacks) {
  const auto nested = [](size_t depth) {
    std::string out = "[";
    for (size_t i = 1; i < depth; ++i)
      out += R"({"ph":"B","name":"f","pid":1,"tid":2,"ts":)" + std::to_string(i) + "},";
    // Events without an end last until that of the last one, which is the innermost.
    out += R"({"ph":"X","name":"f","pid":1,"tid":2,"ts":1000000,"dur":1})";
    return out;
  };
  if (!TALLY_SANITIZED) { // it takes long
    EXPECT_TRUE(parsed(nested(most_frames)));
  }
  const auto deeper = parsed(nested(most_frames + 1));
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().code, ErrorCode::limit);
  EXPECT_EQ(deeper.error().source, "x");
  EXPECT_EQ(deeper.error().where.kind, Position::Kind::offset);
}

// The end of a list may be missing.
TEST(Trace, ReadsListsWithoutAnEnd) {
  const std::string whole = events({{'X', "a", 0, 5}, {'X', "b", 8, 5}});
  const Rows expected = rows_of(whole);
  for (const std::string_view end : {"", ",", "\n", ",\n "})
    EXPECT_EQ(rows_of(whole.substr(0, whole.size() - 1) + std::string(end)), expected);
  EXPECT_FALSE(parsed(whole.substr(0, whole.size() - 2)));
  const auto wrong = parsed("[[{}");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().where, Position::at_offset(4));
}

// Chrome writes a profile of V8 in chunks, here with a node that is missing.
constexpr std::string_view chunked = R"json({"traceEvents": [
  {"ph": "P", "name": "ProfileChunk", "pid": 1, "tid": 9, "ts": 30, "id": "0x1", "args": {"data": {
    "endTime": 1090, "cpuProfile": {"samples": [3, 2, 7]}, "timeDeltas": [20, 10, 5],
    "lines": [8, 0, 0]}}},
  {"ph": "P", "name": "Profile", "pid": 1, "tid": 2, "ts": 10, "id": "0x1",
   "args": {"data": {"startTime": 1000}}},
  {"ph": "P", "name": "ProfileChunk", "pid": 1, "tid": 9, "ts": 20, "id": "0x1", "args": {"data": {
    "cpuProfile": {"nodes": [
      {"id": 1, "callFrame": {"functionName": "(root)",
                           "url" : "", "lineNumber" : -1
}
},
      {"id": 2, "parent": 1, "callFrame": {"functionName": "f", "url": "/a.js", "lineNumber": 3}},
      {"id": 3, "parent": 2, "callFrame": {"functionName": "g", "url": "/a.js", "lineNumber": 6}}],
     "samples": [2]
}
, "timeDeltas" : [10]
}
}
},
  {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "CrRendererMain"}},
  {"ph": "X", "name": "task", "pid": 1, "tid": 2, "ts": 0, "dur": 100}]
})json";

TEST(Trace, ReadsProfilesOfV8) {
  EXPECT_TRUE(cpuprofile::probe_trace(chunked));
  EXPECT_EQ(rows_of(chunked, 2), (Rows{"2 f 25000", "2 f;g:8 10000"}));
  const auto profile = parsed(chunked);
  EXPECT_EQ(profile->strings[profile->threads()[ThreadId{0}].name], "CrRendererMain");
  ASSERT_EQ(profile->times().size(), 3u);
  EXPECT_EQ(profile->times()[0].at_ns, 30'000u); // since startTime
  // As one event, and without samples in favour of the other events.
  std::string whole(R"([{"ph": "I", "name": "CpuProfile", "pid": 1, "tid": 2, "ts": 1,
    "args": {"data": {"cpuProfile": {"nodes": [{"id": 1, "children": [2, 99], "callFrame":
    {"functionName": "h"}}, {"id": 2, "callFrame": {"functionName": "i"}}], "startTime": 5,
    "endTime": 30, "samples": [2], "timeDeltas": [10]}}}}, {"ph": "X", "name": "task", "pid": 1,
    "tid": 2, "ts": 0, "dur": 100}])");
  EXPECT_EQ(rows_of(whole, 2), Rows{"2 h;i 15000"});
  whole.replace(whole.find("[2], \"time"), 3, "[]");
  whole.replace(whole.find("[10]"), 4, "[]");
  EXPECT_EQ(rows_of(whole), Rows{"2 task 100000"});
}

TEST(Trace, RefusesWhatMakesNoSense) {
  for (const auto &[text, message] : std::vector<std::pair<std::string, std::string>>{
           {"{}", "traceEvents is missing"},
           {"[1]", "expected an event"},
           {"[]", "holds neither"},
           {R"([{"ph":"X"}])", "without ts"},
           {R"([{"ph":"X","ts":"now"}])", "expected a time"},
           {R"([{"ph":"X","ts":1e20}])", "does not fit"},
           {R"([{"ph":"X","ts":4000000000000000}])", "does not fit"},
           {R"([{"ph":"X","ts":1,"dur":-1}])", "negative"},
           {R"([{"name":"ProfileChunk","ts":1,"args":{"data":{"cpuProfile":{"samples":[1]}}}}])",
            "1 samples, but 0 timeDeltas"},
           {R"([{"name":"ProfileChunk","ts":1,"args":{"data":{"cpuProfile":{"samples":["a"]},)"
            R"("timeDeltas":[1]}}}])",
            "id of a node"},
       }) {
    const auto read = parsed(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().text().find(message), std::string::npos) << read.error().text();
  }
}

constexpr std::string_view sampled =
    R"({"traceEvents":[{"ph":"M","name":"thread_name","pid":1,"tid":"2","args":{"name":"js"}},)"
    R"({"ph":"X","name":"not read","pid":1,"tid":"2","ts":1,"dur":5}],)"
    R"("stackFrames":{"1":{"name":"root"},"2":{"name":"f","parent":1},"3":{"name":"g","parent":"2"}},)"
    R"("samples":[{"pid":1,"tid":"2","ts":"10","sf":3,"weight":"2"},{"pid":1,"tid":"2","ts":11,"sf":"2"},)"
    R"({"pid":1,"tid":3,"ts":12,"sf":2,"weight":4}]})";

TEST(Trace, ReadsSamplesWithStacks) {
  EXPECT_EQ(rows_of(sampled, 1), (Rows{"2 root;f 1", "2 root;f;g 2", "3 root;f 4"}));
  const auto profile = parsed(sampled);
  ASSERT_TRUE(profile);
  ASSERT_EQ(profile->times().size(), 3u);
  EXPECT_EQ(profile->times()[2].at_ns, 2000u);
  const auto fraction = parsed(R"({"traceEvents": [], "stackFrames": {"1": {"name": "f"}},
    "samples": [{"weight": 26501.6, "ts": 1, "sf": 1}]})");
  ASSERT_TRUE(fraction) << fraction.error().text();
  EXPECT_EQ(fraction->times()[0].amount, 26502);
}

TEST(Trace, RefusesSamplesWithoutTheirFrames) {
  const auto with = [](std::string from, std::string to) {
    std::string text(sampled);
    text.replace(text.find(from), from.size(), to);
    return parsed(text);
  };
  EXPECT_NE(with(R"("sf":3)", R"("sf":4)").error().text().find("no frame"), std::string::npos);
  EXPECT_EQ(with(R"({"name":"root"})", R"({"name":"root","parent":3})").error().code,
            ErrorCode::limit);
  EXPECT_NE(with(R"("weight":4)", R"("weight":-4)").error().text().find("weight"),
            std::string::npos);
}

TEST(Trace, SaysWhereTheListIsEmpty) {
  const auto read = parsed(R"({"traceEvents":[]})");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::no_data);
  EXPECT_EQ(read.error().where, Position::at_offset(15));
}

// Each format of JSON has its own beginning.
TEST(Trace, IsRecognized) {
  for (const std::string &text :
       {std::string(chunked), events({{'X', "a", 0, 5}}), std::string(R"({"traceEvents":[]})")})
    for (const Format &format : formats())
      EXPECT_EQ(format.probe && format.probe(text), format.name == "chrome-trace")
          << format.name << ' ' << text.substr(0, 40);
  EXPECT_FALSE(cpuprofile::probe_trace("[1, 2]"));
  EXPECT_FALSE(cpuprofile::probe_trace("{}"));
}

} // namespace
} // namespace tally::formats_trace_test
