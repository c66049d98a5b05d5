#include <algorithm>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "formats/firefox/firefox.h"
#include "formats/formats.h"
#include "formats/stack_depth.h"
#include "temporary.h"
#include "timed_profile.h"

namespace tally::formats_firefox_test {
namespace {

using Json = nlohmann::json;

Written written(const StackProfile &profile) {
  auto out = firefox::write(profile, {});
  EXPECT_TRUE(out) << out.error().text();
  return out.value_or(Written{});
}

Result<StackProfile> parsed(std::string_view text) {
  Diagnostics diagnostics;
  auto read = firefox::read(*ByteSource::of(text, "x"), diagnostics);
  if (!read)
    return fail(std::move(read.error()));
  return std::get<StackProfile>(std::move(*read));
}

StackProfile read_back(const StackProfile &profile) {
  auto out = parsed(written(profile).bytes);
  EXPECT_TRUE(out) << out.error().text();
  return std::move(out).value_or(StackProfile());
}

std::vector<std::pair<std::string, std::string>> types_of(const StackProfile &profile) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const ValueType &type : profile.value_types())
    out.emplace_back(profile.strings[type.type], profile.strings[type.unit]);
  return out;
}

TEST(Firefox, ReadsBackWhatItWrites) {
  Random random(901);
  for (int round = 0; round < rounds(300); ++round) {
    const StackProfile profile =
        random_timed_profile(random, 1 + static_cast<int>(pick(random, 60)), round % 3 != 0);
    const StackProfile again = read_back(profile);
    ASSERT_EQ(types_of(again), types_of(profile));
    ASSERT_EQ(again.period_ns, profile.period_ns);
    ASSERT_EQ(again.strings[again.command], profile.strings[profile.command]);
    ASSERT_EQ(shown_totals(again), shown_totals(profile));
    ASSERT_EQ(shown_times(again), shown_times(profile));
    ASSERT_TRUE(written(again).bytes == written(profile).bytes);
  }
}

TEST(Firefox, KeepsAnyEvents) {
  Random random(902);
  for (int round = 0; round < rounds(500); ++round) {
    RandomShape shape = random_shape(random);
    const StackProfile profile = random_profile(random, shape);
    const auto totals = profile.totals();
    if (std::accumulate(totals.begin(), totals.end(), int64_t{0}) == 0) {
      ASSERT_EQ(firefox::write(profile, {}).error().code, ErrorCode::no_data);
      continue;
    }
    const StackProfile again = read_back(profile);
    ASSERT_EQ(types_of(again), types_of(profile));
    ASSERT_EQ(shown_totals(again), shown_totals(profile));
    ASSERT_TRUE(again.times().empty()); // none were known
  }
}

// All tables have columns of the length that they state, and refer to rows that exist.
void check_tables(const Json &thread) {
  for (const auto *const name : {"samples", "markers", "stackTable", "frameTable", "funcTable",
                                 "resourceTable", "nativeSymbols"}) {
    const Json &table = thread.at(name);
    for (const auto &[key, column] : table.items())
      ASSERT_TRUE(!column.is_array() || column.size() == table.at("length").get<size_t>())
          << name << '.' << key;
  }
  const auto below = [&](const char *table, const char *column, size_t limit) {
    for (const Json &value : thread[table][column])
      ASSERT_TRUE(value.is_null() || value == -1 || value.get<size_t>() < limit)
          << table << '.' << column;
  };
  const auto rows = [&](const char *table) { return thread[table]["length"].get<size_t>(); };
  below("samples", "stack", rows("stackTable"));
  below("stackTable", "frame", rows("frameTable"));
  below("frameTable", "func", rows("funcTable"));
  below("funcTable", "resource", rows("resourceTable"));
  below("funcTable", "name", thread["stringArray"].size());
  below("funcTable", "fileName", thread["stringArray"].size());
  below("resourceTable", "name", thread["stringArray"].size());
  below("markers", "name", thread["stringArray"].size());
  ASSERT_TRUE(std::ranges::is_sorted(thread["samples"]["time"].get<std::vector<double>>()));
  ASSERT_TRUE(std::ranges::is_sorted(thread["markers"]["startTime"].get<std::vector<double>>()));
}

