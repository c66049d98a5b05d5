#include <map>
#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "collect/run_delay.h"

namespace tally::collect_run_delay_test {
namespace {

using Interval = RunDelay::Interval;

class RunDelayTest : public testing::Test {
protected:
  std::vector<uint64_t> divided(std::vector<Interval> intervals) {
    delay.divide(intervals);
    std::vector<uint64_t> out;
    for (const Interval &each : intervals)
      out.push_back(each.queued_ns);
    return out;
  }
  std::map<pid_t, uint64_t> kernel; // by thread
  std::map<pid_t, uint64_t> cpu;    // likewise, at `now`
  uint64_t now = 0;
  RunDelay delay{[this](pid_t tid) {
    const auto at = kernel.find(tid);
    return at == kernel.end() ? std::nullopt
                              : std::optional(RunDelay::Account{at->second, cpu[tid], now});
  }};
};

using Queued = std::vector<uint64_t>;

TEST_F(RunDelayTest, DividesWhatIsMoreThanThePreemptionsAmongTheWaits) {
  kernel = {{1, 1000}, {2, 0}};
  delay.begin(1);
  delay.began(2);
  kernel = {{1, 1000 + 30 + 100}, {2, 8}};
  EXPECT_EQ(divided({{1, 500}, {1, 30, true}, {1, 20}, {2, 9}}), (Queued{80, 30, 20, 8}))
      << "no wait gets more than its length";
}

TEST_F(RunDelayTest, CarriesWhatTheKernelSaysBeforeTheRecordsDo) {
  delay.began(1);
  kernel[1] = 70; // 40 of these belong to a preemption whose record comes later
  EXPECT_EQ(divided({{1, 100}, {1, 30}}), (Queued{40, 30}));
  kernel[1] = 100;
  EXPECT_EQ(divided({{1, 40, true}, {1, 60}}), (Queued{40, 0}));
  kernel[1] = 150;
  EXPECT_EQ(divided({{1, 60}}), Queued{40}) << "10 too much were divided before";
}

// A late reader once took the time of a preemption from the waits before it, and counted it twice.
TEST_F(RunDelayTest, KeepsWhatIsNewerThanTheRecords) {
  delay.began(1);
  kernel[1] = 70; // 40 of them since the last record
  now = 1040;
  const auto wait = [](uint64_t ns, uint64_t end_ns) {
    return Interval{.tid = 1, .ns = ns, .end_ns = end_ns};
  };
  EXPECT_EQ(divided({wait(100, 990), wait(30, 1000)}), (Queued{15, 15}));
  now = 1060;
  EXPECT_EQ(divided({{.tid = 1, .ns = 30, .is_queued = true, .end_ns = 1040}, wait(20, 1060)}),
            (Queued{30, 10}));
  kernel[1] = 100;
  now = 1100;
  EXPECT_EQ(divided({wait(20, 1065)}), Queued{0});
  kernel.erase(1); // it has ended
  EXPECT_EQ(divided({{.tid = 1, .ns = 5, .is_queued = true, .end_ns = 1080}, wait(50, 1110)}),
            (Queued{5, 25}));
}

TEST_F(RunDelayTest, KnowsNothingOfThreadsThatHaveEnded) {
  delay.began(1);
  EXPECT_EQ(divided({{1, 100}, {1, 30, true}, {3, 7}}), (Queued{0, 30, 0}));
  kernel[1] = 50;
  delay.ended(1);
  EXPECT_EQ(divided({{1, 100}}), Queued{0});
}

TEST_F(RunDelayTest, ForgetsWhatWasBefore) {
  delay.began(1);
  kernel[1] = 50;
  delay.restart();
  EXPECT_EQ(divided({{1, 100}}), Queued{0});
  kernel[1] = 150;
  EXPECT_EQ(divided({{1, 60}}), Queued{60});
}

TEST_F(RunDelayTest, DividesNothingWhereRecordsAreLost) {
  delay.began(1);
  kernel[1] = 100; // of a preemption whose record is lost
  delay.lose();
  EXPECT_EQ(divided({{1, 500}, {1, 7, true}}), (Queued{0, 7}));
  kernel[1] = 130;
  EXPECT_EQ(divided({{1, 500}}), Queued{30});
}

TEST_F(RunDelayTest, DividesAllButTheFirstWaitsOfAThreadThatItMissed) {
  kernel[1] = 100;
  EXPECT_EQ(divided({{1, 500}}), Queued{0});
  kernel[1] = 130;
  EXPECT_EQ(divided({{1, 500}}), Queued{30});
}

// A thread runs 100 times for 10 µs and waits 100 times for 30 µs, by its own clock. The records
// show a switch of `late` ns more or less in each wait.
class SwitchesTest : public RunDelayTest {
protected:
  uint64_t waited_with(int64_t late, uint64_t queued_ns) {
    kernel[1] = cpu[1] = now = 0;
    delay.began(1);
    uint64_t waited = 0;
    for (int call = 0; call < 10; ++call) {
      std::vector<Interval> intervals;
      for (int i = 0; i < 100; ++i) {
        now += 40'000;
        intervals.push_back({1, static_cast<uint64_t>(30'000 + late), false, 0,
                             static_cast<uint64_t>(10'000 - late), now});
      }
      cpu[1] += 1'000'000;
      kernel[1] += queued_ns;
      delay.divide(intervals);
      for (const Interval &each : intervals)
        waited += each.ns - each.queued_ns;
    }
    return waited;
  }
};

TEST_F(SwitchesTest, TakesTheWorkOfSwitchesFromIntervals) {
  EXPECT_EQ(waited_with(0, 0), 30'000'000u);
  EXPECT_EQ(waited_with(5'000, 0), 30'000'000u);
  EXPECT_EQ(waited_with(5'000, 1'000'000), 20'000'000u);
  // While a thread runs, the kernel's account may be old: up to 10 ms stay with the CPU time.
  EXPECT_EQ(waited_with(-9'000, 0), 30'000'000u - 9'000'000u);
  EXPECT_EQ(waited_with(-20'000, 0), 10'000'000u + 10'000'000u);
}

} // namespace
} // namespace tally::collect_run_delay_test
