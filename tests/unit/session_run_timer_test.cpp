#include <gtest/gtest.h>
#include <unistd.h>

#include "session/run_timer.h"
#include "support/clock.h"

namespace tally::session_run_timer_test {
namespace {

DebugEvent event(EventKind kind, uint64_t at_ns = 0, TargetKind target = TargetKind::native) {
  DebugEvent out;
  out.kind = kind;
  out.target = target;
  out.pid = ::getpid();
  out.at_ns = at_ns;
  return out;
}

void burn(uint64_t ns) {
  timespec time{};
  const auto used = [&] {
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
  };
  for (const uint64_t end = used() + ns; used() < end;) {
  }
}

TEST(RunTimer, MeasuresFromTheResumeToTheStop) {
  RunTimer timer{std::make_shared<HeldTimes>()};
  EXPECT_FALSE(timer.event(event(EventKind::resumed)));
  burn(20'000'000);
  const auto run = timer.event(event(EventKind::breakpoint));
  ASSERT_TRUE(run && run->cpu_ns);
  EXPECT_GE(*run->cpu_ns, 20'000'000U);
  EXPECT_LE(*run->cpu_ns, run->elapsed_ns + 10'000'000U); // the clocks are read at different times
  EXPECT_EQ(timer.last()->elapsed_ns, run->elapsed_ns);
  EXPECT_FALSE(timer.event(event(EventKind::breakpoint))); // without a resume it is no new stop
}

TEST(RunTimer, TakesTheTimesOfTheFrontEnd) {
  RunTimer timer{std::make_shared<HeldTimes>()};
  const uint64_t now = now_ns();
  timer.event(event(EventKind::resumed, now - 5'000'000));
  const auto run = timer.event(event(EventKind::step, now - 2'000'000));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->elapsed_ns, 3'000'000U);
}

TEST(RunTimer, LeavesOutTheTimeForWhichTheProcessIsHeld) {
  const auto held = std::make_shared<HeldTimes>();
  RunTimer timer{held};
  const uint64_t now = now_ns();
  timer.event(event(EventKind::resumed, now - 5'000'000));
  held->open(now - 4'000'000);
  held->close(now - 3'000'000);
  const auto run = timer.event(event(EventKind::step, now - 2'000'000));
  ASSERT_TRUE(run);
  EXPECT_EQ(run->elapsed_ns, 2'000'000U);
}

TEST(RunTimer, MeasuresOnlyRunsWhoseBeginItKnows) {
  RunTimer timer{std::make_shared<HeldTimes>()};
  DebugEvent unseen = event(EventKind::resumed);
  unseen.unseen = true;
  timer.event(unseen);
  EXPECT_FALSE(timer.event(event(EventKind::signal)));
  EXPECT_FALSE(timer.last());
  timer.event(event(EventKind::resumed));
  EXPECT_FALSE(timer.event(event(EventKind::exited))); // its CPU time cannot be read any more
  timer.event(event(EventKind::resumed));
  DebugEvent other = event(EventKind::signal);
  other.pid = 1;
  EXPECT_FALSE(timer.event(other));
}

TEST(RunTimer, KnowsNoCpuTimeOfARemoteProcess) {
  RunTimer timer{std::make_shared<HeldTimes>()};
  timer.event(event(EventKind::resumed, 0, TargetKind::remote));
  const auto run = timer.event(event(EventKind::breakpoint, 0, TargetKind::remote));
  ASSERT_TRUE(run);
  EXPECT_FALSE(run->cpu_ns);
}

TEST(RunTimer, WritesTimes) {
  EXPECT_EQ(text_of({11'345'000, 10'062'000}), "[11.3 ms, 10.1 ms CPU]");
  EXPECT_EQ(text_of({999'999, 33'000}), "[under 1 ms, 0.0 ms CPU]");
  EXPECT_EQ(text_of({1'000'000, {}}), "[1.0 ms]");
  EXPECT_EQ(text_of({999'949'999, 999'960'000}), "[999.9 ms, 1.00 s CPU]");
  EXPECT_EQ(text_of({61'230'000'000, 0}), "[61.23 s, 0.0 ms CPU]");
}

} // namespace
} // namespace tally::session_run_timer_test