TEST(Firefox, WritesTablesThatFit) {
  Random random(903);
  for (int round = 0; round < rounds(100); ++round) {
    const Json file = Json::parse(written(random_timed_profile(random, 50, round % 2 == 0)).bytes);
    for (const Json &thread : file["threads"])
      check_tables(thread);
  }
}

// A thread runs for 3 ms, waits for 20 ms, and is queued for 1 ms.
StackProfile waiting_once() {
  StackProfileBuilder out;
  out.add_value_type("ticks", "count");
  out.add_value_type("wait", "nanoseconds");
  out.add_value_type("queued", "nanoseconds");
  out.add_value_type("page-faults", "count");
  out.set_period_ns(1'000'000);
  const ThreadId thread = out.add_thread(7, 7, "main");
  const PartId part = out.add_part({1, {}, 0, 3'000'000});
  const PartId last = out.add_part({2, out.intern("breakpoint 2"), 3'000'000, 24'000'000});
  const SourceLine line{out.add_function({out.intern("f"), {}, out.intern("/s/f.c"), {}, 3}),
                        out.intern("/s/f.c"), 5};
  const StackId stack =
      out.push(none<StackId>, out.add_location(none<MappingId>, 0, std::span(&line, 1)));
  const uint32_t runs = out.add_sample(stack, thread, part, std::vector<int64_t>{3, 0, 0, 4});
  const uint32_t waits =
      out.add_sample(stack, thread, last, std::vector<int64_t>{0, 20'000'000, 1'000'000, 0});
  for (const uint64_t ms : {1u, 2u, 3u})
    out.add_time({ms * 1'000'000, runs, 0, 1});
  out.add_time({23'000'000, waits, 1, 20'000'000});
  out.add_time({24'000'000, waits, 2, 1'000'000});
  return std::move(out.finish()).value();
}

TEST(Firefox, ShowsWaitsAsWeightsAndMarkers) {
  const Json file = Json::parse(written(waiting_once()).bytes);
  ASSERT_EQ(file["threads"].size(), 2u);
  const Json &thread = file["threads"][0], &samples = thread["samples"];
  EXPECT_EQ(samples["time"], Json::parse("[1, 2, 3, 3, 23]"));
  EXPECT_EQ(samples["weight"], Json::parse("[1, 1, 1, 20, 1]"));
  EXPECT_EQ(samples["threadCPUDelta"], Json::parse("[1000000, 1000000, 1000000, 0, 0]"));
  EXPECT_EQ(samples["weightType"], "tracing-ms");
  EXPECT_EQ(thread["markers"]["startTime"], Json::parse("[0, 3, 3, 23]"));
  EXPECT_EQ(thread["markers"]["endTime"], Json::parse("[3, 24, 23, 24]"));
  EXPECT_EQ(thread["markers"]["data"][1]["trigger"], "breakpoint 2");
  const Json &stacks = thread["stackTable"];
  const auto category = [&](size_t sample) {
    const auto stack = samples["stack"][sample].get<size_t>();
    const auto of = stacks["category"][stack].get<size_t>();
    EXPECT_EQ(thread["frameTable"]["category"][stacks["frame"][stack].get<size_t>()], of);
    return file["meta"]["categories"][of]["name"].get<std::string>();
  };
  EXPECT_EQ(category(0), "Running");
  EXPECT_EQ(category(3), "Waiting");
  EXPECT_EQ(category(4), "Queued");
  const Json &faults = file["threads"][1];
  EXPECT_EQ(faults["name"], "page-faults: main");
  EXPECT_EQ(faults["samples"]["weight"], Json::parse("[4]"));
  EXPECT_EQ(faults["samples"]["weightType"], "samples");
  EXPECT_EQ(file["meta"]["initialVisibleThreads"], Json::parse("[0]"));
}

