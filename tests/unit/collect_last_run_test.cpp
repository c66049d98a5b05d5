#include <algorithm>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/last_run.h"
#include "support/clock.h"

namespace tally::collect_last_run_test {
namespace {

TEST(LastRun, ReadsTheKernelsText) {
  EXPECT_EQ(
      parse_exec_start("a (1, #threads: 1)\n"
                       "-----\n"
                       "se.exec_start                                :      27701234.005678\n"
                       "se.vruntime                                  :          1234.000000\n"),
      27'701'234'005'678U);
  EXPECT_EQ(parse_exec_start("se.exec_start : 0.000000"), 0U);
  for (const char *text :
       {"", "se.exec_start", "se.exec_start : x", "se.exec_start : 12", "se.exec_start : 12.5",
        "se.exec_start : 99999999999999999999.000000", "se.exec_start : 9999999999999999.000000"})
    EXPECT_FALSE(parse_exec_start(text)) << text;
}

TEST(LastRun, ReadsWhatAThreadHasRun) {
  EXPECT_EQ(parse_sum_exec("stamps (1123, #threads: 1)\n"
                           "se.exec_start                                :       4190997.659865\n"
                           "se.sum_exec_runtime                          :             9.186955\n"),
            9'186'955U);
  EXPECT_FALSE(parse_sum_exec("se.exec_start : 1.000000"));
}

// The values were read in processes that LLDB resumed: it stepped over a breakpoint, which took 20
// microseconds of processor time, and went on 1.5 ms later.
TEST(RunBegin, IsBeforeWhatTheThreadHasRun) {
  const Accounted held{5'192'188'223'000, 70'000'000};
  EXPECT_FALSE(begin_of(held, held));
  const Accounted spins{5'193'491'700'100, 71'883'100};
  EXPECT_EQ(begin_of(spins, held), 5'193'489'817'000U);
  const Accounted sleeps{5'193'040'077'000, 70'147'300};
  EXPECT_EQ(begin_of(sleeps, held), 5'193'039'929'700U);
  EXPECT_FALSE(begin_of({0, 70'147'300}, held));       // the kernel does not say until when
  EXPECT_FALSE(begin_of({100'000, 71'000'000}, held)); // its clock began later
}

TEST(LastRun, IsWhenTheKernelStoppedTheProcess) {
  EXPECT_FALSE(last_run_ns(::getpid())); // no debugger has stopped it
  void *const memory =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto *const stamp = static_cast<volatile uint64_t *>(memory);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    for (;;) {
      for (const uint64_t end = own_cpu_ns() + 3'000'000; own_cpu_ns() < end;) {
      }
      *stamp = now_ns();
      ::raise(SIGTRAP);
    }
  }
  // The clocks differ by less than a microsecond; the search is late on a busy machine.
  constexpr uint64_t exact_ns = 10'000, late_ns = 2'000'000;
  for (int stop = 0; stop < 20; ++stop) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSTOPPED(status));
    const uint64_t seen = now_ns();
    ::usleep(20'000);
    const auto last = last_run_ns(pid);
    if (!last) {
      ::kill(pid, SIGKILL);
      GTEST_SKIP() << "the kernel does not say when a thread last ran (CONFIG_SCHED_DEBUG)";
    }
    EXPECT_GE(*last + exact_ns, *stamp);
    EXPECT_LE(*last, seen + late_ns);
    ASSERT_EQ(::ptrace(PTRACE_CONT, pid, nullptr, nullptr), 0);
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  EXPECT_FALSE(last_run_ns(pid));
  ::munmap(memory, 4096);
}

// A debugger steps over a breakpoint, waits, and goes on. The program writes down when it goes on,
// and then spins or sleeps.
TEST(RunBegin, IsWhenTheProgramWentOn) {
  void *const memory =
      ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(memory, MAP_FAILED);
  auto *const stamp = static_cast<volatile uint64_t *>(memory);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    for (int stop = 0;; ++stop) {
      ::raise(SIGTRAP);
      *stamp = now_ns();
      if (stop % 2 == 0)
        ::usleep(10'000);
      for (const uint64_t end = own_cpu_ns() + 10'000'000; own_cpu_ns() < end;) {
      }
    }
  }
  // As above, the comparison of the clocks may only be late, and only on a busy machine.
  constexpr uint64_t exact_ns = 10'000, late_ns = 2'000'000;
  for (int stop = 0; stop < 20; ++stop) {
    int status = 0;
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSTOPPED(status));
    const AccountedThreads held = accounted_threads(pid);
    *stamp = 0;
    ASSERT_EQ(::ptrace(PTRACE_SINGLESTEP, pid, nullptr, nullptr), 0);
    ASSERT_EQ(::waitpid(pid, &status, 0), pid);
    ::usleep(5'000);
    const uint64_t stepped = accounted_threads(pid).begin()->second.cpu_ns;
    const uint64_t on_ns = now_ns();
    ASSERT_EQ(::ptrace(PTRACE_CONT, pid, nullptr, nullptr), 0);
    while (*stamp == 0)
      ::usleep(200);
    const auto begin = run_begin_ns(pid, held);
    if (!begin && (held.empty() || held.begin()->second.until_ns == 0)) {
      ::kill(pid, SIGKILL);
      GTEST_SKIP() << "the kernel does not say what a thread has run";
    }
    const uint64_t looked_ns = now_ns();
    ASSERT_TRUE(begin);
    const uint64_t step_ns = stepped - held.begin()->second.cpu_ns;
    EXPECT_GE(*begin + exact_ns + step_ns, on_ns);
    // On a busy machine, the program may have lost its processor meanwhile.
    EXPECT_LE(*begin, std::max(*stamp + late_ns, looked_ns));
  }
  ::kill(pid, SIGKILL);
  ::waitpid(pid, nullptr, 0);
  ::munmap(memory, 4096);
}

} // namespace
} // namespace tally::collect_last_run_test
