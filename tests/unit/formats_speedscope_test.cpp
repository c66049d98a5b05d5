#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <tally/version.h>

#include "formats/formats.h"
#include "formats/speedscope/speedscope.h"
#include "formats/stack_depth.h"
#include "timed_profile.h"

namespace tally::formats_speedscope_test {
namespace {

using Json = nlohmann::json;

Json written(const StackProfile &profile) {
  const auto out = speedscope::write(profile, {});
  EXPECT_TRUE(out) << out.error().text();
  return Json::parse(out->bytes); // throws if it is not JSON
}

using Stacks = std::map<std::vector<std::string>, int64_t>; // outermost first

Stacks stacks_of(const Json &file) {
  Stacks out;
  const Json &frames = file["shared"]["frames"];
  for (const Json &profile : file["profiles"]) {
    int64_t sum = 0;
    EXPECT_EQ(profile["samples"].size(), profile["weights"].size());
    for (size_t i = 0; i < profile["samples"].size(); ++i) {
      std::vector<std::string> names;
      for (const Json &frame : profile["samples"][i])
        names.push_back(frames.at(frame.get<size_t>())["name"]);
      const auto weight = profile["weights"][i].get<int64_t>();
      EXPECT_GT(weight, 0);
      sum += weight;
      out[names] += weight;
    }
    EXPECT_EQ(profile["startValue"], 0);
    EXPECT_EQ(profile["endValue"], sum);
  }
  return out;
}

TEST(Speedscope, AgreesWithCountingEachSample) {
  Random random(181);
  for (int round = 0; round < rounds(1000); ++round) {
    const StackProfile profile = random_profile(random, random_shape(random));
    Stacks expected;
    std::map<std::pair<size_t, uint32_t>, int64_t> of_threads; // by value
    for (size_t row = 0; row < profile.sample_count(); ++row) {
      const Sample sample = profile.sample(row);
      std::vector<std::string> names;
      for (const Frame &frame : frames_of(profile, sample.stack))
        names.push_back(std::get<2>(frame.function));
      std::ranges::reverse(names);
      for (size_t value = 0; value < sample.values.size(); ++value) {
        if (sample.values[value] == 0)
          continue;
        expected[names] += sample.values[value];
        of_threads[{value, index_of(sample.thread)}] += sample.values[value];
      }
    }
    if (expected.empty()) {
      ASSERT_EQ(speedscope::write(profile, {}).error().code, ErrorCode::no_data);
      continue;
    }
    const Json file = written(profile);
    ASSERT_EQ(stacks_of(file), expected);
    ASSERT_EQ(file["profiles"].size(), of_threads.size());
    size_t at = 0;
    for (const auto &[thread, total] : of_threads)
      ASSERT_EQ(file["profiles"][at++]["endValue"], total);
  }
}

TEST(Speedscope, KeepsTheCountsOfAnyName) {
  Random random(182);
  for (int round = 0; round < rounds(500); ++round) {
    RandomShape shape = random_shape(random);
    shape.strange_names = true;
    const StackProfile profile = random_profile(random, shape);
    const std::vector<int64_t> totals = profile.totals();
    const int64_t total = std::accumulate(totals.begin(), totals.end(), int64_t{0});
    if (total == 0)
      continue;
    int64_t sum = 0;
    for (const auto &[stack, weight] : stacks_of(written(profile)))
      sum += weight;
    ASSERT_EQ(sum, total);
  }
}

struct Made {
  StackProfileBuilder builder;
  StackId stack = none<StackId>;
};

void make(Made &made, std::string_view unit) {
  StackProfileBuilder &builder = made.builder;
  builder.add_value_type("x", unit);
  const StringId object = builder.intern("/lib/libz.so.1");
  const std::vector<SourceLine> lines{
      {builder.add_function({builder.intern("leaf"), {}, {}, object, 0}), {}, 0},
      {builder.add_function({builder.intern("f"), {}, builder.intern("z/a.c"), object, 7}), {}, 9}};
  made.stack = builder.push(none<StackId>, builder.add_location(none<MappingId>, 1, lines));
}

TEST(Speedscope, DescribesTheProfile) {
  Made made;
  make(made, "count");
  made.builder.set_period_ns(250'000);
  made.builder.set_command("./prog \"x\"");
  const ThreadId thread = made.builder.add_thread(5, 6, "worker");
  const ThreadId nameless = made.builder.add_thread(5, 7, "");
  made.builder.add_sample(made.stack, thread, none<PartId>, 2);
  made.builder.add_sample(made.stack, nameless, none<PartId>, 3);
  made.builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 1);
  const Json file = written(*made.builder.finish());
  EXPECT_EQ(file["$schema"], "https://www.speedscope.app/file-format-schema.json");
  EXPECT_EQ(file["exporter"], "tally " TALLY_VERSION);
  EXPECT_EQ(file["name"], "./prog \"x\"");
  EXPECT_EQ(file["tally"],
            Json::parse(R"({"periodNs": 250000, "values": [{"type": "x", "unit": "count"}]})"));
  EXPECT_EQ(file["activeProfileIndex"], 1);
  EXPECT_EQ(file["shared"]["frames"], Json::parse(
                                          R"([{"name": "[unknown]"},
                    {"name": "f", "file": "z/a.c", "line": 7, "object": "/lib/libz.so.1"},
                    {"name": "leaf", "file": "/lib/libz.so.1", "object": ""}])"));
  ASSERT_EQ(file["profiles"].size(), 3u);
  EXPECT_EQ(file["profiles"][0],
            Json::parse(
                R"json({"type": "sampled", "name": "worker (6)", "unit": "nanoseconds",
                                "startValue": 0, "endValue": 500000, "samples": [[1, 2]],
                                "tally": {"value": 0, "pid": 5, "tid": 6, "name": "worker"},
                                "weights": [500000]})json"));
  EXPECT_EQ(file["profiles"][1]["name"], "thread 7");
  EXPECT_EQ(file["profiles"][2]["name"], "unknown thread");
  EXPECT_EQ(file["profiles"][2]["samples"], Json::parse("[[0]]"));
}

TEST(Speedscope, UsesTheUnitsOfTheFormat) {
  for (const auto &[unit, expected] : std::map<std::string, std::string>{
           {"count", "none"}, {"bytes", "bytes"}, {"milliseconds", "milliseconds"}, {"", "none"}}) {
    Made made;
    make(made, unit);
    made.builder.add_sample(made.stack, none<ThreadId>, none<PartId>, 2);
    const Json file = written(*made.builder.finish());
    EXPECT_EQ(file["profiles"][0]["unit"], expected);
    EXPECT_EQ(file["profiles"][0]["weights"], Json::parse("[2]"));
    EXPECT_EQ(file["profiles"][0]["name"], "all threads");
    EXPECT_FALSE(file.contains("name"));
  }
}

TEST(Speedscope, RefusesTimeThatDoesNotFit) {
  Made made;
  make(made, "count");
  made.builder.set_period_ns(1'000'000'000);
  made.builder.add_sample(made.stack, none<ThreadId>, none<PartId>, int64_t{1} << 40);
  EXPECT_EQ(speedscope::write(*made.builder.finish(), {}).error().code, ErrorCode::overflow);
}

TEST(Speedscope, ReportsWhatIsLost) {
  Made made;
  make(made, "count");
  made.builder.add_value_type("y", "count");
  made.builder.add_part({1, {}, 0, 0});
  made.builder.add_part({2, {}, 0, 0});
  const SourceLine line{
      made.builder.add_function({made.builder.intern("\xff"), {}, {}, {}, 0}), {}, 0};
  const LocationId at = made.builder.add_location(none<MappingId>, 2, std::span(&line, 1));
  made.builder.add_sample(made.builder.push(made.stack, at), none<ThreadId>, none<PartId>,
                          std::vector<int64_t>{1, 1});
  const auto out = speedscope::write(*made.builder.finish(), {});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->lost.size(), 3u);
}

// Returns the names of the leaves of a profile's samples.
std::vector<std::string> leaves_of(const Json &file, size_t profile) {
  std::vector<std::string> out;
  for (const Json &sample : file["profiles"][profile]["samples"])
    out.push_back(file["shared"]["frames"][sample.back().get<size_t>()]["name"]);
  return out;
}

TEST(Speedscope, FollowsTheOrderOfTime) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  builder.add_value_type("wait", "nanoseconds");
  builder.set_period_ns(1'000'000);
  const auto row_of = [&](std::string_view name, int64_t ticks, int64_t wait) {
    const SourceLine line{builder.add_function({builder.intern(name), {}, {}, {}, 0}), {}, 0};
    const StackId stack =
        builder.push(none<StackId>, builder.add_location(none<MappingId>, 0, std::span(&line, 1)));
    return builder.add_sample(stack, none<ThreadId>, none<PartId>,
                              std::vector<int64_t>{ticks, wait});
  };
  const uint32_t a = row_of("a", 5, 7'000'000), b = row_of("b", 1, 4'000'000);
  row_of("c", 2, 0); // its times are unknown
  builder.add_time({3'000'000, b, 0, 1});
  for (const uint64_t ms : {1u, 2u, 4u})
    builder.add_time({ms * 1'000'000, a, 0, 1});
  // The longer wait begins first, and ends last.
  builder.add_time({20'000'000, a, 1, 7'000'000});
  builder.add_time({19'000'000, b, 1, 4'000'000});
  const StackProfile profile = *builder.finish();
  const Json file = written(profile);
  ASSERT_EQ(file["profiles"].size(), 2u);
  EXPECT_EQ(leaves_of(file, 0), (std::vector<std::string>{"a", "b", "a", "a", "c"}));
  EXPECT_EQ(file["profiles"][0]["weights"],
            Json::parse("[2000000, 1000000, 1000000, 2000000, 2000000]"));
  EXPECT_EQ(leaves_of(file, 1), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(file["profiles"][1]["weights"], Json::parse("[7000000, 4000000]"));
  EXPECT_EQ(speedscope::write(profile, {})->lost.size(), 1u);
}

TEST(Speedscope, KeepsTotalsOfProfilesWithTimes) {
  Random random(183);
  for (int round = 0; round < rounds(100); ++round) {
    const StackProfile profile = random_timed_profile(random, 40, round % 2 == 0);
    std::map<std::string, int64_t> totals;
    const Json file = written(profile);
    for (const Json &each : file["profiles"]) {
      const auto name = each["name"].get<std::string>();
      totals[name.substr(0, name.find(':'))] += each["endValue"].get<int64_t>();
    }
    const std::vector<int64_t> expected = profile.totals();
    ASSERT_EQ(totals["ticks"], expected[0] * 1'000'000);
    ASSERT_EQ(totals["wait"], expected[1]);
    ASSERT_EQ(totals["queued"], expected[2]);
    ASSERT_EQ(totals["waits"], expected[3]);
  }
}

// The names of both formats end in .json.
TEST(Speedscope, IsNotMistakenForGcovr) {
  EXPECT_EQ(format_by_file_name("x.speedscope.json")->name, "speedscope");
  EXPECT_EQ(format_by_file_name("x.gcovr.json")->name, "gcovr");
  EXPECT_EQ(format_by_file_name("x.json"), nullptr);
  Made made;
  make(made, "count");
  made.builder.add_sample(made.stack, none<ThreadId>, none<PartId>, 2);
  const auto out = speedscope::write(*made.builder.finish(), {});
  ASSERT_TRUE(out);
  for (const Format &format : formats())
    EXPECT_EQ(format.probe && format.probe(out->bytes), format.name == "speedscope") << format.name;
}

Result<StackProfile> parsed(std::string_view text, Diagnostics *found = nullptr) {
  Diagnostics diagnostics;
  auto read = speedscope::read(*ByteSource::of(text, "x"), found ? *found : diagnostics);
  if (!read)
    return fail(std::move(read.error()));
  return std::get<StackProfile>(std::move(*read));
}

// Returns the totals of what the format keeps of each sample: the thread, the value, and the names,
// files, objects and, if the file is known, declared lines of the functions.
std::map<ShownSample, int64_t> kept_totals(const StackProfile &profile) {
  std::map<ShownSample, int64_t> out;
  for (const auto &[key, total] : shown_totals(profile)) {
    ShownSample kept = key;
    for (auto &[name, file, object, declared, line] : std::get<1>(kept)) {
      line = 0;
      declared = file.empty() ? 0 : declared;
    }
    out[kept] += total;
  }
  return out;
}

TEST(Speedscope, ReadsWhatItWrites) {
  Random random(184);
  for (int round = 0; round < rounds(500); ++round) {
    const StackProfile profile = round % 4 == 0 ? random_timed_profile(random, 40, round % 8 == 0)
                                                : random_profile(random, random_shape(random));
    const auto out = speedscope::write(profile, {});
    if (!out)
      continue; // a profile without samples
    const auto again = parsed(out->bytes);
    ASSERT_TRUE(again) << again.error().text();
    ASSERT_EQ(kept_totals(*again), kept_totals(profile));
    ASSERT_EQ(again->period_ns, profile.period_ns);
    ASSERT_EQ(again->strings[again->command], profile.strings[profile.command]);
    ASSERT_EQ(again->value_types().size(), profile.value_types().size());
    for (size_t i = 0; i < profile.value_types().size(); ++i) {
      const ValueType &mine = again->value_types()[i], &its = profile.value_types()[i];
      ASSERT_EQ(again->strings[mine.type], profile.strings[its.type]);
      ASSERT_EQ(again->strings[mine.unit], profile.strings[its.unit]);
    }
  }
}

// Returns "thread stack value amount" of each sample, by falling amounts.
std::vector<std::string> rows_of_file(std::string_view text) {
  const auto profile = parsed(text);
  EXPECT_TRUE(profile) << profile.error().text();
  std::vector<std::string> out;
  for (const auto &[key, amount] : shown_totals(*profile)) {
    std::string row = std::to_string(std::get<0>(key));
    for (const ShownFrame &frame : std::get<1>(key))
      row += (row.find(' ') == row.npos ? " " : ";") + std::get<0>(frame);
    const ValueType type = profile->value_types()[std::get<2>(key)];
    out.push_back(row + ' ' + std::string(profile->strings[type.type]) + ' ' +
                  std::to_string(amount));
  }
  return out;
}

std::string file_of(const std::string &profiles) {
  return R"({"$schema":"https://www.speedscope.app/file-format-schema.json",)"
         R"("shared":{"frames":[{"name":"a","file":"a.py","line":3},{"name":"b","line":7,"col":2}]},)"
         R"("profiles":[)" +
         profiles + "]}";
}

TEST(Speedscope, ReadsSamplesOfAnyUnit) {
  const auto sampled = [](const std::string &unit, const std::string &weights) {
    return file_of(R"({"type":"sampled","name":"n","unit":")" + unit +
                   R"(","startValue":0,"endValue":9,"samples":[[0,1],[0],[]],"weights":)" +
                   weights + "}");
  };
  using Rows = std::vector<std::string>;
  EXPECT_EQ(rows_of_file(sampled("none", "[1,2,3]")),
            (Rows{"1 [unknown] ticks 3", "1 a ticks 2", "1 a;b ticks 1"}));
  EXPECT_EQ(rows_of_file(sampled("bytes", "[1,2.4,0]")), (Rows{"1 a bytes 2", "1 a;b bytes 1"}));
  EXPECT_EQ(rows_of_file(sampled("seconds", "[0.25,2,0]")),
            (Rows{"1 a time 2000000000", "1 a;b time 250000000"}));
  EXPECT_EQ(rows_of_file(sampled("milliseconds", "[0,1e-6,0]")), Rows{"1 a time 1"});
  EXPECT_EQ(rows_of_file(sampled("microseconds", "[9223372036854775,0,0]")),
            Rows{"1 a;b time 9223372036854775000"});
  EXPECT_EQ(rows_of_file(sampled("nanoseconds", "[9223372036854775807,0,0]")),
            Rows{"1 a;b time 9223372036854775807"});
  // Where a function is declared has a column, and which line ran has none.
  const auto profile = parsed(sampled("none", "[1,2,3]"));
  ASSERT_TRUE(profile);
  const ShownStack stack = shown_stack(*profile, profile->sample(0).stack);
  EXPECT_EQ(stack, (ShownStack{{"a", "a.py", "", 0, 3}, {"b", "", "", 7, 0}}));
}

