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

} // namespace
} // namespace tally::collect_last_run_test
