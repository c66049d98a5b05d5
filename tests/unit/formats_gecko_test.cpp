#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "formats/firefox/firefox.h"
#include "formats/firefox/frame_text.h"
#include "formats/formats.h"
#include "formats/stack_depth.h"
#include "temporary.h"
#include "timed_profile.h"

namespace tally::formats_gecko_test {
namespace {

using Json = nlohmann::json;

// As Firefox writes it: the libraries come first, and rows end with their last value.
constexpr std::string_view gecko = R"json({
  "libs": [{"start": 4096, "end": 8192, "offset": 1024, "name": "libxul.so",
            "path": "/opt/firefox/libxul.so", "debugName": "libxul.so", "debugPath": "",
            "breakpadId": "F1D957D30B413D55A539BBA06F90DD8F0", "codeId": "D357D9F1", "arch": ""}],
  "meta": {"version": 33, "interval": 2, "startTime": 1000, "profilingStartTime": 1,
           "product": "Firefox", "stackwalk": 1},
  "sources": {"schema": {"id": 0, "filename": 1}, "data": [["u", "https://a.example/x.js"]]},
  "threads": [{
    "name": "GeckoMain", "processName": "Parent Process", "pid": 12, "tid": 13,
    "samples": {"schema": {"stack": 0, "time": 1, "eventDelay": 2},
                "data": [[2, 2], [null, 3], [3, 4.5, 0], [1, 5, 0]]},
    "stackTable": {"schema": {"prefix": 0, "frame": 1},
                   "data": [[null, 0], [0, 1], [1, 2], [1, 1]]},
    "frameTable": {"schema": {"location": 0, "relevantForJS": 1, "innerWindowID": 2,
                              "implementation": 3, "line": 4},
                   "data": [[0], [1], [2, false, null, null, 34]]},
    "stringTable": ["(root)", "0x1234", "draw (https://a.example/x.js:12:7)[0]"]
}],
  "processes": [{
    "meta": {"version": 33, "startTime": 1010.5},
    "libs": [], "processes": [],
    "threads": [{
      "name": "Worker", "processName": "Web Content", "pid": 20, "tid": 21,
      "samples": {"schema": {"stack": 0, "time": 1}, "data": [[0, 0]]},
      "stackTable": {"schema": {"prefix": 0, "frame": 1}, "data": [[null, 0]]},
      "frameTable": {"schema": {"location": 0}, "data": [[0]]},
      "stringTable": ["poll (in libc.so.6)"]
    }]
  }]
})json";

Result<StackProfile> parsed_gecko(std::string_view text) {
  Diagnostics diagnostics;
  auto read = firefox::read(*ByteSource::of(text, "x"), diagnostics);
  if (!read)
    return fail(std::move(read.error()));
  return std::get<StackProfile>(std::move(*read));
}

TEST(Gecko, ReadsWhatFirefoxWrites) {
  const auto profile = parsed_gecko(gecko);
  ASSERT_TRUE(profile) << profile.error().text();
  const StackProfile &p = *profile;
  ASSERT_EQ(p.value_types().size(), 1u);
  EXPECT_EQ(p.strings[p.value_types()[0].type], "ticks");
  EXPECT_EQ(p.period_ns, 2'000'000u);
  EXPECT_EQ(p.strings[p.command], "Firefox");
  ASSERT_EQ(p.threads().size(), 2u);
  const Thread &main = p.threads()[ThreadId{0}], &worker = p.threads()[ThreadId{1}];
  EXPECT_EQ(std::pair(main.pid, main.tid), std::pair(12, 13));
  EXPECT_EQ(p.strings[main.process], "Parent Process");
  EXPECT_EQ(p.strings[worker.process], "Web Content");
  EXPECT_EQ(p.strings[worker.name], "Worker");
  ASSERT_EQ(p.times().size(), 5u);
  EXPECT_EQ(p.times()[0].at_ns, 1'000'000u); // since the recording began
  EXPECT_EQ(p.times()[4].at_ns, 9'500'000u); // the other process began later
}

