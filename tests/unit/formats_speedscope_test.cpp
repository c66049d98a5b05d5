#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <tally/formats.h>
#include <tally/version.h>

#include "formats/speedscope/speedscope.h"
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
  EXPECT_EQ(file["activeProfileIndex"], 1);
  EXPECT_EQ(file["shared"]["frames"],
            Json::parse(
                R"([{"name": "[unknown]"}, {"name": "f", "file": "z/a.c", "line": 7},
                            {"name": "leaf", "file": "/lib/libz.so.1"}])"));
  ASSERT_EQ(file["profiles"].size(), 3u);
  EXPECT_EQ(file["profiles"][0],
            Json::parse(
                R"json({"type": "sampled", "name": "worker (6)", "unit": "nanoseconds",
                                "startValue": 0, "endValue": 500000, "samples": [[1, 2]],
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
  EXPECT_EQ(out->lost.size(), 4u);
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
    EXPECT_FALSE(format.probe && format.probe(out->bytes)) << format.name;
}

} // namespace
} // namespace tally::formats_speedscope_test