TEST(Firefox, KeepsParts) {
  const StackProfile again = read_back(waiting_once());
  ASSERT_EQ(again.parts().size(), 2u);
  std::vector<int64_t> ticks(2), waits(2);
  for (size_t row = 0; row < again.sample_count(); ++row)
    if (const Sample sample = again.sample(row); sample.part != none<PartId>) {
      ticks[index_of(sample.part)] += sample.values[0];
      waits[index_of(sample.part)] += sample.values[1];
    }
  EXPECT_EQ(ticks, (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(waits, (std::vector<int64_t>{0, 20'000'000}));
}

TEST(Firefox, PlacesSamplesWithoutTimesOneAfterAnother) {
  StackProfileBuilder builder(waiting_once());
  builder.drop_times();
  const Written out = written(*builder.finish());
  const Json file = Json::parse(out.bytes);
  EXPECT_EQ(file["threads"][0]["samples"]["time"], Json::parse("[3, 3, 23]"));
  EXPECT_EQ(out.lost.size(), 2u); // times, and the part of each sample
  EXPECT_TRUE(parsed(out.bytes)->times().empty());
}

// The earliest times may be missing. Their samples fill the time before all others.
TEST(Firefox, PlacesEarlySamplesBeforeTheOthers) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  builder.set_period_ns(1'000'000);
  const uint32_t row = builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 9);
  builder.add_time({100'000'000, row, 0, 1});
  builder.set_times_from_ns(4'000'000);
  const Json file = Json::parse(written(*builder.finish()).bytes);
  EXPECT_EQ(file["threads"][0]["samples"]["time"], Json::parse("[4, 100]"));
  EXPECT_EQ(file["threads"][0]["samples"]["weight"], Json::parse("[8, 1]"));
}

TEST(Firefox, RefusesTimeThatDoesNotFit) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  builder.set_period_ns(1'000'000'000);
  builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, int64_t{1} << 40);
  EXPECT_EQ(firefox::write(*builder.finish(), {}).error().code, ErrorCode::overflow);
}

// A profile as samply writes it, with strings of each thread.
constexpr std::string_view foreign = R"({
  "meta": {"interval": 2, "preprocessedProfileVersion": 48, "product": "prog"},
  "libs": [{"name": "libc", "path": "/lib/libc.so"}],
  "threads": [{
    "name": "main", "pid": "12", "tid": "13.1",
    "samples": {"stack": [1, null, 0], "time": [1, 3.25, 5], "weight": [1, 2, 1],
                "weightType": "samples", "length": 3},
    "stackTable": {"frame": [0, 1], "prefix": [null, 0], "length": 2},
    "frameTable": {"func": [0, 1], "line": [null, 8], "length": 2},
    "funcTable": {"name": [1, 0], "fileName": [null, 2], "resource": [0, -1],
                  "lineNumber": [null, 7], "length": 2},
    "resourceTable": {"name": [1], "lib": [0], "length": 1},
    "stringArray": ["leaf", "root", "/a.c"]
  }]})";

TEST(Firefox, ReadsProfilesOfOthers) {
  const auto profile = parsed(foreign);
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(types_of(*profile),
            (std::vector<std::pair<std::string, std::string>>{{"ticks", "count"}}));
  EXPECT_EQ(profile->period_ns, 2'000'000u);
  const ShownFrame root{"root", "", "/lib/libc.so", 0, 0}, leaf{"leaf", "/a.c", "", 7, 8},
      unknown{"[unknown]", "", "", 0, 0};
  using Totals = std::map<ShownSample, int64_t>;
  EXPECT_EQ(shown_totals(*profile),
            (Totals{{{13, {root, leaf}, 0}, 1}, {{13, {unknown}, 0}, 2}, {{13, {root}, 0}, 1}}));
  ASSERT_EQ(profile->times().size(), 3u);
  EXPECT_EQ(profile->times()[1].at_ns, 3'250'000u);
}

