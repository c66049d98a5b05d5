// Tests how long the clock of the interrupt backend lets a process run between two rounds.
#include <chrono>
#include <cstdint>
#include <thread>

#include <gtest/gtest.h>

#include "collect/interrupt.h"

namespace tally::collect_interrupt_clock_test {
namespace {

constexpr uint64_t longest_period = 15'000'000; // the period of 10 ms, and a half

// Resumes a remote process, of which one stop shows all threads, for a run with one round. Returns
// the wait in the next run.
uint64_t wait_after_round(InterruptClock &clock, std::chrono::milliseconds round) {
  clock.resumed();
  EXPECT_EQ(clock.interrupt(), 1u);
  EXPECT_EQ(clock.take(InterruptClock::any_thread), InterruptClock::Stop::ours);
  std::this_thread::sleep_for(round);
  clock.done();
  clock.stopped();
  clock.resumed();
  const uint64_t wait = clock.wait_ns();
  clock.stopped();
  return wait;
}

TEST(InterruptClock, WaitsLongInLaterRunsOnlyAfterTwoSlowRounds) {
  InterruptClock clock;
  clock.set(0, 0, InterruptClock::most_remote_hz);
  EXPECT_LE(wait_after_round(clock, std::chrono::milliseconds(50)), longest_period);
  EXPECT_GT(wait_after_round(clock, std::chrono::milliseconds(50)), longest_period);
  EXPECT_LE(wait_after_round(clock, std::chrono::milliseconds(0)), longest_period);
}

TEST(InterruptClock, RunsThatAreShorterThanTheWaitAddUp) {
  InterruptClock clock;
  clock.set(0, 0, InterruptClock::most_remote_hz);
  wait_after_round(clock, std::chrono::milliseconds(50));
  uint64_t wait = wait_after_round(clock, std::chrono::milliseconds(50));
  EXPECT_GT(wait, 60'000'000u);
  for (int runs = 0; wait > longest_period; ++runs) {
    ASSERT_LT(runs, 40); // the longest wait is 1 s
    clock.resumed();
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    clock.stopped();
    clock.resumed();
    wait = clock.wait_ns();
    clock.stopped();
  }
}

} // namespace
} // namespace tally::collect_interrupt_clock_test