// The viewer takes the same functions, files and lines from these texts.
TEST(Gecko, KnowsTheFunctionsOfFrames) {
  const auto profile = parsed_gecko(gecko);
  ASSERT_TRUE(profile) << profile.error().text();
  const StackProfile &p = *profile;
  const Sample first = p.sample(0);
  const Location leaf = p.location(p.stack_location(first.stack));
  ASSERT_EQ(leaf.lines.size(), 1u);
  const SourceFunction &draw = p.functions()[leaf.lines[0].function];
  EXPECT_EQ(p.strings[draw.name], "draw");
  EXPECT_EQ(p.strings[draw.file], "https://a.example/x.js");
  EXPECT_EQ(p.strings[draw.object], "https://a.example");
  EXPECT_EQ(draw.line, 12u);
  EXPECT_EQ(leaf.lines[0].line, 34u);
  // The caller is a return address.
  const Location caller = p.location(p.stack_location(p.stack_caller(first.stack)));
  EXPECT_TRUE(caller.lines.empty());
  EXPECT_EQ(caller.address, 0x1233u);
  const Mapping &mapping = p.mappings()[caller.mapping];
  EXPECT_EQ(p.strings[mapping.path], "/opt/firefox/libxul.so");
  EXPECT_EQ(p.strings[mapping.build_id], "d357d9f1");
  EXPECT_TRUE(mapping.has_bias);
  EXPECT_EQ(mapping.bias, 4096u - 1024);
  // The same frame at the end of a stack is where the processor was.
  const Location at_end = p.location(p.stack_location(p.sample(3).stack));
  EXPECT_EQ(at_end.address, 0x1234u);
  EXPECT_EQ(p.mappings().size(), 1u);
}

TEST(Gecko, UnderstandsTheTextsOfFrames) {
  const auto expect = [](std::string_view text, std::string_view name, std::string_view file = "",
                         std::string_view object = "", uint32_t line = 0) {
    const firefox::FrameText frame = firefox::frame_text(text);
    EXPECT_FALSE(frame.address) << text;
    EXPECT_EQ(frame.name, name) << text;
    EXPECT_EQ(frame.file, file) << text;
    EXPECT_EQ(frame.object, object) << text;
    EXPECT_EQ(frame.line, line) << text;
  };
  EXPECT_EQ(firefox::frame_text("0x7fffa0000010").address, 0x7fffa0000010u);
  expect("0xylophone", "0xylophone");
  expect("0x", "0x");
  expect("0x11112222333344445", "0x11112222333344445"); // more than 64 bits
  expect("Startup::XRE_Main", "Startup::XRE_Main");
  expect("f(int) (in libxul.so)", "f(int)", "", "libxul.so");
  expect("f(int) (in libxul.so) + 12", "f(int)", "", "libxul.so");
  expect("f(int) (in libxul.so) (a.cpp:12)", "f(int)", "", "libxul.so");
  expect("non-virtual thunk to A::f() (in x)", "A::f()", "", "x");
  expect("f (in x) + y", "f (in x) + y");
  expect("f (in x", "f (in x");
  expect("go (chrome://a/b.js:34)", "go", "chrome://a/b.js", "chrome://a/b.js", 34);
  expect("go (https://a.example:80/b.js:34:5)[7]", "go", "https://a.example:80/b.js",
         "https://a.example:80", 34);
  expect("https://a.example/b.js:34", "(root scope) https://a.example/b.js",
         "https://a.example/b.js", "https://a.example", 34);
  expect("go (resource://a.js -> resource://b.js:3:1)", "go", "resource://b.js", "resource://b.js",
         3);
  expect("go (self-hosted:99999999999:1)", "go", "self-hosted", "self-hosted", UINT32_MAX);
  expect("(:12:13)", "(:12:13)");
  expect("", "");
  EXPECT_EQ(firefox::frame_text("go (a.js:1:2)[7]").source_index, 7u);
}