// Later versions share strings (56) and tables (60), have a table of sources (58), and distances
// in place of prefixes (66).
TEST(Firefox, ReadsSharedTables) {
  Json file = Json::parse(foreign);
  Json &thread = file["threads"][0], &shared = file["shared"];
  shared["stringArray"] = thread["stringArray"];
  thread.erase("stringArray");
  file["meta"]["preprocessedProfileVersion"] = 56;
  const auto expected = shown_totals(*parsed(foreign));
  EXPECT_EQ(shown_totals(*parsed(file.dump())), expected);
  for (const auto *const name : {"stackTable", "frameTable", "funcTable", "resourceTable"}) {
    shared[name] = thread[name];
    thread.erase(name);
  }
  shared["sources"] = Json::parse(R"({"filename": [2], "length": 1})");
  shared["funcTable"].erase("fileName");
  shared["funcTable"]["source"] = Json::parse("[null, 0]");
  shared["stackTable"].erase("prefix");
  shared["stackTable"]["prefixOffset"] = Json::parse("[0, 1]");
  thread["samples"].erase("time");
  thread["samples"]["timeDeltas"] = Json::parse("[1, 2.25, 1.75]");
  file["meta"]["preprocessedProfileVersion"] = 70;
  const auto profile = parsed(file.dump());
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(shown_totals(*profile), expected);
  EXPECT_EQ(profile->times()[2].at_ns, 5'000'000u);
  // Since version 70, frames know their libraries, and not resources.
  shared["resourceTable"].erase("lib");
  EXPECT_NE(shown_totals(*parsed(file.dump())), expected);
  shared["frameTable"]["lib"] = Json::parse("[0, -1]");
  EXPECT_EQ(shown_totals(*parsed(file.dump())), expected);
  shared["frameTable"]["lib"] = Json::parse("[1, -1]");
  EXPECT_NE(parsed(file.dump()).error().message.find("library 1 does not exist"),
            std::string::npos);
}

TEST(Firefox, AcceptsAnEmptyColumnOfInlineDepths) {
  Json file = Json::parse(foreign);
  file["threads"][0]["frameTable"]["inlineDepth"] = Json::array();
  const auto profile = parsed(file.dump());
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(shown_totals(*profile), shown_totals(*parsed(foreign)));
}

// Before version 29, the weight of a comparison was called duration, and before 41 each thread had
// its libraries.
TEST(Firefox, ReadsOldVersions) {
  Json file = Json::parse(foreign);
  file["meta"]["preprocessedProfileVersion"] = 20;
  Json &samples = file["threads"][0]["samples"];
  samples["duration"] = samples["weight"];
  samples.erase("weight");
  samples.erase("weightType");
  // A resource without a library was not in the list of libraries, if it was the last one.
  Json &resources = file["threads"][0]["resourceTable"];
  resources["name"].push_back(2);
  file["threads"][0]["libs"] = file["libs"];
  file.erase("libs");
  const auto profile = parsed(file.dump());
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(shown_totals(*profile), shown_totals(*parsed(foreign)));
}

