// Tests threads, forks and execs of a sampled process.
#include <atomic>
#include <map>
#include <set>
#include <thread>

#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect_child.h"
#include "support/clock.h"

namespace tally::collect_threads_test {
namespace {

std::map<std::string, int64_t> ticks_by_thread_name(const StackProfile &profile) {
  std::map<std::string, int64_t> ticks;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    ticks[std::string(profile.strings[profile.threads()[sample.thread].name])] += sample.values[0];
  }
  return ticks;
}

std::map<std::string, int64_t> ticks_by_path(const StackProfile &profile) {
  std::map<std::string, int64_t> ticks;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    if (sample.stack == none<StackId>)
      continue;
    const Location leaf = profile.location(profile.stack_location(sample.stack));
    if (leaf.mapping != none<MappingId>)
      ticks[std::string(profile.strings[profile.mappings()[leaf.mapping].path])] +=
          sample.values[0];
  }
  return ticks;
}

double ticks_of(double seconds, const SamplerStatus &status) {
  return seconds * status.requested_hz;
}

TEST(CollectThreads, SplitsTicksByThreadName) {
  SamplerOptions options;
  options.frequency_hz = 2000;
  const auto run = sample_to_end(options, [] {
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([i] {
        ::pthread_setname_np(::pthread_self(), ("worker " + std::to_string(i)).c_str());
        spin_for(0.1 * (i + 1));
      });
    for (std::thread &thread : threads)
      thread.join();
  });
  if (!run)
    return;
  const SamplerStatus &status = run->status;
  if (!status.kernel_included)
    GTEST_SKIP() << "the kernel's time is not ours to see";
  const auto ticks = ticks_by_thread_name(run->profile);
  for (int i = 0; i < 4; ++i) {
    const auto of_thread = ticks.find("worker " + std::to_string(i));
    ASSERT_NE(of_thread, ticks.end());
    EXPECT_NEAR(static_cast<double>(of_thread->second) / static_cast<double>(status.samples),
                0.1 * (i + 1), 0.06);
  }
  EXPECT_EQ(run->profile.threads()[ThreadId{0}].pid, run->child->pid());
}

TEST(CollectThreads, SamplesShortLivedThreads) {
  SamplerOptions options;
  options.frequency_hz = 4000;
  const auto run = sample_to_end(options, [] {
    for (int i = 0; i < 10; ++i) {
      std::vector<std::thread> threads;
      for (int j = 0; j < 10; ++j)
        threads.emplace_back([] { spin_for(0.005); });
      for (std::thread &thread : threads)
        thread.join();
    }
  });
  if (!run)
    return;
  const SamplerStatus &status = run->status;
  EXPECT_GT(status.cpu_ns, 480'000'000u);
  if (!status.kernel_included)
    GTEST_SKIP() << "the kernel's time is not ours to see";
  // Each thread's clock begins with a whole period, so half a tick is missing for each thread and
  // processor, which is 2.5 % here. The rest of the tolerance allows for busy machines.
  const double share = static_cast<double>(status.samples) /
                       ticks_of(static_cast<double>(status.cpu_ns) * 1e-9, status);
  EXPECT_GT(share, 0.6);
  EXPECT_LT(share, 1.05);
  EXPECT_GE(run->profile.threads().size(), 90u);
}

TEST(CollectThreads, SamplingContinuesAfterTheFirstThreadEnds) {
  static pthread_t worker;
  const auto run = sample_to_end({}, [] {
    ::pthread_create(
        &worker, nullptr,
        [](void *) -> void * {
          spin_for(0.5);
          ::_exit(0);
        },
        nullptr);
    ::syscall(SYS_exit, 0); // ends the thread, not the process
  });
  if (!run)
    return;
  const SamplerStatus &status = run->status;
  EXPECT_GT(status.cpu_ns, 480'000'000u);
  if (status.kernel_included) {
    EXPECT_GT(static_cast<double>(status.samples), ticks_of(0.25, status));
  }
}