// Before version 14, what enters JavaScript has a prefix.
TEST(Gecko, ReadsOldVersionsOfFirefox) {
  Json file = Json::parse(gecko);
  file["threads"][0]["stringTable"][0] = "AutoEntryScript setTimeout handler";
  const auto root_of = [&](int version) {
    file["meta"]["version"] = version;
    const auto profile = parsed_gecko(file.dump());
    EXPECT_TRUE(profile) << profile.error().text();
    const Location at = profile->location(LocationId{0});
    return std::string(profile->strings[profile->functions()[at.lines[0].function].name]);
  };
  EXPECT_EQ(root_of(5), "setTimeout handler");
  EXPECT_EQ(root_of(13), "setTimeout handler");
  EXPECT_EQ(root_of(14), "AutoEntryScript setTimeout handler");
  for (const int version : {4, 37}) {
    file["meta"]["version"] = version;
    const auto read = parsed_gecko(file.dump());
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::unsupported);
    EXPECT_NE(read.error().message.find("version " + std::to_string(version)), std::string::npos);
  }
  file["meta"].erase("version");
  EXPECT_EQ(parsed_gecko(file.dump()).error().code, ErrorCode::unsupported);
}

TEST(Gecko, LimitsTheDepth) {
  Json file = Json::parse(gecko);
  Json &rows = file["threads"][0]["stackTable"]["data"];
  for (size_t row = 4; row < most_frames + 2; ++row)
    rows.push_back({row - 1, 0}); // row 3 has 3 frames
  EXPECT_FALSE(parsed_gecko(file.dump()));
  EXPECT_EQ(parsed_gecko(file.dump()).error().code, ErrorCode::limit);
  rows.erase(rows.size() - 1);
  EXPECT_TRUE(parsed_gecko(file.dump()));
}

TEST(Gecko, SaysWhereItIsWrong) {
  const auto expect_error_at = [&](std::string_view what, std::string_view instead,
                                   std::string_view message) {
    std::string text(gecko);
    const size_t at = text.find(what);
    ASSERT_NE(at, text.npos) << what;
    text.replace(at, what.size(), instead);
    const auto read = parsed_gecko(text);
    ASSERT_FALSE(read) << instead;
    EXPECT_NE(read.error().message.find(message), std::string::npos) << read.error().text();
    EXPECT_EQ(read.error().where.kind, Position::Kind::offset) << instead;
  };
  expect_error_at("[2, 2]", "[4, 2]", "stack 4 does not exist");
  expect_error_at("[2, 2]", "[2]", "expected a time");
  expect_error_at("[2, 2]", "[2, \"x\"]", "expected a time");
  expect_error_at("[2, 2]", "[2, 1e300]", "does not fit");
  expect_error_at("[2, 2]", "{}", "expected a row of samples");
  expect_error_at("[0, 1]", "[2, 1]", "earlier stack 2 does not exist");
  expect_error_at("[0, 1]", "[0, 5]", "frame 5 does not exist");
  expect_error_at("[0, 1]", "[0]", "a stack without a frame");
  expect_error_at("[[0], [1]", "[[0], [9]", "string 9 does not exist");
  expect_error_at("[[0], [1]", "[[0], []", "a frame without a location");
  expect_error_at("\"(root)\"", "7", "expected text in stringTable");
  expect_error_at("\"stringTable\"", "\"strings\"", "stringTable is missing");
  expect_error_at("\"stackTable\"", "\"stacks\"", "stackTable is missing");
  expect_error_at("\"time\": 1", "\"when\": 1", "samples has no time");
  expect_error_at("\"time\": 1", "\"time\": 64", "expected the index of time");
  expect_error_at("\"start\": 4096", "\"start\": \"x\"", "expected an address as start");
  expect_error_at("\"startTime\": 1010.5", "\"x\": 0", "startTime of a process is missing");
  expect_error_at("\"threads\"", "\"thread\"", "the list of threads is missing");
}

TEST(Gecko, IsRecognizedByItsBeginning) {
  EXPECT_TRUE(firefox::probe(gecko));
  EXPECT_TRUE(firefox::probe(R"({"libs":[],"meta":{"version":33,"categories":[)"));
  EXPECT_TRUE(firefox::probe(R"({"meta":{"version":33,"stackwalk":1)"));
  EXPECT_FALSE(firefox::probe(R"({"libs":[{"name":"x")"));
  EXPECT_FALSE(firefox::probe(R"({"libs":{)"));
  const TemporaryFolder folder;
  Diagnostics diagnostics;
  const auto read = read_file(folder.put("x.json", std::string(gecko)), diagnostics);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->format->name, "firefox");
}

} // namespace
} // namespace tally::formats_gecko_test