TEST(Speedscope, ReadsProfilesAsThreads) {
  const std::string samples = R"("samples":[[0]],"weights":[1])";
  const auto rows =
      rows_of_file(file_of(R"({"type":"sampled","name":"x","unit":"seconds",)" + samples +
                           R"(},{"type":"sampled","name":"x","unit":"microseconds",)" + samples +
                           R"(},{"type":"sampled","name":"y","unit":"bytes",)" + samples + "}"));
  EXPECT_EQ(rows,
            (std::vector<std::string>{"1 a time 1000000000", "2 a time 1000", "3 a bytes 1"}));
}

std::string evented(const std::string &events, const std::string &unit = "milliseconds") {
  return file_of(R"({"type":"evented","name":"n","unit":")" + unit +
                 R"(","startValue":10,"endValue":90,"events":[)" + events + "]}");
}

TEST(Speedscope, ReadsEventsWithTheirTimes) {
  const auto profile = parsed(evented(
      R"({"type":"O","frame":0,"at":20},{"type":"O","frame":1,"at":22},{"type":"C","frame":1,"at":27},)"
      R"({"type":"C","frame":0,"at":28},{"type":"O","frame":1,"at":29},{"type":"C","frame":1,"at":30})"));
  ASSERT_TRUE(profile) << profile.error().text();
  std::vector<std::tuple<std::string, uint64_t, int64_t>> times;
  for (const auto &[sample, at_ns, amount] : shown_times(*profile))
    times.emplace_back(std::get<0>(std::get<1>(sample).back()), at_ns / 1'000'000,
                       amount / 1'000'000);
  EXPECT_EQ(times, (std::vector<std::tuple<std::string, uint64_t, int64_t>>{
                       {"a", 12, 2}, {"a", 18, 1}, {"b", 17, 5}, {"b", 20, 1}}));
  // A count has no times.
  const auto counts =
      parsed(evented(R"({"type":"O","frame":0,"at":1},{"type":"C","frame":0,"at":4})", "none"));
  ASSERT_TRUE(counts);
  EXPECT_TRUE(counts->times().empty());
  EXPECT_EQ(counts->totals(), std::vector<int64_t>{3});
}