// The process is already running, and keeps creating threads while clocks are attached.
TEST(CollectThreads, AttachesWhileThreadsAreCreated) {
  Child child([] {
    static std::atomic<bool> done{false};
    std::vector<std::thread> threads;
    for (int i = 0; i < 20; ++i)
      threads.emplace_back([] {
        while (!done)
          std::thread([] { spin_for(0.002); }).join();
      });
    while (process_cpu_seconds() < 60) // the test kills it long before
      ::usleep(1000);
    done = true;
    for (std::thread &thread : threads)
      thread.join();
  });
  child.go();
  for (int i = 0; i < 3; ++i) { // at several times of its life
    ::usleep(20'000);
    const uint64_t begin = now_ns();
    TALLY_SAMPLE_OR_SKIP(sampler, child.pid(), SamplerOptions{});
    ::usleep(200'000);
    sampler->stop();
    const uint64_t sampled_ns = now_ns() - begin;
    const SamplerStatus status = sampler->status();
    EXPECT_GT(status.cpu_ns, 50'000'000u);
    // No thread has two clocks.
    EXPECT_LE(static_cast<double>(status.samples),
              1.02 * ticks_of(1e-9, status) * static_cast<double>(status.cpu_ns) + 3);
    // No thread's time is added twice.
    EXPECT_LE(status.cpu_ns, sampled_ns * static_cast<uint64_t>(::sysconf(_SC_NPROCESSORS_ONLN)));
  }
}

TEST(CollectFork, IgnoresChildrenOfTheProcess) {
  const auto run = sample_to_end({}, [] {
    const pid_t grandchild = ::fork();
    if (grandchild == 0) {
      while (process_cpu_seconds() < 0.5)
        spin_second(100'000);
      ::_exit(0);
    }
    while (process_cpu_seconds() < 0.2)
      spin_first(100'000);
    ::waitpid(grandchild, nullptr, 0);
  });
  if (!run)
    return;
  const Counts counts = count_leaves(run->profile);
  EXPECT_GT(counts.first, 50);
  EXPECT_EQ(counts.second, 0);
  for (const Thread &thread : run->profile.threads())
    EXPECT_EQ(thread.pid, run->child->pid());
}

const char *const shell_loop = "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done";

TEST(CollectExec, IsFollowedIntoItsNewAddressSpace) {
  SamplerOptions options;
  options.frequency_hz = 2000;
  const auto run = sample_to_end(options, [] {
    spin_for(0.2);
    ::execl("/bin/sh", "sh", "-c", shell_loop, nullptr);
  });
  if (!run)
    return;
  EXPECT_GT(count_leaves(run->profile).first, 100); // from before the exec, still in their mapping
  int64_t shell = 0, before = 0;
  for (const auto &[path, ticks] : ticks_by_path(run->profile)) {
    if (path.ends_with("sh"))
      shell += ticks;
    if (path.ends_with("unit-collect"))
      before += ticks;
  }
  EXPECT_GT(shell, 50);
  EXPECT_GT(before, 100);
  EXPECT_LE(count_leaves(run->profile).no_mapping, 4); // samples of the exec itself
  EXPECT_TRUE(ticks_by_thread_name(run->profile).contains("sh"));
}

TEST(CollectExec, StartsSamplingOnRequest) {
  SamplerOptions options;
  options.frequency_hz = 2000;
  options.enable_on_exec = true;
  const auto run = sample_to_end(options, [] {
    spin_for(0.1);
    ::execl("/bin/sh", "sh", "-c", shell_loop, nullptr);
  });
  if (!run)
    return;
  EXPECT_GT(run->profile.totals().at(0), 50);
  EXPECT_LE(count_leaves(run->profile).no_mapping, 4);
  for (const auto &[path, ticks] : ticks_by_path(run->profile))
    EXPECT_FALSE(path.ends_with("unit-collect")) << ticks;
  // The program's own mapping comes first.
  const std::string_view first = run->profile.strings[run->profile.mappings()[MappingId{0}].path];
  EXPECT_TRUE(first.ends_with("sh")) << first;
  const std::string_view command = run->profile.strings[run->profile.command];
  EXPECT_TRUE(command.empty() || command.starts_with("sh -c")) << command;
}

} // namespace
} // namespace tally::collect_threads_test
