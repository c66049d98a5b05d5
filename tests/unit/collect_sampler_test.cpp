// Tests what a sampler guarantees to its caller: parts, ends, limits, and that it leaves nothing
// open.
#include <chrono>
#include <cstring>
#include <ctime>
#include <fstream>
#include <thread>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../support/sanitized.h"
#include "collect/interrupt.h"
#include "collect/perf_events.h"
#include "collect_child.h"
#include "model/kernel_code.h"
#include "model/unwinder.h"

namespace tally::collect_sampler_test {
namespace {

size_t entries(const char *directory) {
  DIR *d = ::opendir(directory);
  size_t count = 0;
  while (d && ::readdir(d))
    ++count;
  if (d)
    ::closedir(d);
  return count;
}

size_t resident_kib() {
  std::ifstream in("/proc/self/statm");
  size_t total = 0, resident = 0;
  in >> total >> resident;
  return resident * 4;
}

// A child that works for a short time at each call of step().
class StepChild {
public:
  StepChild() {
    if (::pipe(to_) != 0 || ::pipe(from_) != 0)
      return;
    child_ = std::make_unique<Child>([this] {
      char what;
      while (::read(to_[0], &what, 1) == 1) {
        const double end = process_cpu_seconds() + 0.05;
        while (what != 'n' && process_cpu_seconds() < end)
          what == '1' ? spin_first(50'000) : spin_second(50'000);
        if (::write(from_[1], "d", 1) != 1)
          return;
      }
    });
    child_->go();
  }
  ~StepChild() {
    for (const int fd : {to_[0], to_[1], from_[0], from_[1]})
      ::close(fd);
  }
  pid_t pid() const { return child_->pid(); }
  // Returns when the child sleeps again, so that no tick of this step comes later.
  void step(char what) {
    char done;
    ASSERT_EQ(::write(to_[1], &what, 1), 1);
    ASSERT_EQ(::read(from_[0], &done, 1), 1);
    for (int i = 0; i < 100'000 && !sleeps(); ++i)
      ::usleep(100);
    ASSERT_TRUE(sleeps());
  }

private:
  bool sleeps() const {
    std::ifstream in("/proc/" + std::to_string(pid()) + "/stat");
    std::string text;
    std::getline(in, text);
    return text.find(") S ") != text.npos;
  }

  int to_[2] = {-1, -1}, from_[2] = {-1, -1};
  std::unique_ptr<Child> child_;
};

TEST(CollectParts, EndWhereTheProcessStopped) {
  StepChild child;
  SamplerOptions options;
  options.frequency_hz = 2000;
  TALLY_SAMPLE_OR_SKIP(sampler, child.pid(), options);
  child.step('1');
  sampler->end_part("breakpoint 1", 0, 50);
  sampler->end_part("at once again", 50, 50); // has no samples
  child.step('2');
  const auto between = sampler->snapshot("so far", 50, 70);
  ASSERT_TRUE(between) << between.error().text();
  ASSERT_EQ(between->parts().size(), 2u);
  child.step('2');
  sampler->end_part("breakpoint 2", 50, 100);
  const auto profile = sampler->snapshot("nothing", 100, 100);
  ASSERT_TRUE(profile);
  ASSERT_EQ(profile->parts().size(), 2u);
  const Part &one = profile->parts()[PartId{0}], &two = profile->parts()[PartId{1}];
  EXPECT_EQ(one.number, 1u);
  EXPECT_EQ(two.number, 2u);
  EXPECT_EQ(profile->strings[one.trigger], "breakpoint 1");
  EXPECT_EQ(profile->strings[two.trigger], "breakpoint 2");
  EXPECT_EQ(two.begin_ns, 50u);
  EXPECT_EQ(two.end_ns, 100u);
  for (size_t row = 0; row < profile->sample_count(); ++row) {
    const Sample sample = profile->sample(row);
    ASSERT_NE(sample.part, none<PartId>);
    const uint64_t pc = profile->location(profile->stack_location(sample.stack)).address;
    EXPECT_FALSE(sample.part == PartId{0} ? second_code().holds(pc) : first_code().holds(pc));
  }

  EXPECT_GT(sampler->status().cpu_ns, 140'000'000u);
  sampler->clear();
  EXPECT_EQ(sampler->status().samples, 0u);
  EXPECT_LT(sampler->status().cpu_ns, 20'000'000u);
  const auto empty = sampler->snapshot("empty", 0, 0);
  ASSERT_TRUE(empty);
  EXPECT_EQ(empty->sample_count(), 0u);
  EXPECT_EQ(empty->parts().size(), 0u);
  EXPECT_EQ(empty->period_ns, profile->period_ns);
  child.step('1');
  const auto after = sampler->snapshot("after", 0, 9);
  ASSERT_TRUE(after);
  EXPECT_GT(count_leaves(*after).first, 20);
  EXPECT_EQ(count_leaves(*after).second, 0);
  ASSERT_EQ(after->parts().size(), 1u);
  EXPECT_EQ(after->parts()[PartId{0}].number, 1u);

  sampler->stop();
  sampler->stop();
  EXPECT_EQ(sampler->status().events, 0u);
  const auto late = sampler->snapshot("late", 0, 9); // may hold a tick newer than `after`
  ASSERT_TRUE(late);
  EXPECT_EQ(sampler->status().samples, static_cast<uint64_t>(count_leaves(*late).all));
  EXPECT_GT(sampler->status().cpu_ns, 40'000'000u); // counted since clear()
  EXPECT_LT(sampler->status().cpu_ns, 100'000'000u);
}

// The samples taken in a mapping keep it after it was unmapped.
TEST(CollectMappings, DistinguishTwoFilesAtOneAddress) {
  SamplerOptions options;
  options.frequency_hz = 2000;
  const auto run = sample_to_end(options, [] {
    const CodeExtent code = first_code();
    void *before = nullptr;
    for (const char *name : {"code one", "code two"}) {
      const int fd = ::memfd_create(name, 0);
      const auto size = static_cast<size_t>(code.end - code.begin);
      if (::ftruncate(fd, 4096) != 0 ||
          ::pwrite(fd, reinterpret_cast<void *>(code.begin), size, 0) < 0)
        return;
      void *at = ::mmap(before, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | (before ? MAP_FIXED : 0),
                        fd, 0);
      if (at == MAP_FAILED)
        return;
      const double end = process_cpu_seconds() + 0.2;
      while (process_cpu_seconds() < end)
        reinterpret_cast<void (*)(uint64_t)>(at)(100'000);
      before = at;
      ::munmap(at, 4096);
      ::close(fd);
    }
  });
  if (!run)
    return;
  int64_t one = 0, two = 0;
  for (size_t row = 0; row < run->profile.sample_count(); ++row) {
    const Sample sample = run->profile.sample(row);
    const Location leaf = run->profile.location(run->profile.stack_location(sample.stack));
    if (leaf.mapping == none<MappingId>)
      continue;
    const Mapping &mapping = run->profile.mappings()[leaf.mapping];
    const std::string_view path = run->profile.strings[mapping.path];
    if (path.find("code one") != std::string_view::npos)
      one += sample.values[0];
    if (path.find("code two") != std::string_view::npos)
      two += sample.values[0];
    EXPECT_GE(leaf.address, mapping.start);
    EXPECT_LT(leaf.address, mapping.limit);
  }
  EXPECT_GT(one, 100);
  EXPECT_GT(two, 100);
  // The program is the first mapping, wherever the first sample was taken.
  const std::string_view first = run->profile.strings[run->profile.mappings()[MappingId{0}].path];
  EXPECT_TRUE(first.ends_with("unit-collect")) << first;
}

// Replaces the real unwinder and checks its input.
class FakeUnwinder : public Unwinder {
public:
  explicit FakeUnwinder(pid_t pid) : pid_(pid) {}
  ModuleId module(const ModuleKey &key) override {
    EXPECT_FALSE(key.path.empty());
    EXPECT_EQ(key.pid, pid_);
    return ModuleId{7};
  }
  StackEnd unwind(const UnwindInput &input, std::vector<uint64_t> &pcs) override {
    ++calls;
    const auto here = input.mapping_of_pc(input.registers.pc());
    if (here && here->start <= input.registers.pc() && input.registers.pc() < here->limit)
      ++mapped;
    if (here)
      modules += here->module == ModuleId{7} ? 1 : 0;
    if (input.mapping_of_pc(1))
      ++wrong;
    pcs.push_back(input.registers.pc());
    // In a leaf that has pushed nothing, the word at sp is the return address.
    if (first_code().holds(input.registers.pc()) && input.stack.size() >= 8) {
      uint64_t word;
      std::memcpy(&word, input.stack.data(), sizeof word);
      if (input.mapping_of_pc(word)) {
        pcs.push_back(word - 1);
        ++returned;
      }
    }
    const bool cut = calls % 2 != 0;
    deeper += cut || pcs.size() > 1; // the marker of a truncated stack is a caller, too
    return cut ? StackEnd::damaged : StackEnd::complete; // neither is unwound again
  }
  int calls = 0, mapped = 0, wrong = 0, returned = 0, modules = 0, deeper = 0;

private:
  pid_t pid_;
};

TEST(CollectUnwind, PassesRegistersAndStackToTheUnwinder) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "x86-64 only";
#endif
  Child child([] { spin_for(0.3); });
  const auto made = std::make_shared<FakeUnwinder>(child.pid());
  FakeUnwinder &unwinder = *made;
  SamplerOptions options;
  options.stacks = StackMode::dwarf;
  options.unwinder = made;
  TALLY_SAMPLE_OR_SKIP(sampler, child.pid(), options);
  child.go();
  child.wait_end();
  wait_ended(*sampler);
  sampler->stop();
  const SamplerStatus status = sampler->status();
  EXPECT_EQ(status.problem, "");
  EXPECT_EQ(static_cast<uint64_t>(unwinder.calls), status.samples);
  EXPECT_GT(unwinder.calls, 50);
  EXPECT_GE(unwinder.mapped, unwinder.calls - 3);
  EXPECT_EQ(unwinder.modules, unwinder.mapped);
  EXPECT_EQ(unwinder.wrong, 0);
  EXPECT_GE(unwinder.returned, unwinder.calls / 2);
  EXPECT_GE(status.truncated_stacks, static_cast<uint64_t>(unwinder.calls / 2));
  const auto profile = sampler->snapshot("exit", 0, 1);
  ASSERT_TRUE(profile);
  int64_t with_caller = 0;
  for (size_t row = 0; row < profile->sample_count(); ++row) {
    StackId stack = profile->sample(row).stack;
    // Skip the kernel's frame, which the unwinder does not add.
    if (stack != none<StackId> &&
        is_kernel_code(profile->location(profile->stack_location(stack)).address))
      stack = profile->stack_caller(stack);
    if (stack != none<StackId> && profile->stack_caller(stack) != none<StackId>)
      with_caller += profile->sample(row).values[0];
  }
  EXPECT_EQ(with_caller, unwinder.deeper);
}

// Uses more than 16 KiB and less than 32 KiB of stack, which is more than is copied above 1 kHz.
void spin_deep(double seconds) {
  char room[20 << 10];
  std::memset(room, 1, sizeof room); // pages that do not exist are not copied
  ::mlock(room, sizeof room);        // nor are those that the kernel has taken away
  asm volatile("" : : "r"(room) : "memory");
  spin_for(seconds);
  asm volatile("" : : "r"(room) : "memory");
}

// Reports a complete stack if the stack dump is longer than 16 KiB.
class DeepUnwinder : public Unwinder {
public:
  ModuleId module(const ModuleKey &) override { return ModuleId{0}; }
  StackEnd unwind(const UnwindInput &input, std::vector<uint64_t> &pcs) override {
    pcs.push_back(input.registers.pc());
    copied = input.stack.size();
    return copied <= (16 << 10) ? StackEnd::dump_too_short : StackEnd::complete;
  }
  size_t copied = 0;
};

TEST(CollectUnwind, StackDumpsGrowAtAStopIfStacksAreTruncated) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "x86-64 only";
#endif
  for (const uint32_t fixed : {0U, 16U << 10}) {
    Child child([] { spin_deep(60); });
    const auto unwinder = std::make_shared<DeepUnwinder>();
    SamplerOptions options;
    options.stacks = StackMode::dwarf;
    options.unwinder = unwinder;
    options.stack_bytes = fixed;
    options.frequency_hz = 1001;
    TALLY_SAMPLE_OR_SKIP(sampler, child.pid(), options);
    child.go();
    const auto samples_past = [&](uint64_t before) {
      SamplerStatus now = sampler->status();
      for (; now.samples < before + 150; now = sampler->status())
        ::usleep(10'000);
      return now;
    };
    const auto stop = [&](const char *trigger, uint64_t begin, uint64_t end) {
      ::kill(child.pid(), SIGSTOP);
      int status = 0;
      EXPECT_EQ(::waitpid(child.pid(), &status, WUNTRACED), child.pid());
      sampler->end_part(trigger, begin, end);
      const SamplerStatus at = sampler->status();
      ::kill(child.pid(), SIGCONT);
      return at;
    };
    const SamplerStatus begun = samples_past(0);
    if (fixed != 0 && begun.stack_bytes < fixed)
      GTEST_SKIP() << "too little memory may be locked here";
    EXPECT_EQ(begun.stack_bytes, fixed != 0 ? fixed : 8U << 10);
    EXPECT_EQ(begun.truncated_stacks, begun.samples);
    const SamplerStatus stopped = stop("first", 0, 1);
    if (fixed == 0 && stopped.stack_bytes == begun.stack_bytes)
      GTEST_SKIP() << "too little memory may be locked here";
    EXPECT_EQ(stopped.stack_bytes, fixed != 0 ? fixed : most_stack_bytes);
    EXPECT_EQ(stopped.problem, "");
    EXPECT_GE(stopped.cpu_ns, begun.cpu_ns);
    EXPECT_GE(stopped.samples, begun.samples);
    const SamplerStatus later = samples_past(stopped.samples);
    EXPECT_EQ(later.truncated_stacks, fixed != 0 ? later.samples : stopped.truncated_stacks)
        << unwinder->copied << " bytes";
    EXPECT_GT(later.cpu_ns, stopped.cpu_ns);
    EXPECT_EQ(later.problem, "");
    // No sample is counted twice, or lost without a word: there are as many as the processor time
    // has periods, with those for which the kernel had no room while the reader had no processor.
    EXPECT_NEAR(static_cast<double>(later.samples + later.lost),
                static_cast<double>(later.cpu_ns) / 1e6,
                0.05 * static_cast<double>(later.samples) + 10);
    stop("second", 1, 2);
    const auto profile = sampler->snapshot("now", 2, 3);
    ASSERT_TRUE(profile);
    EXPECT_GE(profile->parts().size(), 2u);
    EXPECT_GE(static_cast<uint64_t>(profile->totals()[0]), later.samples);
    sampler->stop();
    ::kill(child.pid(), SIGKILL);
  }
}

// The switches of threads come in bursts, of which a ring holds more if their dumps are small. The
// clock does not.
TEST(CollectUnwind, WaitsDoNotShortenTheDumpsOfTheClock) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "x86-64 only";
#endif
  Child child([] { spin_deep(60); });
  SamplerOptions options;
  options.waits = true;
  options.stacks = StackMode::dwarf;
  options.unwinder = std::make_shared<DeepUnwinder>();
  TALLY_SAMPLE_OR_SKIP(sampler, child.pid(), options);
  child.go();
  SamplerStatus now = sampler->status();
  for (; now.samples < 100; now = sampler->status())
    ::usleep(10'000);
  if (now.ring_bytes < 8U << 20)
    GTEST_SKIP() << "too little memory may be locked here";
  EXPECT_EQ(now.truncated_stacks, 0u);
  sampler->stop();
  ::kill(child.pid(), SIGKILL);
}

TEST(CollectUnwind, TheUsersSizeIsThatOfAllDumps) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "x86-64 only";
#endif
  Child child([] {});
  SamplerOptions options;
  options.stacks = StackMode::dwarf;
  options.unwinder = std::make_shared<DeepUnwinder>();
  options.stack_bytes = 32U << 10;
  for (const bool waits : {false, true})
    for (const uint32_t frequency_hz : {1000U, 20'000U}) {
      options.waits = waits;
      options.frequency_hz = frequency_hz;
      TALLY_SAMPLE_OR_SKIP(sampler, child.pid(), options);
      const SamplerStatus begun = sampler->status();
      if (begun.ring_bytes < 1U << 20)
        GTEST_SKIP() << "too little memory may be locked here";
      EXPECT_EQ(begun.stack_bytes, options.stack_bytes) << waits << " " << frequency_hz;
      sampler->stop();
    }
  ::kill(child.pid(), SIGKILL);
}

// A program may begin to run, and to start threads, while the reader sleeps long because nothing
// ran. The first samples must not wait until the ring fills.
TEST(CollectUnwind, FiveMillisecondsOfDumpsWakeTheReader) {
  PerfEvents::Config config;
  config.stacks = StackMode::dwarf;
  config.frequency_hz = 1000;
  config.stack_bytes = most_stack_bytes;
  const auto woken_after = [&] { return PerfEvents::attributes(config).owner.wakeup_watermark; };
  EXPECT_EQ(woken_after(), 5 * most_stack_bytes);
  config.stacks = StackMode::fp;
  EXPECT_EQ(woken_after(), PerfEvents::attributes(config).ring_bytes / 4);
}

TEST(CollectUnwind, ErrorNamesTheStackSizeThatTheKernelRefuses) {
#if !defined(__x86_64__)
  GTEST_SKIP() << "x86-64 only";
#endif
  SamplerOptions options;
  options.stacks = StackMode::dwarf;
  options.unwinder = std::make_shared<DeepUnwinder>();
  for (const uint32_t bytes : {4100U, 65536U}) {
    options.stack_bytes = bytes;
    const auto refused = start_perf_sampler(::getpid(), options);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find(std::to_string(bytes)), std::string::npos);
  }
}

TEST(CollectEnd, SamplingEndsWhenTheDebuggerDetaches) {
  Child child([] { spin_for(20); });
  if (::ptrace(PTRACE_SEIZE, child.pid(), 0, 0) != 0)
    GTEST_SKIP() << "ptrace is not allowed here";
  TALLY_SAMPLE_OR_SKIP(sampler, child.pid(), SamplerOptions{});
  child.go();
  ::usleep(300'000);
  EXPECT_FALSE(sampler->status().ended);
  ASSERT_EQ(::ptrace(PTRACE_INTERRUPT, child.pid(), 0, 0), 0);
  ::waitpid(child.pid(), nullptr, 0);
  ASSERT_EQ(::ptrace(PTRACE_DETACH, child.pid(), 0, 0), 0);
  wait_ended(*sampler);
  const uint64_t samples = sampler->status().samples;
  EXPECT_GT(samples, 0u);
  EXPECT_EQ(::kill(child.pid(), 0), 0);
  ::usleep(100'000);
  EXPECT_EQ(sampler->status().samples, samples);
}

TEST(CollectRate, NothingIsLostAtTwentyKilohertz) {
  SamplerOptions options;
  options.frequency_hz = 20'000;
  options.stacks = StackMode::none;
  const auto run = sample_to_end(options, [] { spin_for(1); });
  if (!run)
    return;
  EXPECT_EQ(run->status.lost, 0u);
  EXPECT_GT(run->status.samples, 5'000u);
}

TEST(CollectClean, NothingIsLeftBehind) {
  Child child([] { spin_for(60); });
  child.go();
  const auto once = [&] {
    SamplerOptions options;
    options.frequency_hz = 4000;
    auto sampler = sampler_or_skip(child.pid(), options);
    if (!sampler)
      return false;
    ::usleep(2000);
    EXPECT_TRUE(sampler->snapshot("", 0, 0));
    return true;
  };
  for (int i = 0; i < 20; ++i) // lets one-time allocations happen first
    if (!once())
      return;
  const size_t fds = entries("/proc/self/fd"), threads = entries("/proc/self/task");
  [[maybe_unused]] const size_t memory = resident_kib();
  for (int i = 0; i < 100; ++i)
    ASSERT_TRUE(once());
  EXPECT_EQ(entries("/proc/self/fd"), fds);
  EXPECT_EQ(entries("/proc/self/task"), threads);
#if !TALLY_SANITIZED
  EXPECT_LT(resident_kib(), memory + 2048); // a leak of 100 rings would be 200 times that
#endif
}

TEST(CollectLimits, SoftDescriptorLimitIsRaisedAndRestored) {
  Child child([] {
    for (int i = 0; i < 60; ++i) {
      pthread_t thread;
      ::pthread_create(
          &thread, nullptr,
          [](void *) -> void * {
            ::pause();
            return nullptr;
          },
          nullptr);
    }
    ::pause();
  });
  child.go();
  const std::string tasks = "/proc/" + std::to_string(child.pid()) + "/task";
  while (entries(tasks.c_str()) < 63)
    ::usleep(1000);
  rlimit before;
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  if (before.rlim_max < 20'000 / 10)
    GTEST_SKIP() << "the hard limit is too low for this";
  rlimit low = before;
  low.rlim_cur = 80;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  {
    auto sampler = sampler_or_skip(child.pid(), SamplerOptions{});
    rlimit now;
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &now), 0);
    EXPECT_EQ(now.rlim_cur, 80u);
    if (sampler) {
      EXPECT_GT(sampler->status().events, 60u);
      const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC); // this process can still open files
      EXPECT_GE(fd, 0);
      ::close(fd);
    }
  }
  // A hard limit that is too low is an error that states the numbers. A separate process tests
  // this, because a lowered hard limit cannot be raised again.
  const pid_t tester = ::fork();
  if (tester == 0) {
    const rlimit both{60, 60};
    ::setrlimit(RLIMIT_NOFILE, &both);
    const auto refused = start_perf_sampler(child.pid(), SamplerOptions{});
    if (refused)
      ::_exit(1);
    if (refused.error().code == ErrorCode::permission)
      ::_exit(0);
    const bool good = refused.error().code == ErrorCode::limit &&
                      refused.error().message.find(" threads on ") != std::string::npos &&
                      refused.error().message.find(" 60 ") != std::string::npos;
    ::_exit(good ? 0 : 2);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(tester, &status, 0), tester);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

// An ordinary user samples a process of the same user: its user time, with small rings if
// necessary.
TEST(CollectLimits, OrdinaryUsersSampleTheirOwnProcesses) {
  if (::geteuid() != 0)
    GTEST_SKIP() << "is the ordinary case here";
  const pid_t tester = ::fork();
  if (tester == 0) {
    const rlimit none{0, 0};
    ::setrlimit(RLIMIT_MEMLOCK, &none);
    if (::setresgid(65534, 65534, 65534) != 0 || ::setresuid(65534, 65534, 65534) != 0)
      ::_exit(errno == EPERM ? 78 : 1);
    ::prctl(PR_SET_DUMPABLE, 1); // a change of the user clears it, and perf requires it
    int result = 0;
    {
      const pid_t spinner = ::fork();
      if (spinner == 0) {
        spin_for(30);
        ::_exit(0);
      }
      ::usleep(20'000);
      auto sampler = start_perf_sampler(spinner, SamplerOptions{});
      if (!sampler) {
        result = sampler.error().code == ErrorCode::permission ? 77 : 2;
        if (result == 2)
          ::fprintf(stderr, "%s\n", sampler.error().text().c_str());
      } else {
        ::usleep(300'000);
        const SamplerStatus status = (*sampler)->status();
        if (status.samples == 0)
          result = 3;
        else if (status.ring_bytes > (size_t{1} << 20) || status.ring_bytes < 16384)
          result = 4;
        else if (!status.kernel_included && status.kernel_samples != 0)
          result = 5;
        // Another user's process is refused with a reason.
        const auto other = start_perf_sampler(::getppid(), SamplerOptions{});
        if (other || other.error().message.find("belongs to user 0") == std::string::npos)
          result = 6;
      }
      ::kill(spinner, SIGKILL);
      ::waitpid(spinner, nullptr, 0);
    }
    ::_exit(result);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(tester, &status, 0), tester);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
    GTEST_SKIP() << "perf is refused to ordinary users here";
  if (WIFEXITED(status) && WEXITSTATUS(status) == 78)
    GTEST_SKIP() << "root cannot become another user here";
  EXPECT_EQ(status, 0) << WEXITSTATUS(status);
}

TEST(CollectArguments, InvalidArgumentsAreRefused) {
  const auto code = [](pid_t pid, SamplerOptions options) {
    const auto sampler = start_perf_sampler(pid, options);
    return sampler ? ErrorCode::internal : sampler.error().code;
  };
  SamplerOptions options;
  EXPECT_EQ(code(0, options), ErrorCode::invalid_argument);
  EXPECT_EQ(code(-3, options), ErrorCode::invalid_argument);
  EXPECT_EQ(code(0x7ffffff0, options), ErrorCode::not_found);
  options.frequency_hz = 0;
  EXPECT_EQ(code(::getpid(), options), ErrorCode::invalid_argument);
  options.frequency_hz = 2'000'000'000;
  EXPECT_EQ(code(::getpid(), options), ErrorCode::invalid_argument);
  options = {};
  options.stacks = StackMode::dwarf;
  EXPECT_EQ(code(::getpid(), options), ErrorCode::invalid_argument);
}

TEST(CollectArguments, TheInterruptSamplerRefusesThem) {
  InterruptClock clock;
  SamplerOptions options;
  EXPECT_TRUE(make_interrupt_sampler(0, 0, options, clock));
  EXPECT_EQ(make_interrupt_sampler(0x7ffffff0, 0, options, clock).error().code,
            ErrorCode::not_found);
  options.frequency_hz = 0;
  EXPECT_EQ(make_interrupt_sampler(0, 0, options, clock).error().code, ErrorCode::invalid_argument);
}

} // namespace
} // namespace tally::collect_sampler_test
