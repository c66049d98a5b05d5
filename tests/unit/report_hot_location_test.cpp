#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "formats/callgrind/read.h"
#include "random_profile.h"
#include "report/report.h"

namespace tally::report_hot_location_test {
namespace {

using Line = std::pair<std::string, uint32_t>;
using LineCosts = std::map<Line, std::pair<uint64_t, uint64_t>>; // self, inclusive

// Counts the costs of a row's lines, sample by sample.
LineCosts plain_lines(const StackProfile &profile, By by, const FlatRow &row) {
  LineCosts out;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const Sample sample = profile.sample(i);
    if (std::ranges::all_of(sample.values, [](int64_t value) { return value == 0; }))
      continue;
    const auto cost = static_cast<uint64_t>(sample.values[0]);
    const auto frames = frames_of(profile, sample.stack);
    std::set<Line> seen;
    for (size_t depth = 0; depth < frames.size(); ++depth) {
      const Frame &frame = frames[depth];
      const auto &[object, file, name] = frame.function;
      const bool wanted =
          by == By::line ? frame.file == row.file && frame.line == row.line : file == row.file;
      if (!wanted || object != row.object || name != row.name || frame.line == 0)
        continue;
      auto &[self, inclusive] = out[{frame.file, frame.line}];
      self += depth == 0 ? cost : 0;
      inclusive += seen.insert({frame.file, frame.line}).second ? cost : 0;
    }
  }
  return out;
}

TEST(HotLocation, AgreesWithCountingEachSample) {
  Random random(81);
  size_t lines = 0;
  for (int round = 0; round < rounds(500); ++round) {
    const StackProfile profile = random_profile(random, random_shape(random));
    for (const By by : {By::function, By::line}) {
      const auto table = flat_table(profile, by);
      for (const FlatRow &row : table->rows) {
        const auto location = hot_location(profile, by, row);
        ASSERT_TRUE(location) << location.error().text();
        const LineCosts plain = plain_lines(profile, by, row);
        if (plain.empty()) {
          EXPECT_EQ(location->line, 0u);
          continue;
        }
        const auto most = std::ranges::max_element(
            plain, [](const auto &a, const auto &b) { return a.second < b.second; });
        const auto found = plain.find({location->file, location->line});
        ASSERT_NE(found, plain.end()) << row.name;
        EXPECT_EQ(found->second, most->second) << row.name;
        ++lines;
      }
    }
  }
  EXPECT_GT(lines, static_cast<size_t>(rounds(1000)));
}

TEST(HotLocation, IsTheLineWithMostSelfOrTheCostliestCalls) {
  Diagnostics diagnostics;
  auto read = callgrind::read(
      *ByteSource::of("events: A\nob=p\nfl=m.c\nfn=main\n3 10\n5 10\nfi=m.h\n7 15\nfe=m.c\n"
                      "cfn=f\ncalls=1 20\n4 99\nfn=caller\n30 0\ncfn=f\ncalls=1 20\n31 7\n"
                      "cfn=f\ncalls=1 20\n32 9\nfn=f\n0 50\n",
                      "f"),
      diagnostics);
  ASSERT_TRUE(read);
  const auto &profile = std::get<CostProfile>(*read);
  const auto location_of = [&](std::string_view name) {
    const auto table = flat_table(profile, By::function);
    return *hot_location(profile, By::function,
                         *std::ranges::find(table->rows, name, &FlatRow::name));
  };
  EXPECT_EQ(location_of("main").file + std::to_string(location_of("main").line), "m.h7");
  EXPECT_EQ(location_of("caller").line, 32u);
  EXPECT_EQ(location_of("f").line, 0u);
  const auto table = flat_table(profile, By::line);
  for (const FlatRow &row : table->rows)
    EXPECT_EQ(hot_location(profile, By::line, row)->line, row.line) << row.name;
}

TEST(HotLocation, IsTheAddressWithMostSelfWithoutLines) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  SourceFunction function;
  function.name = builder.intern("f");
  const SourceLine line{builder.add_function(function), {}, 0};
  for (const auto &[address, ticks] : {std::pair<uint64_t, int64_t>{0x10, 2}, {0x20, 5}, {0x30, 4}})
    builder.add_sample(
        builder.push(none<StackId>, builder.add_location(none<MappingId>, address, {{line}})),
        none<ThreadId>, none<PartId>, ticks);
  const auto profile = builder.finish();
  ASSERT_TRUE(profile) << profile.error().text();
  const auto table = flat_table(*profile, By::function);
  const auto location = hot_location(*profile, By::function, table->rows[0]);
  EXPECT_EQ(location->line, 0u);
  EXPECT_EQ(location->address, 0x20u);
}

TEST(HotLocation, IsUnsupportedForOtherRows) {
  Random random(82);
  const StackProfile profile = random_profile(random);
  for (const By by : {By::object, By::thread, By::part}) {
    const auto location = hot_location(profile, by, {});
    ASSERT_FALSE(location);
    EXPECT_EQ(location.error().code, ErrorCode::unsupported);
  }
}

} // namespace
} // namespace tally::report_hot_location_test
