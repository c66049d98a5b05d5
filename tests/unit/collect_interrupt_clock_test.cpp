// Tests how long the clock of the interrupt backend lets a process run between two rounds, and
// which file the backend counts an address for.
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "collect/interrupt.h"
#include "support/unique_fd.h"

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

// Rounds are rarer where they take long. What the program does there must not count less.
TEST(InterruptClock, ARoundCountsForTheWaitThatSlowOnesCause) {
  using std::chrono::milliseconds;
  InterruptClock clock;
  clock.set(0, 0, InterruptClock::most_remote_hz);
  const auto weight_after = [&](milliseconds run, milliseconds round) {
    std::this_thread::sleep_for(run);
    EXPECT_EQ(clock.interrupt(), 1u);
    EXPECT_EQ(clock.take(InterruptClock::any_thread), InterruptClock::Stop::ours);
    std::this_thread::sleep_for(round);
    clock.done();
    return clock.weight();
  };
  clock.resumed();
  // The program was held meanwhile: nothing makes the clock wait so long.
  EXPECT_EQ(weight_after(milliseconds(100), milliseconds(50)), 1u);
  // A single slow round says nothing of the program.
  EXPECT_EQ(weight_after(milliseconds(150), milliseconds(50)), 1u);
  const auto begin = std::chrono::steady_clock::now();
  const uint64_t weight = weight_after(milliseconds(150), milliseconds(0));
  const auto most = (std::chrono::steady_clock::now() - begin) / milliseconds(10);
  EXPECT_GE(weight, 15u);
  EXPECT_LE(weight, static_cast<uint64_t>(most) + 1);
  EXPECT_EQ(clock.rounds(), 3u);
  EXPECT_EQ(clock.periods(), weight + 2);
}

// A target may lose a request. For 2 s after the request is repeated, a further stop belongs to the
// lost one, and after that it is the user's.
TEST(InterruptClock, ExpectsALostStopForALimitedTime) {
  using std::chrono::milliseconds;
  using Stop = InterruptClock::Stop;
  InterruptClock clock;
  clock.set(0, 0, InterruptClock::most_remote_hz);
  for (const auto &[later, stop] :
       {std::pair(milliseconds(0), Stop::stale), std::pair(milliseconds(2200), Stop::theirs)}) {
    clock.resumed();
    ASSERT_EQ(clock.interrupt(), 1u);
    EXPECT_EQ(clock.interrupt(), 0u);
    std::this_thread::sleep_for(milliseconds(300));
    ASSERT_EQ(clock.interrupt(), 1u); // again
    EXPECT_EQ(clock.take(InterruptClock::any_thread), Stop::ours);
    clock.done();
    std::this_thread::sleep_for(later);
    EXPECT_EQ(clock.take(InterruptClock::any_thread), stop);
    clock.stopped();
  }
}

// A slow target answers each request, and a stop for each is more than it can do.
TEST(InterruptClock, RepeatsARequestLessAndLessOften) {
  InterruptClock clock;
  clock.set(0, 0, InterruptClock::most_remote_hz);
  clock.resumed();
  ASSERT_EQ(clock.interrupt(), 1u);
  std::vector<size_t> sent;
  for (const int ms : {500, 100, 700, 100, 100}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
    sent.push_back(clock.interrupt());
  }
  EXPECT_EQ(sent, (std::vector<size_t>{1, 0, 1, 0, 0}));
}

// A request that is sent while the debugger reads the last stop would stop the process at once.
TEST(InterruptClock, DoesNotInterruptWhileAStopIsRead) {
  InterruptClock clock;
  clock.set(0, 0, InterruptClock::most_remote_hz);
  clock.resumed();
  ASSERT_EQ(clock.interrupt(), 1u);
  EXPECT_EQ(clock.take(InterruptClock::any_thread), InterruptClock::Stop::ours);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_GE(clock.wait_ns(), 5'000'000u); // the caller does not spin
  EXPECT_EQ(clock.interrupt(), 0u);
  clock.done();
  EXPECT_EQ(clock.interrupt(), 1u);
  // A front that fails between take() and done() is resumed nevertheless.
  EXPECT_EQ(clock.take(InterruptClock::any_thread), InterruptClock::Stop::ours);
  clock.stopped();
  clock.resumed();
  EXPECT_EQ(clock.interrupt(), 1u);
}

// As after dlclose() and dlopen(), and after an exec.
TEST(InterruptSampler, AFileMappedWhereAnotherWasIsCountedAsItself) {
  void *address = nullptr;
  const auto map = [&](const char *path) {
    const UniqueFd fd(::open(path, O_RDONLY | O_CLOEXEC));
    address = ::mmap(address, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | (address ? MAP_FIXED : 0),
                     fd.get(), 0);
    ASSERT_NE(address, MAP_FAILED) << path;
  };
  map("/proc/self/exe");
  InterruptClock clock;
  auto sampler = make_interrupt_sampler(::getpid(), SIGURG, SamplerOptions(), clock);
  ASSERT_TRUE(sampler) << sampler.error().text();
  const uint64_t pc = reinterpret_cast<uintptr_t>(address);
  int64_t added = 0;
  const auto add = [&] {
    (*sampler)->add({::getpid(), "test", std::span(&pc, 1)});
    ++added;
  };
  const auto ticks_by_file = [&] {
    std::map<std::string, int64_t> ticks;
    const auto profile = (*sampler)->snapshot("", 0, 1);
    EXPECT_TRUE(profile) << profile.error().text();
    for (size_t row = 0; profile && row < profile->sample_count(); ++row) {
      const Sample sample = profile->sample(row);
      const Location leaf = profile->location(profile->stack_location(sample.stack));
      EXPECT_NE(leaf.mapping, none<MappingId>);
      const std::string_view path = profile->strings[profile->mappings()[leaf.mapping].path];
      ticks[std::filesystem::path(path).filename()] += sample.values[0];
    }
    return ticks;
  };
  const std::string shell = std::filesystem::canonical("/bin/sh").filename();
  add();
  EXPECT_EQ(ticks_by_file(), (std::map<std::string, int64_t>{{"unit-collect", 1}}));
  map("/bin/sh");
  // The mappings are read again when a multiple of the time of one reading has passed, which is
  // long on a busy machine.
  for (int tries = 0; tries < 600 && ticks_by_file()[shell] == 0; ++tries) {
    ::usleep(100'000);
    add();
  }
  const auto before = ticks_by_file();
  EXPECT_EQ(before.at(shell), 1);
  add();
  add();
  auto expected = before;
  expected[shell] += 2;
  EXPECT_EQ(ticks_by_file(), expected);
  EXPECT_EQ(expected["unit-collect"] + expected[shell], added);
  ::munmap(address, 4096);
}

} // namespace
} // namespace tally::collect_interrupt_clock_test
