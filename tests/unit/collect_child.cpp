#include "collect_child.h"

#include <csignal>
#include <ctime>

#include <fcntl.h>

#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// The linker's names for the first and the last byte of a section.
extern "C" {
extern const char __start_tally_first[], __stop_tally_first[];
extern const char __start_tally_second[], __stop_tally_second[];
}

namespace tally {

// On x86-64 the function consists of these instructions alone, whatever the build's options are: it
// has no frame, no sanitizer checks and no counters, and it runs correctly from a copy elsewhere.
#if defined(__x86_64__)
#define TALLY_SPIN(name, part)                                                                     \
  __attribute__((naked, noinline, no_profile_instrument_function, section(part))) void name(       \
      uint64_t) {                                                                                  \
    __asm__("test %rdi, %rdi\n\t"                                                                  \
            "jz 2f\n\t"                                                                            \
            ".p2align 5\n"                                                                         \
            "1: sub $1, %rdi\n\t"                                                                  \
            "jnz 1b\n"                                                                             \
            "2: ret");                                                                             \
  }
#else
#define TALLY_SPIN(name, part)                                                                     \
  __attribute__((noinline, section(part))) void name(uint64_t rounds) {                            \
    for (uint64_t i = 0; i < rounds; ++i)                                                          \
      __asm__ volatile("");                                                                        \
  }
#endif
TALLY_SPIN(spin_first, "tally_first")
TALLY_SPIN(spin_second, "tally_second")

CodeExtent first_code() {
  return {reinterpret_cast<uint64_t>(__start_tally_first),
          reinterpret_cast<uint64_t>(__stop_tally_first)};
}

CodeExtent second_code() {
  return {reinterpret_cast<uint64_t>(__start_tally_second),
          reinterpret_cast<uint64_t>(__stop_tally_second)};
}

static double seconds(clockid_t clock) {
  timespec t;
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double thread_cpu_seconds() { return seconds(CLOCK_THREAD_CPUTIME_ID); }
double process_cpu_seconds() { return seconds(CLOCK_PROCESS_CPUTIME_ID); }

void spin_for(double seconds) {
  const double end = thread_cpu_seconds() + seconds;
  while (thread_cpu_seconds() < end)
    spin_first(100'000);
}

Child::Child(const std::function<void()> &work) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return;
  pid_ = ::fork();
  if (pid_ == 0) {
    ::close(ends[1]);
    char byte;
    if (::read(ends[0], &byte, 1) == 1)
      work();
    ::syscall(SYS_exit_group, 0); // a sanitizer's _exit() would look for the parent's threads
  }
  ::close(ends[0]);
  go_fd_ = ends[1];
}

Child::~Child() {
  if (go_fd_ >= 0)
    ::close(go_fd_);
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
}

void Child::go() { ASSERT_EQ(::write(go_fd_, "x", 1), 1); }

void Child::wait_end() {
  siginfo_t info;
  ASSERT_EQ(::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT), 0);
}

std::unique_ptr<Sampler> sampler_or_skip(pid_t pid, const SamplerOptions &options) {
  auto sampler = start_perf_sampler(pid, options);
  if (sampler)
    return std::move(*sampler);
  const ErrorCode code = sampler.error().code;
  const bool refused = code == ErrorCode::permission || code == ErrorCode::unsupported;
  [&] {
    if (refused)
      GTEST_SKIP() << sampler.error().text();
    FAIL() << sampler.error().text();
  }();
  return nullptr;
}

void wait_ended(Sampler &sampler) {
  for (int i = 0; i < 30'000; ++i) {
    if (sampler.status().ended)
      return;
    ::usleep(1000);
  }
  FAIL() << "the sampler has not noticed the end of the process in half a minute";
}

std::optional<SampledRun> sample_to_end(const SamplerOptions &options,
                                        const std::function<void()> &work) {
  SampledRun run{std::make_unique<Child>(work), nullptr, {}, {}};
  run.sampler = sampler_or_skip(run.child->pid(), options);
  if (!run.sampler)
    return std::nullopt;
  run.child->go();
  run.child->wait_end();
  wait_ended(*run.sampler);
  run.status = run.sampler->status();
  auto profile = run.sampler->snapshot("exit", 0, 1);
  if (!profile) {
    ADD_FAILURE() << profile.error().text();
    return std::nullopt;
  }
  run.profile = std::move(*profile);
  return run;
}

Counts count_leaves(const StackProfile &profile) {
  Counts counts;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    const int64_t value = sample.values[0];
    counts.all += value;
    if (sample.stack == none<StackId>) {
      counts.no_stack += value;
      continue;
    }
    const Location leaf = profile.location(profile.stack_location(sample.stack));
    if (leaf.mapping == none<MappingId>)
      counts.no_mapping += value;
    if (first_code().holds(leaf.address))
      counts.first += value;
    if (second_code().holds(leaf.address))
      counts.second += value;
  }
  return counts;
}

} // namespace tally
