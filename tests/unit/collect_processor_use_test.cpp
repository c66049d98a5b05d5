#include "collect/processor_use.h"

#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>
#include <sched.h>

#include "collect_child.h"
#include "support/clock.h"

namespace tally::collect_processor_use_test {
namespace {

std::vector<int> allowed_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  ::sched_getaffinity(0, sizeof allowed, &allowed);
  std::vector<int> out;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(static_cast<size_t>(cpu), &allowed))
      out.push_back(cpu);
  return out;
}

TEST(ProcessorUse, ReadsTheSchedulersCounts) {
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

TEST(ProcessorUse, ReadsWhereAThreadRan) {
  std::string stat = "12 (a ) S) R";
  for (int field = 4; field <= 52; ++field)
    stat += " " + std::to_string(field);
  EXPECT_EQ(parse_processor(stat), 39);
  EXPECT_EQ(parse_state(stat), 'R');
  EXPECT_EQ(parse_state("12 (a R) S 4"), 'S');
  EXPECT_EQ(parse_state("12 (a"), '\0');
  EXPECT_FALSE(parse_processor("12 (a) R 4 5"));
  EXPECT_FALSE(parse_processor("12 a"));
}

TEST(ProcessorHolders, StopTheThreadOnAHeldProcessor) {
  if (!read_small_file("/proc/self/schedstat"))
    GTEST_SKIP() << "the kernel has no /proc/PID/schedstat";
  const std::vector<int> processors = allowed_processors();
  if (processors.size() < 2)
    GTEST_SKIP() << "there is one processor only";
  const int held = processors.back();
  Child child([held] {
    const OnProcessor there(held);
    spin_for(100);
  });
  const OnProcessor here(processors.front());
  child.go();
  const auto child_runs = [pid = std::to_string(child.pid())] {
    const auto text = read_small_file("/proc/" + pid + "/schedstat");
    const auto counts = text ? parse_schedstat(*text) : std::nullopt;
    const auto status = process_status(pid);
    return counts && status && has_processor(*counts, *status);
  };

  constexpr int enough = 20;
  int tries = 0, on_time = 0, holds = 0, runs_before = 0, runs_held = 0, runs_released = 0;
  int runs = 0;
  ProcessorHolders holders;
  for (; holds < enough && tries < 100 * enough; ++tries) {
    const bool ran = child_runs(); // false if another program has the processor
    runs += ran;
    const uint64_t at = now_ns() + 500'000;
    holders.take(std::vector<int>{held}, at);
    on_time += sleep_on_time(at);
    const bool is_held = holders.hold();
    holds += is_held;
    runs_before += is_held && ran;
    runs_held += is_held && child_runs() && holders.holds();
    holders.release();
    sleep_ns(500'000);
    runs_released += is_held && child_runs();
  }
  if (holds < enough && on_time < 10 * enough)
    GTEST_SKIP() << "the machine is too busy: this thread never wakes on time";
  if (runs < tries * 3 / 4 || runs_before < holds * 3 / 4)
    GTEST_SKIP() << "other programs have the processor: the child ran before " << runs_before
                 << " of " << holds << " holds, and in " << runs << " of " << tries << " tries";
  ASSERT_EQ(holds, enough);
  EXPECT_LT(runs_held, enough / 4);
  EXPECT_GT(runs_released, enough / 2);
}

TEST(ProcessorHolders, RefuseAProcessorThatDoesNotExist) {
  ProcessorHolders holders;
  for (const int processor : {-1, CPU_SETSIZE - 1}) {
    const uint64_t at = now_ns() + 500'000;
    holders.take(std::vector<int>{processor}, at);
    sleep_on_time(at);
    EXPECT_FALSE(holders.hold()) << processor;
    holders.release();
    sleep_ns(5'000'000);
  }
  const OnProcessor nowhere(std::nullopt);
  EXPECT_FALSE(nowhere.is_there());
}

// The program shares its processor with the caller, which works on it for a while. The caller runs
// in a separate thread, because later tests' processes would otherwise inherit its short time
// slices.
TEST(ProcessorUse, DetectsADisturbance) {
  const int shared = allowed_processors().front();
  Child child([shared] {
    const OnProcessor there(shared);
    spin_for(100);
  });
  child.go();
  bool without = false, with = true, preempted = false;
  std::thread([&] {
    ProcessorHolders holders;
    ProcessorUse use(child.pid(), holders);
    const std::vector<pid_t> tids = {child.pid()};
    use.sleep_briefly(tids, false);
    without = use.is_undisturbed(); // no processor is held
    use.sleep_briefly(tids, true);
    const uint64_t before = times_preempted();
    const OnProcessor here(shared);
    const uint64_t until = now_ns() + 2'000'000'000;
    while (!preempted && now_ns() < until)
      preempted = times_preempted() != before;
    with = use.is_undisturbed();
  }).join();
  EXPECT_TRUE(without);
  if (!preempted)
    GTEST_SKIP() << "nothing took this thread's processor";
  EXPECT_FALSE(with);
}

// If one of several threads is left, no holder is used, so none can have lost its processor.
TEST(ProcessorUse, ForgetsALossInAnEarlierRound) {
  const std::vector<int> all = allowed_processors();
  if (all.size() < 2)
    GTEST_SKIP() << "there is one processor only";
  Child child([] { spin_for(100); });
  child.go();
  int lost = 0, on_time = 0, undisturbed = 0;
  std::thread([&] {
    ProcessorHolders holders;
    for (int tries = 0; tries < 100 && holders.holds(); ++tries) {
      const uint64_t at = now_ns() + 500'000;
      holders.take(std::vector<int>{all.back()}, at);
      sleep_on_time(at);
      sleep_ns(5'000'000); // longer than a processor is held
    }
    lost += !holders.holds();
    ProcessorUse use(child.pid(), holders);
    const std::vector<pid_t> tids = {child.pid()};
    for (int tries = 0; tries < 200; ++tries)
      if (use.sleep_briefly(tids, true)) {
        ++on_time;
        undisturbed += use.is_undisturbed();
      }
  }).join();
  if (lost == 0 || on_time < 20)
    GTEST_SKIP() << "the machine is too busy: the threads never wake on time";
  EXPECT_GT(undisturbed, on_time / 2);
}

// Two processes share one processor: at most one of them runs at a time, and the other waits. Both
// would count as running if being runnable were enough.
TEST(ProcessorUse, CountsOneOfTwoProcessesOnAProcessorAsRunning) {
  if (!read_small_file("/proc/self/schedstat"))
    GTEST_SKIP() << "the kernel has no /proc/PID/schedstat";
  const auto spin = [last = allowed_processors().back()] {
    const OnProcessor there(last);
    spin_for(100);
  };
  Child first(spin), second(spin);
  first.go();
  second.go();

  // On their processor, this thread would displace the one that it looks at.
  if (allowed_processors().size() < 2)
    GTEST_SKIP() << "there is only one processor";
  const OnProcessor here(allowed_processors().front());
  constexpr int enough = 100;
  int looks = 0, runnable = 0, running = 0;
  ProcessorHolders holders;
  ProcessorUse uses[] = {{first.pid(), holders}, {second.pid(), holders}};
  const std::vector<pid_t> tids[] = {{first.pid()}, {second.pid()}};
  for (int tries = 0; looks < 2 * enough && tries < 200 * enough; ++tries) {
    const int i = tries % 2;
    if (!uses[i].sleep_briefly(tids[i], false))
      continue;
    const auto status = process_status(std::to_string(tids[i][0]));
    ASSERT_TRUE(status);
    ++looks;
    runnable += status->state == 'R';
    running += status->state == 'R' &&
               uses[i].use_of(tids[i][0], *status) != ProcessorUse::Of::thread_that_waits;
  }
  if (looks < 2 * enough)
    GTEST_SKIP() << "the machine is too busy: this thread never wakes on time";
  EXPECT_GT(runnable, enough * 3 / 2);
  // On a busy machine, this thread wakes more often while the one that it looks at runs: 156 of 200
  // looks were seen.
  EXPECT_LT(running, runnable * 9 / 10);
  EXPECT_GT(running, 0);
}

} // namespace
} // namespace tally::collect_processor_use_test
