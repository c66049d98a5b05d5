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
  RunDelay delay{[this](pid_t tid) {
    const auto at = kernel.find(tid);
    return at == kernel.end() ? std::nullopt : std::optional(at->second);
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

} // namespace
} // namespace tally::collect_run_delay_test
