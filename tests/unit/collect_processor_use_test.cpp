#include "collect/processor_use.h"

#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

#include "collect_child.h"

namespace tally::collect_processor_use_test {
namespace {

TEST(ProcessorUse, ReadsWhatTheSchedulerCounts) {
  const auto counts = parse_schedstat("1234567 89 10\n");
  ASSERT_TRUE(counts);
  EXPECT_EQ(counts->cpu_ns, 1234567u);
  EXPECT_EQ(counts->arrivals, 10u);
  EXPECT_FALSE(parse_schedstat("0 0 0\n")); // the kernel does not count
  EXPECT_FALSE(parse_schedstat("12 34\n"));
  EXPECT_FALSE(parse_schedstat(""));

  const ProcessStatus lost_nine = parse_status("State:\tR (running)\nvoluntary_ctxt_switches:\t2\n"
                                               "nonvoluntary_ctxt_switches:\t7\n");
  EXPECT_TRUE(has_processor(*counts, lost_nine));
  const ProcessStatus lost_ten = parse_status("voluntary_ctxt_switches:\t3\n"
                                              "nonvoluntary_ctxt_switches:\t7\n");
  EXPECT_FALSE(has_processor(*counts, lost_ten));
}

// Two processes share one processor: at most one of them runs at a time, and the other waits for
// it. Both would count if it were enough that they are runnable.
TEST(ProcessorUse, OneOfTwoRunsOnOneProcessor) {
  if (!read_small_file("/proc/self/schedstat"))
    GTEST_SKIP() << "the kernel has no /proc/PID/schedstat";
  cpu_set_t allowed;
  ASSERT_EQ(::sched_getaffinity(0, sizeof allowed, &allowed), 0);
  int last = 0;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed))
      last = cpu;
  const auto spin = [last] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(last, &one);
    ::sched_setaffinity(0, sizeof one, &one);
    spin_for(100);
  };
  Child first(spin), second(spin);
  first.go();
  second.go();

  constexpr int enough = 100;
  int looks = 0, runnable = 0, running = 0;
  ProcessorUse uses[] = {ProcessorUse(first.pid()), ProcessorUse(second.pid())};
  const std::vector<pid_t> tids[] = {{first.pid()}, {second.pid()}};
  for (int tries = 0; looks < enough && tries < 100 * enough; ++tries) {
    bool on_time = true;
    for (int i = 0; i < 2; ++i)
      on_time &= uses[i].sleep_briefly(tids[i]);
    if (!on_time)
      continue;
    ++looks;
    for (int i = 0; i < 2; ++i) {
      const auto status = process_status(std::to_string(tids[i][0]));
      ASSERT_TRUE(status);
      runnable += status->state == 'R';
      running += status->state == 'R' && uses[i].runs(tids[i][0], *status);
    }
  }
  if (looks < enough)
    GTEST_SKIP() << "the machine is too busy: this thread never wakes on time";
  EXPECT_GT(runnable, enough * 3 / 2);
  EXPECT_LT(running, enough * 3 / 2);
  EXPECT_GT(running, 0);
}

} // namespace
} // namespace tally::collect_processor_use_test