TEST(Speedscope, KeepsTheNamesOfProcesses) {
  Made made;
  make(made, "count");
  for (const auto &[pid, process] : {std::pair(7, "make"), std::pair(8, "cc1"), std::pair(9, "")}) {
    const ThreadId thread = made.builder.add_thread(pid, pid, "main");
    made.builder.set_process(thread, process);
    made.builder.add_sample(made.stack, thread, none<PartId>, pid);
  }
  const auto out = speedscope::write(*made.builder.finish(), {});
  ASSERT_TRUE(out);
  const auto again = parsed(out->bytes);
  ASSERT_TRUE(again) << again.error().text();
  std::map<int32_t, std::string> processes;
  for (const Thread &thread : again->threads())
    processes[thread.pid] = again->strings[thread.process];
  EXPECT_EQ(processes, (std::map<int32_t, std::string>{{7, "make"}, {8, "cc1"}, {9, ""}}));
}

TEST(Speedscope, LimitsTheDepthOfEvents) {
  const auto nested = [](size_t depth) {
    std::string events;
    for (size_t i = 0; i < depth; ++i)
      events += std::string(i > 0 ? "," : "") + R"({"type":"O","frame":0,"at":1})";
    return evented(events);
  };
  if (!TALLY_SANITIZED) { // it takes long
    EXPECT_TRUE(parsed(nested(most_frames)));
  }
  const auto deeper = parsed(nested(most_frames + 1));
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().code, ErrorCode::limit);
  EXPECT_EQ(deeper.error().where.kind, Position::Kind::offset);
}

