#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "formats/cpuprofile/cpuprofile.h"
#include "formats/cpuprofile/file_url.h"
#include "formats/formats.h"
#include "formats/stack_depth.h"
#include "timed_profile.h"

namespace tally::formats_cpuprofile_test {
namespace {

using Json = nlohmann::json;

Written written(const StackProfile &profile) {
  auto out = cpuprofile::write(profile, {});
  EXPECT_TRUE(out) << out.error().text();
  return out.value_or(Written{});
}

Result<StackProfile> parsed(std::string_view text, Diagnostics *found = nullptr) {
  Diagnostics diagnostics;
  auto read = cpuprofile::read(*ByteSource::of(text, "x"), found ? *found : diagnostics);
  if (!read)
    return fail(std::move(read.error()));
  return std::get<StackProfile>(std::move(*read));
}

using Stack = std::vector<std::string>; // the functions' names, outermost first
using Totals = std::map<Stack, int64_t>;

// Returns the microseconds of each stack as VS Code counts them: a sample lasts
// until the next one.
Totals shown(const Json &file) {
  std::map<int64_t, Stack> stacks;
  const Json &nodes = file["nodes"];
  for (size_t i = 0; i < nodes.size(); ++i) {
    EXPECT_EQ(nodes[i]["id"], i + 1); // the index, as older versions demand
    const auto name = nodes[i]["callFrame"]["functionName"].get<std::string>();
    Stack &stack = stacks[nodes[i]["id"].get<int64_t>()];
    if (i > 0)
      stack.push_back(name);
    for (const Json &child : nodes[i].value("children", Json::array())) {
      EXPECT_GT(child, nodes[i]["id"]); // breadth first
      stacks[child.get<int64_t>()] = stack;
    }
  }
  Totals out;
  EXPECT_EQ(file["samples"].size(), file["timeDeltas"].size());
  int64_t at = file["startTime"];
  for (size_t i = 0; i < file["samples"].size(); ++i) {
    const auto delta = file["timeDeltas"][i].get<int64_t>();
    EXPECT_GE(delta, 0);
    at += delta;
    const int64_t end = i + 1 < file["samples"].size()
                            ? at + file["timeDeltas"][i + 1].get<int64_t>()
                            : file["endTime"].get<int64_t>();
    if (end > at)
      out[stacks.at(file["samples"][i].get<int64_t>())] += end - at;
  }
  out.erase({"(idle)"});
  return out;
}

int64_t time_of(const Sample &sample) {
  return sample.values[0] * 1'000'000 + sample.values[1] + sample.values[2];
}

// Returns the microseconds of each stack of a thread of a random profile with
// times.
Totals counted(const StackProfile &profile, uint32_t thread) {
  Totals out;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    if (index_of(sample.thread) != thread || time_of(sample) == 0)
      continue;
    Stack stack;
    for (const ShownFrame &frame : shown_stack(profile, sample.stack))
      stack.push_back(std::get<0>(frame));
    out[stack] += time_of(sample) / 1000; // they are whole microseconds
  }
  return out;
}

// Returns the thread with the most ticks, or if these are equal, the longest
// time.
uint32_t busiest(const StackProfile &profile) {
  std::map<uint32_t, std::pair<int64_t, int64_t>> weights;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    auto &[ticks, time] = weights[index_of(sample.thread)];
    ticks += sample.values[0];
    time += time_of(sample);
  }
  uint32_t best = weights.begin()->first;
  for (const auto &[thread, weight] : weights)
    if (weight > weights[best])
      best = thread;
  return best;
}

TEST(CpuProfile, KeepsTheTimeOfEachStack) {
  Random random(911);
  for (int round = 0; round < rounds(300); ++round) {
    const StackProfile profile =
        random_timed_profile(random, 1 + static_cast<int>(pick(random, 60)), round % 3 != 0);
    const Written out = written(profile);
    ASSERT_EQ(shown(Json::parse(out.bytes)), counted(profile, busiest(profile)));
    // What was read is written again with the same times.
    const auto again = parsed(out.bytes);
    ASSERT_TRUE(again) << again.error().text();
    ASSERT_EQ(shown(Json::parse(written(*again).bytes)), shown(Json::parse(out.bytes)));
    int64_t sum = 0;
    for (const SampleTime &time : again->times())
      sum += time.amount;
    ASSERT_EQ(again->totals(), std::vector<int64_t>{sum});
  }
}

