// Tests the times that perf's files and the text of `perf script` give to samples.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "formats/formats.h"
#include "formats/perf_data/perf_data.h"
#include "formats/perf_script/perf_script.h"
#include "model/stack_profile.h"
#include "perf_data_bytes.h"

namespace tally::formats_perf_times_test {
namespace {

using Times = std::vector<std::array<uint64_t, 3>>; // of each: at_ns, value, amount

Times times_of(const Result<Profile> &read) {
  EXPECT_TRUE(read) << read.error().text();
  Times out;
  if (read)
    for (const SampleTime &time : std::get<StackProfile>(*read).times())
      out.push_back({time.at_ns, time.value, static_cast<uint64_t>(time.amount)});
  return out;
}

constexpr uint64_t timed =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_PERIOD;

perf_event_attr software(uint64_t event, uint64_t sample_type = timed) {
  perf_event_attr attr{};
  attr.type = PERF_TYPE_SOFTWARE;
  attr.size = sizeof attr;
  attr.config = event;
  attr.sample_period = 1000;
  attr.sample_type = sample_type;
  return attr;
}

std::vector<std::byte> sample(uint64_t id, uint64_t time, uint64_t period) {
  RecordBytes bytes;
  bytes.add(id).add(5).add(5).add(time).add(period);
  return bytes.record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
}

Times times_of(const PerfFileBytes &file) {
  Diagnostics diagnostics;
  return times_of(perf_data::read(*ByteSource::of(file.file(), "p"), diagnostics, nullptr));
}

Times times_of(std::string_view text) {
  Diagnostics diagnostics;
  return times_of(perf_script::read(*ByteSource::of(text, "s"), diagnostics));
}

TEST(PerfTimes, AreThoseOfTicksAndPeriods) {
  PerfFileBytes file;
  file.event(software(PERF_COUNT_SW_CPU_CLOCK), {1});
  file.record(sample(1, 7020, 1000)).record(sample(1, 7021, 2000)).record(sample(1, 7010, 3000));
  EXPECT_EQ(times_of(file),
            (Times{{0, 0, 1}, {0, 1, 3000}, {10, 0, 1}, {10, 1, 1000}, {11, 0, 1}, {11, 1, 2000}}));
}

TEST(PerfTimes, AreThoseOfEachEvent) {
  PerfFileBytes file;
  file.event(software(PERF_COUNT_SW_CPU_CLOCK), {1, 2});
  file.event(software(PERF_COUNT_SW_PAGE_FAULTS), {3});
  file.record(sample(1, 20, 100)).record(sample(3, 21, 7)).record(sample(2, 22, 100));
  EXPECT_EQ(times_of(file), (Times{{0, 0, 1}, {0, 1, 100}, {1, 2, 7}, {2, 0, 1}, {2, 1, 100}}));
}

TEST(PerfTimes, AddUpToTheTotals) {
  PerfFileBytes file;
  file.event(software(PERF_COUNT_SW_CPU_CLOCK), {1});
  for (uint64_t i = 0; i < 1000; ++i)
    file.record(sample(1, 1 + i * 7919 % 1000, 1 + i % 17));
  Diagnostics diagnostics;
  const auto read = perf_data::read(*ByteSource::of(file.file(), "p"), diagnostics, nullptr);
  ASSERT_TRUE(read) << read.error().text();
  const auto &profile = std::get<StackProfile>(*read);
  std::vector<int64_t> sums(profile.value_types().size());
  for (const SampleTime &time : profile.times())
    sums[time.value] += time.amount;
  EXPECT_EQ(sums, profile.totals());
}

TEST(PerfTimes, AreUnknownIfAnyIsMissing) {
  PerfFileBytes file;
  file.event(software(PERF_COUNT_SW_CPU_CLOCK), {1});
  file.event(software(PERF_COUNT_SW_PAGE_FAULTS, timed & ~uint64_t{PERF_SAMPLE_TIME}), {2});
  file.record(sample(1, 20, 100));
  EXPECT_EQ(times_of(file), (Times{{0, 0, 1}, {0, 1, 100}}));
  RecordBytes timeless;
  timeless.add(uint64_t{2}).add(5).add(5).add(uint64_t{7});
  file.record(timeless.record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER));
  EXPECT_EQ(times_of(file), Times{});
}

TEST(PerfTimes, OfText) {
  EXPECT_EQ(times_of("a 7 100.000001: 50 cpu-clock: \n"
                     "a 7 101.5: 60 cpu-clock: \n"
                     "a 7 101.500000001234: 70 cpu-clock: \n"),
            (Times{{0, 0, 1},
                   {0, 1, 50},
                   {1'499'999'000, 0, 1},
                   {1'499'999'000, 1, 60},
                   {1'499'999'001, 0, 1},
                   {1'499'999'001, 1, 70}}));
  EXPECT_EQ(times_of("a 7 1.5: cycles: \na 7 1.6: cycles: \n"),
            (Times{{0, 0, 1}, {100'000'000, 0, 1}}));
  EXPECT_EQ(times_of("a 7 1.5: cycles: \na 7 cycles: \n"), Times{});
  EXPECT_EQ(times_of("a 7 99999999999.5: cycles: \n"), Times{}); // more than 64 bits
  EXPECT_EQ(times_of("\t 113a leaf\n\t 1183 main\n\n"), Times{});
}

} // namespace
} // namespace tally::formats_perf_times_test
