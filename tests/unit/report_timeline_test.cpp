#include <cstdint>
#include <initializer_list>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/stack_profile.h"
#include "report/heat_map.h"
#include "report/time_axis.h"
#include "report/timeline.h"

namespace tally::report_timeline_test {
namespace {

constexpr uint64_t ms = 1'000'000;

// Adds times together with the values that they are parts of.
class Recorded {
public:
  struct Value {
    std::string_view name, unit;
  };
  Recorded(std::initializer_list<Value> values) {
    for (const Value &value : values)
      builder_.add_value_type(value.name, value.unit);
    width_ = values.size();
  }
  ThreadId thread(int tid, std::string_view name, int pid = 100) {
    return builder_.add_thread(pid, tid, name);
  }
  void add(ThreadId thread, uint64_t at_ns, uint32_t value, int64_t amount) {
    std::vector<int64_t> values(width_);
    values[value] = amount;
    builder_.add_time(
        {at_ns, builder_.add_sample(none<StackId>, thread, part, values), value, amount});
  }
  // Adds a sample each millisecond after `from` and up to `to`.
  void run(ThreadId thread, uint64_t from, uint64_t to, int64_t amount, uint64_t step = ms) {
    for (uint64_t at = from + step; at <= to; at += step)
      add(thread, at, 0, amount);
  }
  StackProfileBuilder &builder() { return builder_; }
  StackProfile finish() {
    auto made = builder_.finish();
    EXPECT_TRUE(made) << made.error().text();
    return std::move(*made);
  }
  PartId part = none<PartId>;

private:
  StackProfileBuilder builder_;
  size_t width_ = 0;
};

// Thread 101 runs to 40 ms, waits to 70, is queued to 80 and runs to 100. Thread 102 begins at 50
// and runs to 100. The first of two parts ends at 60 ms.
StackProfile two_threads() {
  Recorded out{{"cpu", "nanoseconds"}, {"wait", "nanoseconds"}, {"queued", "nanoseconds"}};
  const PartId first = out.builder().add_part({1, {}, 0, 60 * ms});
  const PartId second = out.builder().add_part({2, {}, 60 * ms, 100 * ms});
  out.builder().close_part(first, "breakpoint 2, parse.c:10", 60 * ms);
  const ThreadId late = out.thread(102, "late"), early = out.thread(101, "early");
  out.part = first;
  out.run(early, 0, 40 * ms, ms);
  out.run(late, 50 * ms, 60 * ms, ms);
  out.part = second;
  out.run(late, 60 * ms, 100 * ms, ms);
  out.run(early, 80 * ms, 100 * ms, ms);
  out.add(early, 70 * ms, 1, 30 * ms);
  out.add(early, 80 * ms, 2, 10 * ms);
  return out.finish();
}

Timeline made(const StackProfile &profile, const TimelineOptions &options) {
  auto out = timeline(profile, options);
  EXPECT_TRUE(out) << out.error().text();
  return out ? std::move(*out) : Timeline();
}

std::vector<std::string> lines(const std::string &text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

uint64_t sum(const std::vector<uint64_t> &cells) {
  return std::accumulate(cells.begin(), cells.end(), uint64_t{0});
}

TEST(Timeline, ShowsTheStateThatTakesMostOfACell) {
  const auto text = lines(to_text(made(two_threads(), {.cells = 50})));
  const std::vector<std::string> expected{
      "0 to 100 ms; a column is 2.00 ms",
      "# running  . waiting  - queued  | a part ends",
      "thread     0           25 ms        50 ms       75 ms  100 ms",
      "101 early  ####################.........|.....-----##########",
      "102 late                            ####|####################",
      "| 60 ms: part 1, breakpoint 2, parse.c:10"};
  ASSERT_EQ(text.size(), expected.size());
  for (size_t i = 0; i < text.size(); ++i)
    EXPECT_EQ(text[i], expected[i]);
}

TEST(Timeline, CountsAllTimeOnce) {
  const StackProfile profile = two_threads();
  for (uint32_t cells = 1; cells < 130; ++cells) {
    const Timeline all = made(profile, {.cells = cells});
    ASSERT_EQ(all.threads.size(), 2u);
    EXPECT_EQ(sum(all.threads[0].running), 60 * ms) << cells;
    EXPECT_EQ(sum(all.threads[0].waiting), 30 * ms) << cells;
    EXPECT_EQ(sum(all.threads[0].queued), 10 * ms) << cells;
    EXPECT_EQ(sum(all.threads[1].running), 50 * ms) << cells;
    ASSERT_EQ(all.cells(), cells);
    for (size_t i = 0; i < cells; ++i) {
      EXPECT_EQ(all.threads[0].running[i] + all.threads[0].waiting[i] + all.threads[0].queued[i],
                all.edges[i + 1] - all.edges[i]);
      EXPECT_EQ(all.cell_at(all.edges[i]), i);
      EXPECT_EQ(all.cell_at(all.edges[i + 1] - 1), i);
    }
  }
}

TEST(Timeline, ASampleStandsForTimeWithoutWaits) {
  // The second sample comes 3 ms after a wait of 20 ms, and stands for 10 ms.
  Recorded out{{"cpu", "nanoseconds"}, {"wait", "nanoseconds"}};
  const ThreadId thread = out.thread(101, "a");
  out.add(thread, 10 * ms, 0, 10 * ms);
  out.add(thread, 37 * ms, 1, 20 * ms);
  out.add(thread, 40 * ms, 0, 10 * ms);
  const Timeline all = made(out.finish(), {.cells = 40});
  for (size_t i = 0; i < 40; ++i) {
    EXPECT_EQ(all.threads[0].running[i], i < 17 || i >= 37 ? ms : 0) << i;
    EXPECT_EQ(all.threads[0].waiting[i], i >= 17 && i < 37 ? ms : 0) << i;
  }
}

TEST(Timeline, ShowsAStretchOfTime) {
  const StackProfile profile = two_threads();
  const Timeline some =
      made(profile, {.samples = {.from_ns = 35 * ms, .to_ns = 75 * ms}, .cells = 40});
  EXPECT_EQ(some.from_ns, 35 * ms);
  EXPECT_EQ(sum(some.threads[0].running), 5 * ms);
  EXPECT_EQ(sum(some.threads[0].waiting), 30 * ms);
  EXPECT_EQ(sum(some.threads[0].queued), 5 * ms);
  EXPECT_EQ(lines(to_text(some))[2], "thread     35.0 ms   45.0 ms   55.0 ms      75.0 ms");
  // Threads without anything between the times have no row.
  EXPECT_EQ(made(profile, {.samples = {.to_ns = 45 * ms}, .cells = 9}).threads.size(), 1u);
  // The end of the profile is the end of the axis.
  EXPECT_EQ(made(profile, {.samples = {.to_ns = 900 * ms}, .cells = 9}).to_ns, 100 * ms);
}

TEST(Timeline, ShowsOnePartOrThread) {
  const StackProfile profile = two_threads();
  const Timeline part = made(profile, {.samples = {.part = 2}, .cells = 40});
  EXPECT_EQ(part.from_ns, 60 * ms);
  EXPECT_EQ(part.to_ns, 100 * ms);
  EXPECT_EQ(sum(part.threads[0].waiting), 10 * ms);
  const Timeline thread = made(profile, {.samples = {.thread = "late"}, .cells = 40});
  EXPECT_EQ(thread.from_ns, 0u);
  ASSERT_EQ(thread.threads.size(), 1u);
  EXPECT_EQ(thread.threads[0].tid, 102);
  EXPECT_EQ(thread.parts.size(), 2u);
}

TEST(Timeline, KeepsTheBusiestThreads) {
  Recorded out{{"ticks", "count"}};
  out.builder().set_period_ns(ms);
  for (int i = 0; i < 30; ++i) {
    const auto begin = static_cast<uint64_t>(i) * ms;
    out.run(out.thread(100 + i, "t"), begin, begin + static_cast<uint64_t>(1 + i % 10) * ms, 1);
  }
  const Timeline some = made(out.finish(), {.cells = 39, .limit = 3});
  ASSERT_EQ(some.threads.size(), 3u);
  EXPECT_EQ(some.threads[0].tid, 109);
  EXPECT_EQ(some.threads[2].tid, 129);
  EXPECT_EQ(some.left_out, 27u);
  const auto text = lines(to_text(some));
  EXPECT_EQ(text.back(), "(27 more; --limit 0 shows all)");
  EXPECT_EQ(text[1], "# running at least half of the column  + less");
}

TEST(Timeline, TicksAreDenseOrNot) {
  Recorded out{{"ticks", "count"}};
  out.builder().set_period_ns(ms);
  const ThreadId thread = out.thread(101, "a");
  out.run(thread, 0, 20 * ms, 1);
  out.run(thread, 20 * ms, 40 * ms, 1, 2 * ms);
  out.run(thread, 60 * ms, 80 * ms, 1, 5 * ms);
  const auto text = lines(to_text(made(out.finish(), {.cells = 8})));
  EXPECT_EQ(text[3], "101 a   ####  ++");
}

TEST(Timeline, SamplesOfOtherEventsHaveNoDuration) {
  Recorded out{{"ticks", "count"}, {"page-faults", "count"}};
  const ThreadId thread = out.thread(101, "a");
  out.run(thread, 0, 10 * ms, 1);
  out.run(thread, 10 * ms, 20 * ms, 1, 4 * ms);
  out.add(thread, 40 * ms, 0, 1);
  out.add(thread, 40 * ms, 1, 1000);
  const Timeline all = made(out.finish(), {.cells = 4});
  EXPECT_FALSE(all.has_durations);
  EXPECT_EQ(all.threads[0].running, (std::vector<uint64_t>{10, 2, 0, 1}));
  const auto text = lines(to_text(all));
  EXPECT_EQ(text[1], "# at least half of 10 samples, the most in a column  + fewer");
  EXPECT_EQ(text[3], "101 a   #+ +");
}

TEST(Timeline, IsAsWideAsWanted) {
  Recorded out{{"ticks", "count"}};
  out.builder().set_period_ns(ms);
  out.run(out.thread(101, "a name of many characters that is cut"), 0, 100 * ms, 1);
  out.run(out.thread(201, "n", 200), 0, 100 * ms, 1);
  const StackProfile profile = out.finish();
  for (const uint32_t width : {40u, 41u, 80u, 200u}) {
    const auto text = lines(to_text(made(profile, {.width = width})));
    EXPECT_EQ(text[3].size(), width + 2) << text[3]; // … has three bytes
    EXPECT_TRUE(text[3].starts_with("100/101 a name of many …  ###"));
    EXPECT_TRUE(text[4].starts_with("200/201 n                 ###"));
    EXPECT_TRUE(text[2].ends_with(" 100 ms"));
  }
  for (const uint32_t width : {0u, 39u, 10'001u}) {
    const auto refused = timeline(profile, {.width = width});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().text(), "--width: expected a whole number from 40 to 10000, found '" +
                                          std::to_string(width) + "'");
  }
}

TEST(Timeline, ManyPartsAreNotMarked) {
  Recorded out{{"ticks", "count"}};
  out.builder().set_period_ns(ms);
  for (uint32_t i = 0; i < 30; ++i)
    out.part = out.builder().add_part({i + 1, {}, i * ms, (i + 1) * ms});
  out.run(out.thread(101, "a"), 0, 30 * ms, 1);
  const auto text = to_text(made(out.finish(), {.cells = 40}));
  EXPECT_EQ(text.find('|'), text.npos);
  EXPECT_NE(text.find("(30 parts, too many to mark; --from and --to show fewer)"), text.npos);
}

TEST(Timeline, Refusals) {
  const StackProfile profile = two_threads();
  const auto code = [&](const SampleFilter &samples) {
    const auto refused = timeline(profile, {.samples = samples, .cells = 10});
    return refused ? ErrorCode::internal : refused.error().code;
  };
  EXPECT_EQ(code({.from_ns = 100 * ms}), ErrorCode::no_data);
  EXPECT_EQ(code({.from_ns = 50 * ms, .to_ns = 50 * ms}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({.to_ns = 0}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({.thread = "none"}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({.part = 7}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({.thread = "late", .to_ns = 20 * ms}), ErrorCode::no_data);
  StackProfileBuilder timeless;
  timeless.add_value_type("ticks", "count");
  timeless.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 1);
  EXPECT_EQ(timeline(*timeless.finish(), {.cells = 10}).error().code, ErrorCode::unsupported);
}

TEST(Timeline, OneSampleIsEnough) {
  Recorded out{{"ticks", "count"}};
  out.add(none<ThreadId>, 0, 0, 1);
  const auto text = lines(to_text(made(out.finish(), {})));
  EXPECT_EQ(text[3], "unknown  #");
}

TEST(Timeline, Json) {
  const auto all = nlohmann::json::parse(to_json(made(two_threads(), {.cells = 10})));
  EXPECT_EQ(all["axis"]["cells"], 10);
  EXPECT_EQ(all["axis"]["to_ns"], 100 * ms);
  EXPECT_EQ(all["unit"], "nanoseconds");
  EXPECT_EQ(all["threads"][0]["name"], "early");
  EXPECT_EQ(all["threads"][0]["waiting"][5], 10 * ms);
  EXPECT_EQ(all["threads"][1]["begin_ns"], 50 * ms);
  EXPECT_EQ(all["parts"][0]["trigger"], "breakpoint 2, parse.c:10");
  EXPECT_EQ(all["parts"][1]["begin_ns"], 60 * ms);
}

TEST(Timeline, Picture) {
  Recorded out{{"cpu", "nanoseconds"}, {"wait", "nanoseconds"}};
  out.builder().set_command("a <b> & \x01");
  const ThreadId thread = out.thread(101, "<&>");
  out.run(thread, 0, 40 * ms, ms);
  out.add(thread, 70 * ms, 1, 30 * ms);
  const std::string svg = to_svg(made(out.finish(), {.cells = 100}));
  EXPECT_NE(svg.find("<title>a &lt;b&gt; &amp; ?</title>"), svg.npos);
  EXPECT_NE(
      svg.find("101 &lt;&amp;&gt;\n0 to 39.90 ms: 39.9 ms\nrunning 39.9 ms, waiting 0</title>"),
      svg.npos)
      << svg;
  EXPECT_EQ(svg.find("var("), svg.npos); // librsvg knows no variables
}

TEST(TimeAxis, WritesEqualDigits) {
  EXPECT_EQ(TimeAxis(3'000 * ms, 30 * ms).text(750 * ms), "0.75 s");
  EXPECT_EQ(TimeAxis(3'000 * ms, 1'000 * ms).text(2'000 * ms), "2 s");
  EXPECT_EQ(TimeAxis(100 * ms, ms).text(25 * ms), "25 ms");
  EXPECT_EQ(TimeAxis(100 * ms, ms / 10).text(25 * ms), "25.0 ms");
  EXPECT_EQ(TimeAxis(1'500, 10).text(20), "0.02 µs");
  EXPECT_EQ(TimeAxis(7, 0).text(3), "3 ns");
  EXPECT_EQ(TimeAxis(7, 0).text(0), "0");
}

TEST(TimeAxis, RoundTimes) {
  EXPECT_EQ(round_times(0, 10, 11), (std::vector<uint64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(round_times(0, 1000, 5), (std::vector<uint64_t>{0, 500, 1000}));
  EXPECT_EQ(round_times(1, 999, 5), (std::vector<uint64_t>{200, 400, 600, 800}));
  for (uint64_t to = 10; to < UINT64_MAX / 3; to *= 3)
    for (const uint64_t from : {uint64_t{0}, to / 3, to / 2}) {
      const auto times = round_times(from, to, 11);
      EXPECT_LE(times.size(), 11u);
      EXPECT_GE(times.size(), 2u) << from << " " << to;
    }
}

// --- HeatMap

HeatMap heat(const StackProfile &profile, const SampleFilter &wanted = {}) {
  auto out = heat_map(profile, wanted);
  EXPECT_TRUE(out) << out.error().text();
  return out ? std::move(*out) : HeatMap();
}

// A thread runs for the last 100 ms of each of four seconds.
StackProfile each_second() {
  Recorded out{{"ticks", "count"}};
  const ThreadId thread = out.thread(101, "worker");
  for (uint64_t second = 0; second < 4; ++second)
    out.run(thread, second * 1000 * ms + 900 * ms, (second + 1) * 1000 * ms, 1);
  out.builder().set_period_ns(ms);
  return out.finish();
}

TEST(HeatMap, CountsEachTickInTheCellOfTheTimeBeforeIt) {
  const HeatMap map = heat(each_second());
  ASSERT_EQ(map.columns.size(), 4u);
  for (const HeatMap::Column &column : map.columns)
    for (size_t row = 0; row < HeatMap::rows; ++row)
      EXPECT_EQ(column[row], row < 45 ? 0 : HeatMap::row_ns) << row;
  EXPECT_TRUE(map.has_durations);
  EXPECT_EQ(map.most, HeatMap::row_ns);
}

TEST(HeatMap, ShowsTheSumOfRowsAsText) {
  const auto text = lines(to_text(heat(each_second()), 80));
  ASSERT_EQ(text.size(), 28u);
  EXPECT_EQ(text[0],
            "CPU time of 0 to 4.00 s; a column is a second, and a row is 40 ms of each second");
  EXPECT_EQ(text[1], ". to @: from nothing to 40.0 ms");
  EXPECT_EQ(text[3], "        @@@@");
  EXPECT_EQ(text[4], "        @@@@");
  EXPECT_EQ(text[5], "        ++++"); // 880 to 920 ms, half of which is idle
  EXPECT_EQ(text[6], "");
  EXPECT_EQ(text[27], "  0 ms");
}

TEST(HeatMap, AWaitIsInAllCellsThatItOverlaps) {
  Recorded out{{"cpu", "nanoseconds"}, {"wait", "nanoseconds"}};
  const ThreadId thread = out.thread(101, "worker");
  out.add(thread, 1010 * ms, 1, 30 * ms); // from 980 ms of one second to 10 ms of the next
  out.add(thread, 1011 * ms, 0, ms);
  const StackProfile profile = out.finish();
  const HeatMap waits = heat(profile, {.event = "wait"});
  ASSERT_EQ(waits.columns.size(), 2u);
  EXPECT_EQ(waits.columns[0][49], 20 * ms);
  EXPECT_EQ(waits.columns[1][0], 10 * ms);
  EXPECT_EQ(waits.event, "wait");
  EXPECT_EQ(heat(profile).columns[1][0], ms); // the first value, which is the CPU time
}

TEST(HeatMap, RefusesWhatItCannotShow) {
  Recorded out{{"ticks", "count"}};
  out.add(out.thread(101, "a"), (HeatMap::most_columns + 1) * 1000 * ms, 0, 1);
  const StackProfile profile = out.finish();
  EXPECT_EQ(heat_map(profile, {}).error().code, ErrorCode::unsupported);
  EXPECT_TRUE(heat_map(profile, {.from_ns = 2000 * ms}));
  EXPECT_EQ(heat_map(StackProfile(), {}).error().code, ErrorCode::unsupported);
  EXPECT_FALSE(heat_map(each_second(), {.from_ns = 5000 * ms}));
}

TEST(HeatMap, IsAPictureAndJson) {
  const HeatMap map = heat(each_second());
  const std::string picture = to_svg(map);
  EXPECT_NE(picture.find("<title>0.98 to 1.00 s: 20.0 ms</title>"), std::string::npos);
  const auto json = nlohmann::json::parse(to_json(map));
  EXPECT_EQ(json["columns"].size(), 4u);
  EXPECT_EQ(json["columns"][3][49], HeatMap::row_ns);
  EXPECT_EQ(json["unit"], "nanoseconds");
}

} // namespace
} // namespace tally::report_timeline_test