// Before version 17, functions that enter JavaScript had a prefix, and before 18 the line of a
// function with a column was a part of its file.
TEST(Firefox, ReadsTheNamesOfOldVersions) {
  Json file = Json::parse(foreign);
  Json &thread = file["threads"][0];
  thread["stringArray"] = Json::parse(R"(["AutoEntryScript leaf", "root", "https://a/b.js:12"])");
  thread["funcTable"]["isJS"] = Json::parse("[false, true]");
  const auto leaf_of = [&](int version) {
    file["meta"]["preprocessedProfileVersion"] = version;
    const auto profile = parsed(file.dump());
    EXPECT_TRUE(profile) << profile.error().text();
    for (const auto &[sample, value] : shown_totals(*profile))
      if (const ShownFrame &leaf = std::get<1>(sample).back(); std::get<1>(sample).size() == 2)
        return leaf;
    return ShownFrame{};
  };
  EXPECT_EQ(leaf_of(16), (ShownFrame{"leaf", "https://a/b.js", "", 12, 8}));
  EXPECT_EQ(leaf_of(17), (ShownFrame{"AutoEntryScript leaf", "https://a/b.js", "", 12, 8}));
  EXPECT_EQ(leaf_of(18), (ShownFrame{"AutoEntryScript leaf", "https://a/b.js:12", "", 7, 8}));
  thread["funcTable"]["isJS"] = Json::parse("[true, false]");
  EXPECT_EQ(leaf_of(16), (ShownFrame{"leaf", "https://a/b.js:12", "", 7, 8}));
}

TEST(Firefox, KeepsTheNamesOfProcesses) {
  Json file = Json::parse(foreign);
  const auto process_of = [](const StackProfile &profile) {
    return std::string(profile.strings[profile.threads()[ThreadId{0}].process]);
  };
  EXPECT_EQ(process_of(*parsed(foreign)), "");
  EXPECT_EQ(process_of(read_back(*parsed(foreign))), ""); // and not that of the program
  file["threads"][0]["processName"] = "Web Content";
  const StackProfile profile = *parsed(file.dump());
  EXPECT_EQ(process_of(profile), "Web Content");
  EXPECT_EQ(process_of(read_back(profile)), "Web Content");
}

TEST(Firefox, TellsThreadsOfOneNameApart) {
  StackProfileBuilder out;
  out.add_value_type("ticks", "count");
  out.add_value_type("page-faults", "count");
  out.set_period_ns(1'000'000);
  for (int32_t tid = 7; tid < 10; ++tid)
    out.add_sample(none<StackId>, out.add_thread(7, tid, tid == 7 ? "main" : "worker"),
                   none<PartId>, std::vector<int64_t>{1, 1});
  const StackProfile profile = *out.finish();
  std::set<std::string> names;
  const Json file = Json::parse(written(profile).bytes);
  for (const Json &track : file["threads"])
    names.insert(track["name"]);
  EXPECT_EQ(names, (std::set<std::string>{"main", "worker (8)", "worker (9)", "page-faults: main",
                                          "page-faults: worker (8)", "page-faults: worker (9)"}));
  const StackProfile again = read_back(profile);
  EXPECT_EQ(again.strings[again.threads()[ThreadId{1}].name], "worker");
}

// Samples without a process must not look as if they were the program's.
TEST(Firefox, NamesNoProcess) {
  const auto processes_of = [](int32_t pid, std::string_view process) {
    StackProfileBuilder out;
    out.add_value_type("ticks", "count");
    out.set_command("prog");
    const ThreadId thread = out.add_thread(pid, 7, "main");
    out.set_process(thread, process);
    out.add_sample(none<StackId>, thread, none<PartId>, 2);
    out.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 1);
    std::vector<std::string> names;
    const Json file = Json::parse(written(*out.finish()).bytes);
    for (const Json &track : file["threads"])
      names.push_back(track["processName"]);
    std::ranges::sort(names);
    return names;
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(processes_of(7, ""), (Names{"[no process]", "prog"}));
  EXPECT_EQ(processes_of(7, "a"), (Names{"[no process]", "a"}));
  EXPECT_EQ(processes_of(0, ""), (Names{"prog", "prog"})); // no process is known
}

TEST(Firefox, LimitsTheDepthOfStacks) {
  Json file = Json::parse(foreign);
  Json &table = file["threads"][0]["stackTable"];
  for (size_t row = 2; row < most_frames; ++row) {
    table["frame"].push_back(1);
    table["prefix"].push_back(row - 1);
  }
  EXPECT_TRUE(parsed(file.dump()));
  table["frame"].push_back(1);
  table["prefix"].push_back(most_frames - 1);
  const auto deeper = parsed(file.dump());
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().code, ErrorCode::limit);
  EXPECT_EQ(deeper.error().where.kind, Position::Kind::offset);
}

