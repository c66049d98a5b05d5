#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/held_times.h"
#include "collect/held_watch.h"
#include "collect/last_run.h"
#include "support/clock.h"

namespace tally::collect_held_test {
namespace {

TEST(HeldTimes, AddsUpWhatLiesBetweenTwoTimes) {
  HeldTimes times;
  EXPECT_EQ(times.between(0, 1000), 0U);
  times.open(100);
  EXPECT_EQ(times.between(0, 150), 50U); // it is open
  times.close(200);
  times.open(150); // not before the end of the last one
  times.close(300);
  times.close(400); // none is open
  times.open(500);
  times.drop_open();
  EXPECT_EQ(times.between(0, 1000), 200U);
  EXPECT_EQ(times.between(120, 250), 130U);
  EXPECT_EQ(times.between(300, 1000), 0U);
  EXPECT_EQ(times.between(250, 250), 0U);
  EXPECT_EQ(times.between(250, 120), 0U);
}

TEST(HeldTimes, CountsAHoldForAsMuchAsItIsToCount) {
  HeldTimes times;
  times.open(100);
  times.close(110, 50); // an estimate for several
  EXPECT_EQ(times.between(0, 105), 5U);
  EXPECT_EQ(times.between(0, 200), 50U);
  EXPECT_EQ(times.between(0, 110), 50U);
  EXPECT_EQ(times.between(100, 120), 20U); // never more than the time itself
}

TEST(HeldTimes, CountsNoMoreThanThePassedTime) {
  HeldTimes times;
  for (uint64_t i = 0; i < 100; ++i) {
    times.open(10 * i + 9);
    times.close(10 * i + 10, 20); // each is to count for two intervals
  }
  EXPECT_EQ(times.between(10, 1000), 990U);
  EXPECT_EQ(times.between(1000, 2000), 0U);
}

TEST(HeldTimes, ForgetsTheOldestButCountsThem) {
  HeldTimes times;
  for (uint64_t i = 0; i < 10'000; ++i) {
    times.open(10 * i);
    times.close(10 * i + 3);
  }
  EXPECT_EQ(times.between(90'000, 100'000), 3000U);
  EXPECT_EQ(times.between(99'000, 99'010), 3U);
}

// A child that this test traces: it uses processor time until it stops itself, again and again.
class Traced {
public:
  Traced()
      : memory_(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)),
        pid_(::fork()) {
    if (pid_ != 0)
      return;
    ::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    for (;;) {
      *went_on() = now_ns();
      for (const uint64_t end = own_cpu_ns() + 20'000'000; own_cpu_ns() < end;) {
      }
      ::raise(SIGTRAP);
    }
  }
  ~Traced() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::munmap(memory_, 4096);
  }
  // When the child last got a processor after a stop: on a busy machine, long after go_on().
  volatile uint64_t *went_on() const { return static_cast<volatile uint64_t *>(memory_); }
  pid_t pid() const { return pid_; }
  void wait() const { ::waitpid(pid_, nullptr, 0); }
  void go_on() const { ::ptrace(PTRACE_CONT, pid_, nullptr, nullptr); }

private:
  void *memory_;
  pid_t pid_;
};

TEST(HeldWatch, SeesWhenADebuggerHoldsTheProcess) {
  Traced traced;
  traced.wait();
  HeldWatch watch;
  const uint64_t begin = now_ns();
  watch.watch({traced.pid()});
  traced.go_on();
  uint64_t stopped = begin, held_at_least = 0, held_at_most = 0;
  for (int i = 0; i < 3; ++i) {
    traced.wait();
    held_at_most += *traced.went_on() - stopped;
    stopped = now_ns();
    // Until the watch has seen it, and for long enough to tell it from a run.
    while (watch.times()->between(stopped, now_ns()) == 0 || now_ns() - stopped < 50'000'000)
      ::usleep(1000);
    held_at_least += watch.times()->between(stopped, now_ns()) / 2;
    traced.go_on();
  }
  traced.wait();
  held_at_most += *traced.went_on() - stopped;
  const uint64_t end = now_ns();
  watch.watch({});
  const auto last = last_run_ns(traced.pid()); // this stop is not held
  const uint64_t held = watch.times()->between(begin, last.value_or(end));
  EXPECT_GE(held, held_at_least);
  EXPECT_LE(held, held_at_most + 20'000'000); // a look comes late while the processor is busy
  EXPECT_LE(held, end - begin);
  EXPECT_EQ(watch.times()->between(end, now_ns()), 0U);
}

// The debugger says that it resumes the process, and does so later.
TEST(HeldWatch, LetsARunBeginWhenTheProcessGoesOn) {
  Traced traced;
  for (int i = 0; i < 10; ++i) {
    traced.wait();
    ::usleep(1000);
    HeldWatch watch;
    const uint64_t resumed = now_ns();
    ::usleep(1000);
    watch.watch({traced.pid()}, resumed);
    ::usleep(20'000);
    const uint64_t on = now_ns();
    traced.go_on();
    // The watch's thread may get no processor for a while, and then says when the hold ended.
    const auto has_ended = [&] {
      const uint64_t passed = now_ns() - on;
      return passed > 5'000'000 && watch.times()->between(on, on + passed) < passed / 2;
    };
    for (const uint64_t end = on + 10'000'000'000; !has_ended() && now_ns() < end;)
      ::usleep(500);
    EXPECT_TRUE(has_ended());
    // Tally promises times to within 2 ms. A quiet machine keeps 0.1 ms. If a hypervisor takes the
    // processor away, the kernel's account of the first thread to run is up to 1.8 ms off.
    constexpr uint64_t exact_ns = 2'000'000;
    EXPECT_GE(watch.times()->between(resumed, on) + exact_ns, on - resumed);
  }
  traced.wait();
}

TEST(HeldWatch, FollowsAProcessThatEnds) {
  HeldWatch watch;
  {
    Traced traced;
    traced.wait();
    watch.watch({traced.pid()});
    traced.go_on();
  }
  watch.watch({::getpid()});
  ::usleep(10'000);
  watch.watch({});
  EXPECT_EQ(watch.times()->between(now_ns() - 5'000'000, now_ns()), 0U);
}

} // namespace
} // namespace tally::collect_held_test