// Many deep stacks, which cost little as events, would fill any memory as lists of frames.
TEST(Speedscope, LimitsTheFramesThatItWrites) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  const SourceLine at{builder.add_function({builder.intern("f"), {}, {}, {}, 0}), {}, 0};
  const LocationId location = builder.add_location(none<MappingId>, 0, std::span(&at, 1));
  StackId stack = none<StackId>;
  for (size_t depth = 1; depth <= most_frames; ++depth) {
    stack = builder.push(stack, location);
    if (depth > most_frames / 2)
      builder.add_sample(stack, none<ThreadId>, none<PartId>, 1);
  }
  const auto out = speedscope::write(*builder.finish(), {});
  ASSERT_FALSE(out);
  EXPECT_EQ(out.error().code, ErrorCode::limit);
}

TEST(Speedscope, ReadsFramesThatAreNotClosed) {
  Diagnostics diagnostics;
  const auto profile = parsed(evented(R"({"type":"O","frame":0,"at":20})"), &diagnostics);
  ASSERT_TRUE(profile);
  EXPECT_EQ(profile->totals(), std::vector<int64_t>{70'000'000});
  EXPECT_TRUE(diagnostics.has_errors());
}

TEST(Speedscope, RefusesWhatMakesNoSense) {
  const auto sampled = [](const std::string &rest) {
    return file_of(R"({"type":"sampled","name":"n","unit":"none",)" + rest + "}");
  };
  for (const auto &[text, message] : std::vector<std::pair<std::string, std::string>>{
           {"{", "does not end"},
           {"[]", "shared frames is missing"},
           {R"({"shared":{"frames":[{}]}})", "a frame without a name"},
           {R"({"shared":{"frames":[{"name":1}]}})", "a frame without a name"},
           {R"({"shared":{"frames":[{"name":null}]}})", "the list of profiles is missing"},
           {R"({"shared":{"frames":[]}})", "the list of profiles is missing"},
           {file_of(""), "the list of profiles is empty"},
           {file_of("{}"), "sampled or evented"},
           {file_of(R"({"type":"sampled","unit":"hours"})"), "nanoseconds, microseconds"},
           {sampled(R"("weights":[])"), "without samples"},
           {sampled(R"("samples":[])"), "list of numbers as weights"},
           {sampled(R"("samples":[[0]],"weights":[])"), "more samples than weights"},
           {sampled(R"("samples":[],"weights":[1])"), "0 samples, but 1 weights"},
           {sampled(R"("samples":[0],"weights":[1])"), "list of frames"},
           {sampled(R"("samples":[[2]],"weights":[1])"), "frame 2 does not exist"},
           {sampled(R"("samples":[[-1]],"weights":[1])"), "frame -1 does not exist"},
           {sampled(R"("samples":[["a"]],"weights":[1])"), "index of a frame"},
           {sampled(R"("samples":[[0]],"weights":[-1])"), "negative"},
           {sampled(R"("samples":[[0]],"weights":["1"])"), "expected a number"},
           {sampled(R"("samples":[[0]],"weights":[1e20])"), "does not fit"},
           {sampled(R"("samples":[[0],[0]],"weights":[9e18,9e18])"), "63 bits"},
           {evented(R"({"type":"C","frame":0,"at":20})"), "no frame is open"},
           {evented(R"({"type":"X","frame":0,"at":20})"), "type O or C"},
           {evented(R"({"type":"O","frame":0})"), "time of an event"},
           {evented(R"({"type":"O","at":0})"), "index of a frame"},
           {evented(R"({"type":"O","frame":0,"at":2},{"type":"C","frame":1,"at":3})"),
            "frame 1 is closed"},
           {evented(R"({"type":"O","frame":0,"at":2},{"type":"C","frame":0,"at":1})"),
            "earlier than"},
           {R"({"tally":{"values":[]},)" + file_of("").substr(1), "list of values"},
       }) {
    const auto read = parsed(text);
    ASSERT_FALSE(read) << text;
    EXPECT_NE(read.error().text().find(message), std::string::npos) << read.error().text();
    EXPECT_TRUE(read.error().where.kind == Position::Kind::offset ||
                read.error().code == ErrorCode::overflow)
        << text;
  }
}

TEST(Speedscope, IsRecognizedByItsSchemaOrFrames) {
  EXPECT_TRUE(speedscope::probe(file_of("")));
  EXPECT_TRUE(speedscope::probe(
      R"({"x":1,"$schema":"https:\/\/www.speedscope.app\/file-format-schema.json"})"));
  EXPECT_TRUE(speedscope::probe("{ \"shared\": {\n\"frames\": ["));
  EXPECT_FALSE(speedscope::probe("{}"));
  EXPECT_FALSE(speedscope::probe(R"(["https://www.speedscope.app/file-format-schema.json"])"));
  EXPECT_FALSE(speedscope::probe(R"({"files":["https://www.speedscope.app/"]})"));
}

} // namespace
} // namespace tally::formats_speedscope_test