TEST(Firefox, SaysWhichVersionItCannotRead) {
  Json file = Json::parse(foreign);
  for (const int version : {4, 71}) {
    file["meta"]["preprocessedProfileVersion"] = version;
    const auto read = parsed(file.dump());
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().code, ErrorCode::unsupported);
    EXPECT_NE(read.error().message.find("version " + std::to_string(version)), std::string::npos);
  }
  // The first versions had no number.
  file["meta"].erase("preprocessedProfileVersion");
  const auto read = parsed(file.dump());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, ErrorCode::unsupported);
  EXPECT_NE(read.error().message.find("no version of Firefox Profiler"), std::string::npos);
}

TEST(Firefox, SaysWhereTheInputIsWrong) {
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
  expect_error_at("\"stack\": [1,", "\"stack\": [2,", "stack 2 does not exist");
  expect_error_at("\"stack\": [1,", "\"stack\": [1, 1,", "time has 3 elements");
  expect_error_at("\"frame\": [0, 1]", "\"frame\": [0, 5]", "frame 5 does not exist");
  expect_error_at("\"prefix\": [null, 0]", "\"prefix\": [null, 1]",
                  "earlier stack 1 does not exist");
  expect_error_at("\"func\": [0, 1]", "\"func\": [0, null]", "a frame without a function");
  expect_error_at("\"name\": [1, 0]", "\"name\": [1, 9]", "string 9 does not exist");
  expect_error_at("\"resource\": [0,", "\"resource\": [1,", "resource 1 does not exist");
  expect_error_at("\"time\": [1,", "\"time\": [\"x\",", "expected a time");
  expect_error_at("\"weight\": [1,", "\"weight\": [1e300,", "does not fit");
  expect_error_at("\"stringArray\"", "\"strings\"", "stringArray is missing");
  expect_error_at("\"funcTable\"", "\"functions\"", "funcTable is missing");
  expect_error_at("\"threads\"", "\"thread\"", "the list of threads is missing");
  std::string damaged = good;
  damaged.resize(200);
  EXPECT_EQ(parsed(damaged).error().where.offset, 200u);
}

TEST(Firefox, IsRecognized) {
  EXPECT_EQ(format_by_file_name("x.firefox.json.gz")->name, "firefox");
  const Written out = written(waiting_once());
  for (const Format &format : formats())
    EXPECT_EQ(format.probe && format.probe(std::string_view(out.bytes).substr(0, 4096)),
              format.name == "firefox")
        << format.name;
  EXPECT_TRUE(firefox::probe(foreign));
  EXPECT_FALSE(firefox::probe("{\"meta\": {\"version\": 7}}"));
}

TEST(Firefox, IsCompressedIfTheNameSaysSo) {
  const TemporaryFolder folder;
  const Format &format = **format_by_name("firefox");
  const Written out = written(waiting_once());
  const std::string packed = folder / "x.firefox.json.gz";
  const std::string plain = folder / "x.firefox.json";
  ASSERT_TRUE(write_file(packed, format, out));
  ASSERT_TRUE(write_file(plain, format, out));
  const auto head = (*ByteSource::open(plain))->rest();
  EXPECT_EQ(head.value(), out.bytes);
  EXPECT_LT((*ByteSource::open(packed))->size_hint(), out.bytes.size());
  Diagnostics diagnostics;
  const auto read = read_file(packed, diagnostics);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->format, &format);
}

} // namespace
} // namespace tally::formats_firefox_test