// A thread runs until 3 ms, waits until 5 ms in another line, and runs at 8 ms.
StackProfile waiting_once() {
  StackProfileBuilder out;
  out.add_value_type("ticks", "count");
  out.add_value_type("wait", "nanoseconds");
  out.add_value_type("page-faults", "count");
  out.set_period_ns(1'000'000);
  const ThreadId thread = out.add_thread(7, 7, "main"), other = out.add_thread(7, 8, "other");
  const StringId file = out.intern("/s/a b.c");
  const SourceFunctionId f = out.add_function({out.intern("f"), {}, file, {}, 3});
  const SourceFunctionId read =
      out.add_function({out.intern("read"), {}, {}, out.intern("/lib/libc.so"), 0});
  const auto stack = [&](uint32_t line) {
    const SourceLine at{f, file, line};
    return out.push(none<StackId>, out.add_location(none<MappingId>, 0, std::span(&at, 1)));
  };
  const SourceLine in_read{read, {}, 0};
  const StackId waits =
      out.push(stack(6), out.add_location(none<MappingId>, 0, std::span(&in_read, 1)));
  const uint32_t runs =
      out.add_sample(stack(5), thread, none<PartId>, std::vector<int64_t>{4, 0, 9});
  const uint32_t waited =
      out.add_sample(waits, thread, none<PartId>, std::vector<int64_t>{0, 2'000'000, 0});
  out.add_sample(stack(5), other, none<PartId>, std::vector<int64_t>{3, 50'000'000, 0});
  for (const uint64_t ms : {1u, 2u, 3u, 8u})
    out.add_time({ms * 1'000'000, runs, 0, 1});
  out.add_time({5'000'000, waited, 1, 2'000'000});
  return std::move(out.finish()).value();
}

TEST(CpuProfile, DescribesAThread) {
  const Written out = written(waiting_once());
  const Json file = Json::parse(out.bytes);
  EXPECT_EQ(file["nodes"], Json::parse(R"json([
    {"id": 1, "callFrame": {"functionName": "(root)", "scriptId": "0", "url": "",
                            "lineNumber": -1, "columnNumber": -1},
     "hitCount": 0, "children": [2, 3]},
    {"id": 2, "callFrame": {"functionName": "(idle)", "scriptId": "0", "url": "",
                            "lineNumber": -1, "columnNumber": -1}, "hitCount": 2},
    {"id": 3, "callFrame": {"functionName": "f", "scriptId": "1", "url": "file:///s/a%20b.c",
                            "lineNumber": 2, "columnNumber": 0},
     "hitCount": 4, "children": [4], "positionTicks": [{"line": 5, "ticks": 4}]},
    {"id": 4, "callFrame": {"functionName": "read", "scriptId": "2", "url": "file:///lib/libc.so",
                            "lineNumber": -1, "columnNumber": -1}, "hitCount": 2}])json"));
  EXPECT_EQ(file["samples"], Json::parse("[3, 3, 3, 4, 4, 2, 2, 3, 1]"));
  EXPECT_EQ(file["timeDeltas"], Json::parse("[0, 1000, 1000, 1000, 1000, 1000, 1000, 1000, 1000]"));
  EXPECT_EQ(file["endTime"], 8000);
  const auto lost = [&](std::string_view what) {
    return std::ranges::any_of(
        out.lost, [&](const std::string &loss) { return loss.find(what) != std::string::npos; });
  };
  EXPECT_TRUE(lost("1 of 2 threads (the one that ran longest is written: main)"));
  EXPECT_TRUE(lost("page-faults (a file has one value)"));
  EXPECT_TRUE(lost("waited"));
  EXPECT_FALSE(lost("not known"));
}

TEST(CpuProfile, ReadsBackFunctionsAndTimes) {
  Diagnostics diagnostics;
  const auto profile = parsed(written(waiting_once()).bytes, &diagnostics);
  ASSERT_TRUE(profile);
  const ShownFrame in_f{"f", "/s/a b.c", "", 3, 0}, at_line{"f", "/s/a b.c", "", 3, 5},
      in_read{"read", "", "/lib/libc.so", 0, 0};
  using Shown = std::map<ShownSample, int64_t>;
  EXPECT_EQ(shown_totals(*profile),
            (Shown{{{-1, {at_line}, 0}, 4'000'000}, {{-1, {in_f, in_read}, 0}, 2'000'000}}));
  std::vector<uint64_t> ends;
  for (const SampleTime &time : profile->times())
    ends.push_back(time.at_ns / 1'000'000);
  EXPECT_EQ(ends, (std::vector<uint64_t>{1, 2, 3, 4, 5, 8}));
  EXPECT_EQ(diagnostics.findings().size(), 1u); // the idle time
}

