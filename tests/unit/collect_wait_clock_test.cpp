// Tests which intervals the records of switches make.
#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "collect/wait_clock.h"

namespace tally::collect_wait_clock_test {
namespace {

using Why = WaitClock::Why;
using Call = WaitClock::Call;
constexpr std::array<uint64_t, 2> stack{0x1010, 0x1100};

// One thread that is switched out and in again.
class WaitClockTest : public testing::Test {
protected:
  std::optional<WaitClock::Interval> interval(Call call, bool preempted, uint64_t from,
                                              uint64_t to) {
    clock.sampled(1, stack, call, true);
    clock.out(1, from, preempted);
    return in(to);
  }
  // Returns the interval that ends if it is the program's own and counts.
  std::optional<WaitClock::Interval> in(uint64_t at_ns) {
    const auto interval = clock.in(1, at_ns);
    return interval && interval->counts && interval->why != Why::held ? interval : std::nullopt;
  }
  WaitClock clock;
};

TEST_F(WaitClockTest, MeasuresWaitsAndTheQueue) {
  auto wait = interval(Call::inside, false, 100, 150);
  ASSERT_TRUE(wait);
  EXPECT_EQ(wait->why, Why::waits);
  EXPECT_EQ(wait->ns, 50u);
  EXPECT_FALSE(wait->continues);
  EXPECT_EQ(std::vector(wait->stack.begin(), wait->stack.end()),
            std::vector(stack.begin(), stack.end()));
  auto queued = interval(Call::none, true, 200, 207);
  ASSERT_TRUE(queued);
  EXPECT_EQ(queued->why, Why::queued);
  EXPECT_EQ(queued->ns, 7u);
}

TEST_F(WaitClockTest, CallsASwitchInTheProgramsOwnCodeAWaitForAPage) {
  const auto page = interval(Call::none, false, 100, 150);
  ASSERT_TRUE(page);
  EXPECT_EQ(page->why, Why::waits);
}

TEST_F(WaitClockTest, LeavesOutTheDebuggersStops) {
  clock.set_traced(true);
  EXPECT_FALSE(interval(Call::none, false, 100, 1'000'000));
  EXPECT_TRUE(interval(Call::inside, false, 1'000'100, 1'000'200));
  EXPECT_TRUE(interval(Call::none, true, 1'000'300, 1'000'400)); // preempted
}

TEST_F(WaitClockTest, ContinuesAWaitAfterAStop) {
  clock.set_traced(true);
  EXPECT_FALSE(interval(Call::inside, false, 100, 200)->continues);
  EXPECT_FALSE(interval(Call::interrupted, false, 210, 5'000)); // at the prompt
  EXPECT_TRUE(interval(Call::inside, false, 5'010, 5'110)->continues);
  EXPECT_FALSE(interval(Call::inside, false, 5'200, 5'300)->continues);
  // After a stop outside of a call, the next wait is another one.
  EXPECT_FALSE(interval(Call::none, false, 5'400, 9'000));
  EXPECT_FALSE(interval(Call::inside, false, 9'010, 9'110)->continues);
}

TEST_F(WaitClockTest, HoldsAThreadThatStandsInACall) {
  clock.set_traced(true);
  clock.sampled(1, stack, Call::inside, true);
  clock.out(1, 100, false);
  EXPECT_EQ(clock.open(), std::vector<pid_t>{1});
  clock.hold(1);
  EXPECT_TRUE(clock.open().empty());
  EXPECT_FALSE(in(1'000'000));
}

TEST_F(WaitClockTest, InventsNothingWhereRecordsAreMissing) {
  EXPECT_FALSE(in(100));    // a thread that nobody has seen
  EXPECT_FALSE(in(200));    // it did not leave its processor
  clock.out(1, 300, false); // without a sample
  const auto wait = in(350);
  ASSERT_TRUE(wait);
  EXPECT_TRUE(wait->stack.empty());
  EXPECT_EQ(wait->ns, 50u);
  clock.sampled(1, stack, Call::inside, true);
  clock.out(1, 400, false);
  clock.out(1, 500, false); // the record in between was lost
  EXPECT_EQ(in(510)->ns, 10u);
  clock.set_traced(true);
  clock.out(1, 600, false); // without a sample, it may be a stop
  EXPECT_FALSE(in(700));
  clock.sampled(1, stack, Call::inside, true);
  clock.out(1, 800, false);
  EXPECT_FALSE(in(790)); // a time before the switch
}

TEST_F(WaitClockTest, TakesStacksThatWereSeenFromOutside) {
  clock.set_unsampled();
  clock.set_traced(true);
  clock.out(1, 100, false);
  EXPECT_EQ(clock.unseen(100), std::vector<pid_t>{1});
  EXPECT_TRUE(clock.unseen(99).empty()); // too young
  clock.seen(1, 150, stack);
  EXPECT_TRUE(clock.unseen(100).empty());
  EXPECT_EQ(in(200)->stack.size(), stack.size());
  // The thread had gone on before it was seen.
  clock.out(1, 300, false);
  clock.seen(1, 450, stack);
  EXPECT_TRUE(in(400)->stack.empty());
  clock.seen(1, 460, stack); // it runs
  clock.out(1, 500, false);
  EXPECT_EQ(clock.unseen(500), std::vector<pid_t>{1});
  EXPECT_EQ(clock.take_cpu_ns(1), 200u); // from 200 to 300 and from 400 to 500
  EXPECT_EQ(clock.take_cpu_ns(1), 0u);
}

TEST_F(WaitClockTest, CountsOnlyWhatTheRegionHolds) {
  clock.sampled(1, {}, Call::inside, false);
  clock.out(1, 100, false);
  EXPECT_FALSE(in(200));
  EXPECT_TRUE(interval(Call::inside, false, 300, 400));
}

TEST_F(WaitClockTest, KnowsThreadsThatExistedBefore) {
  clock.begin(1, Why::waits, 100);
  clock.begin(2, Why::held, 100);
  clock.begin(3, Why::queued, 100);
  EXPECT_EQ(clock.open(), (std::vector<pid_t>{1, 3}));
  clock.restart(150); // the times before are cleared
  EXPECT_EQ(in(160)->ns, 10u);
  EXPECT_EQ(clock.in(2, 160)->why, Why::held);
  clock.ended(3);
  EXPECT_TRUE(clock.open().empty());
}

} // namespace
} // namespace tally::collect_wait_clock_test