TEST(CpuProfile, WritesCountsAsMicroseconds) {
  StackProfileBuilder builder;
  builder.add_value_type("page-faults", "count");
  builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 1000);
  const Json file = Json::parse(written(*builder.finish()).bytes);
  EXPECT_EQ(shown(file), (Totals{{{"[unknown]"}, 1000}}));
  EXPECT_EQ(file["samples"].size(), 101u); // not 1001
}

TEST(CpuProfile, RefusesWhatDoesNotFit) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  builder.set_period_ns(1'000'000'000);
  builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, int64_t{1} << 40);
  EXPECT_EQ(cpuprofile::write(*builder.finish(), {}).error().code, ErrorCode::overflow);
  StackProfileBuilder empty;
  empty.add_value_type("ticks", "count");
  EXPECT_EQ(cpuprofile::write(*empty.finish(), {}).error().code, ErrorCode::no_data);
}

// A profile as Node.js writes it.
constexpr std::string_view foreign = R"json({"nodes": [
  {"id": 1, "callFrame": {"functionName": "(root)", "scriptId": "0", "url": "", "lineNumber": -1,
                          "columnNumber": -1}, "hitCount": 0, "children": [2, 5]},
  {"id": 5, "callFrame": {"functionName": "", "scriptId": "6", "url": "node:internal/x",
                          "lineNumber": 9, "columnNumber": 3}, "hitCount": 2, "children": [7]},
  {"id": 2, "callFrame": {"functionName": "(program)", "scriptId": "0", "url": "",
                          "lineNumber": -1, "columnNumber": -1}, "hitCount": 1},
  {"id": 7, "callFrame": {"functionName": "run", "scriptId": "7", "url": "file:///a/b.js",
                          "lineNumber": 4, "columnNumber": 2}, "hitCount": 1,
   "positionTicks": [{"line": 8, "ticks": 1}]}],
 "startTime": 1000, "endTime": 1900, "samples": [5, 7, 2, 5], "timeDeltas": [100, 200, -50, 300]})json";

TEST(CpuProfile, ReadsProfilesOfOthers) {
  Diagnostics diagnostics;
  const auto profile = parsed(foreign, &diagnostics);
  ASSERT_TRUE(profile) << profile.error().text();
  const ShownFrame anonymous{"(anonymous)", "node:internal/x", "", 10, 0},
      run{"run", "/a/b.js", "", 5, 8}, program{"(program)", "", "", 0, 0};
  using Shown = std::map<ShownSample, int64_t>;
  // The third sample begins before the second one, which therefore takes no
  // time.
  EXPECT_EQ(shown_totals(*profile),
            (Shown{{{-1, {anonymous}, 0}, 200'000 + 350'000}, {{-1, {program}, 0}, 250'000}}));
  EXPECT_EQ(diagnostics.findings().size(), 1u);
  Json file = Json::parse(foreign);
  file.erase("samples");
  const auto hits = parsed(file.dump());
  ASSERT_TRUE(hits);
  EXPECT_EQ(
      shown_totals(*hits),
      (Shown{{{-1, {anonymous}, 0}, 2}, {{-1, {program}, 0}, 1}, {{-1, {anonymous, run}, 0}, 1}}));
  // Counts of lines are exact. An empty list of samples is as good as none.
  file["samples"] = Json::array();
  file["nodes"][3]["hitCount"] = 6;
  file["nodes"][3]["positionTicks"] =
      Json::parse(R"([{"line": 8, "ticks": 2}, {"line": 9, "ticks": 3}, {"line": 0, "ticks": 1}])");
  const auto lines = parsed(file.dump());
  ASSERT_TRUE(lines);
  const auto run_at = [](uint32_t line) { return ShownFrame{"run", "/a/b.js", "", 5, line}; };
  EXPECT_EQ(shown_totals(*lines), (Shown{{{-1, {anonymous}, 0}, 2},
                                         {{-1, {program}, 0}, 1},
                                         {{-1, {anonymous, run_at(8)}, 0}, 2},
                                         {{-1, {anonymous, run_at(9)}, 0}, 3},
                                         {{-1, {anonymous, run_at(0)}, 0}, 1}}));
}

TEST(CpuProfile, SaysWhereTheInputIsWrong) {
  const std::string good(foreign);
  const auto expect_error_at = [&](std::string_view what, std::string_view instead,
                                   std::string_view message) {
    std::string text = good;
    const size_t at = text.find(what);
    ASSERT_NE(at, text.npos) << what;
    text.replace(at, what.size(), instead);
    const auto read = parsed(text);
    ASSERT_FALSE(read) << instead;
    EXPECT_NE(read.error().message.find(message), std::string::npos) << read.error().text();
    EXPECT_EQ(read.error().where.kind, Position::Kind::offset) << instead;
  };
  expect_error_at("\"children\": [2, 5]", "\"children\": [2, 6]", "node 6 does not exist");
  expect_error_at("\"children\": [2, 5]", "\"children\": [2, 2]", "two callers");
  expect_error_at("\"children\": [2, 5]", "\"children\": [2, 7]", "two callers");
  expect_error_at("\"hitCount\": 1,", "\"children\": [5],", "two callers");
  expect_error_at("\"id\": 5", "\"id\": 1", "two nodes have the id 1");
  expect_error_at("\"id\": 5", "\"id\": null", "a node without an id");
  expect_error_at("\"samples\": [5,", "\"samples\": [6,", "node 6 does not exist");
  expect_error_at("\"samples\": [5,", "\"samples\": [", "3 samples, but 4 timeDeltas");
  expect_error_at("\"timeDeltas\": [100,", "\"timeDeltas\": [\"\",", "expected a time");
  expect_error_at("\"timeDeltas\": [100,", "\"timeDeltas\": [1e200,", "does not fit");
  expect_error_at("\"nodes\"", "\"node\"", "the list of nodes is missing");
  expect_error_at("\"callFrame\": {\"functionName\": \"\"", "\"x\": {\"functionName\": \"\"",
                  "a node without a callFrame");
  std::string looped = good;
  const std::string_view caller = "\"children\": [2, 5]", callee = "\"hitCount\": 1,\n";
  looped.replace(looped.find(caller), caller.size(), "\"children\": [2]");
  looped.replace(looped.find(callee), callee.size(), "\"children\": [5],\n");
  EXPECT_NE(parsed(looped).error().message.find("its own caller"), std::string::npos);
  EXPECT_NE(parsed(R"json({"head": {"functionName": "(root)"}})json")
                .error()
                .message.find("a node without an id"),
            std::string::npos);
}

TEST(CpuProfile, LimitsTheDepthOfStacks) {
  const auto nested = [](size_t depth) {
    std::string nodes;
    for (size_t id = 1; id <= depth; ++id)
      nodes += (id == 1 ? "" : ",") + std::string(R"({"id":)") + std::to_string(id) +
               R"(,"callFrame":{"functionName":"f"},"parent":)" +
               (id == 1 ? "null" : std::to_string(id - 1)) + "}";
    const std::string leaf = std::to_string(depth);
    return R"({"nodes":[)" + nodes + R"(],"samples":[)" + leaf + "," + leaf +
           R"(],"timeDeltas":[0,1]})";
  };
  if (!TALLY_SANITIZED) { // it takes long
    EXPECT_TRUE(parsed(nested(most_frames)));
  }
  const auto deeper = parsed(nested(most_frames + 1));
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().code, ErrorCode::limit);
  EXPECT_EQ(deeper.error().where.kind, Position::Kind::offset);
}

// The difference of two times fits, too.
TEST(CpuProfile, RefusesTimesWhoseDifferenceOverflows) {
  constexpr std::string_view least = "-4611686018427387.904", most = "4611686018427387.904";
  for (const auto &[first, second] : {std::pair(least, most), std::pair(most, least)}) {
    const auto read =
        parsed(R"({"head":{"functionName":"f","id":1},"samples":[1,1],"timestamps":[)" +
               std::string(first) + "," + std::string(second) + "]}");
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().message.find("does not fit"), std::string::npos);
  }
}

// The form before 2017, which the profilers for Node.js still write: nodes contain their callees,
// lines are counted from 1, and samples have times.
TEST(CpuProfile, ReadsTrees) {
  constexpr std::string_view tree = R"json({
    "head": {"functionName": "(root)", "url": "", "lineNumber": 0, "id": 1, "hitCount": 0,
             "children": [
      {"functionName": "f", "url": "/a.js", "lineNumber": 3, "id": 2, "hitCount": 1, "children": [
        {"functionName": "g", "url": "/a.js", "lineNumber": 7, "id": 4, "hitCount": 1,
         "children": []}]},
      {"functionName": "(idle)", "url": "", "lineNumber": 0, "id": 3, "children": []}]},
    "startTime": 163140, "endTime": 163140, "samples": [2, 4, 3, 4],
    "timestamps": [163140599286, 163140599296, 163140599316, 163140599320]})json";
  EXPECT_TRUE(cpuprofile::probe(tree));
  const auto profile = parsed(tree);
  ASSERT_TRUE(profile) << profile.error().text();
  const ShownFrame f{"f", "/a.js", "", 3, 0}, g{"g", "/a.js", "", 7, 0};
  using Shown = std::map<ShownSample, int64_t>;
  EXPECT_EQ(shown_totals(*profile), (Shown{{{-1, {f}, 0}, 10'000}, {{-1, {f, g}, 0}, 20'000}}));
  ASSERT_EQ(profile->times().size(), 2u);
  EXPECT_EQ(profile->times()[0].at_ns, 10'000u);
  // One more time than samples is the end of the last one.
  Json ended = Json::parse(tree);
  ended["timestamps"].push_back(163140599350);
  EXPECT_EQ(shown_totals(*parsed(ended.dump())),
            (Shown{{{-1, {f}, 0}, 10'000}, {{-1, {f, g}, 0}, 50'000}}));
  ended["timestamps"].push_back(163140599360);
  EXPECT_NE(parsed(ended.dump()).error().message.find("4 samples, but 6 timestamps"),
            std::string::npos);
  Json hits = Json::parse(tree);
  hits.erase("samples");
  const auto counted = parsed(hits.dump());
  ASSERT_TRUE(counted);
  EXPECT_EQ(shown_totals(*counted), (Shown{{{-1, {f}, 0}, 1}, {{-1, {f, g}, 0}, 1}}));
  // The nesting is bounded.
  std::string deep = R"({"head":)";
  for (int i = 0; i < 200; ++i)
    deep += R"({"functionName":"f","id":)" + std::to_string(i) + R"(,"children":[)";
  EXPECT_NE(parsed(deep).error().message.find("levels deep"), std::string::npos);
}

TEST(CpuProfile, WritesPathsAsUrls) {
  EXPECT_EQ(cpuprofile::url_of("/a/b c%.js"), "file:///a/b%20c%25.js");
  EXPECT_EQ(cpuprofile::url_of("a/b c.js"), "a/b c.js");
  EXPECT_EQ(cpuprofile::path_of("file:///a/b%20c%25.js"), "/a/b c%.js");
  EXPECT_EQ(cpuprofile::path_of("file:///a%2"), "/a%2");
  EXPECT_EQ(cpuprofile::path_of("file:///%e2%82%ac%zz"), "/\u20ac%zz");
  EXPECT_EQ(cpuprofile::path_of("https://a/b%20c"), "https://a/b%20c");
  Random random(912);
  for (int round = 0; round < rounds(1000); ++round) {
    std::string path = "/";
    for (uint64_t n = pick(random, 20); n > 0; --n)
      path += static_cast<char>(pick(random, 256));
    ASSERT_EQ(cpuprofile::path_of(cpuprofile::url_of(path)), path);
  }
}

TEST(CpuProfile, IsRecognized) {
  EXPECT_EQ(format_by_file_name("x.cpuprofile")->name, "cpuprofile");
  const Written out = written(waiting_once());
  for (const Format &format : formats())
    EXPECT_EQ(format.probe && format.probe(std::string_view(out.bytes).substr(0, 4096)),
              format.name == "cpuprofile")
        << format.name;
  EXPECT_TRUE(cpuprofile::probe(foreign));
  constexpr std::string_view heap =
      R"json({"head": {"callFrame": {"functionName": "(root)"}, "selfSize": 0}})json";
  EXPECT_FALSE(cpuprofile::probe(heap));
}

} // namespace
} // namespace tally::formats_cpuprofile_test
