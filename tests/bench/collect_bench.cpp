// For overhead_bench.py: a program with a fixed amount of work, and the sampler alone, which prints
// its own cost.
//
//   collect-bench work ROUNDS                 works, and prints its own CPU time
//   collect-bench run COMMAND [ARGUMENT]...   runs the command, and prints its CPU time
//   collect-bench sample HZ none|fp|dwarf|unwind[:STACK_BYTES] COMMAND [ARGUMENT]...
//
// `dwarf` collects registers and stack dumps, `unwind` also unwinds them.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <string_view>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "collect/sampler.h"

namespace {

double seconds(clockid_t clock) {
  timespec t;
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double cpu_of(const rusage &usage) {
  const auto of = [](const timeval &t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

double own_cpu() {
  rusage usage;
  ::getrusage(RUSAGE_SELF, &usage);
  return cpu_of(usage);
}

__attribute__((noinline)) uint64_t leaf(uint64_t x, int rounds) {
  for (int i = 0; i < rounds; ++i)
    x = x * 6364136223846793005U + (x >> 29);
  return x;
}

__attribute__((noinline)) uint64_t tree(uint64_t x, int depth) {
  if (depth == 0)
    return leaf(x, 2000);
  x = tree(x + 1, depth - 1);
  return tree(x ^ 3, depth - 1) + 1; // prevents a tail call
}

int work(uint64_t rounds) {
  const double begin = seconds(CLOCK_MONOTONIC);
  uint64_t x = rounds;
  for (uint64_t i = 0; i < rounds; ++i)
    x = tree(x, 8);
  std::printf("{\"cpu\": %.6f, \"wall\": %.6f, \"value\": %llu}\n",
              seconds(CLOCK_PROCESS_CPUTIME_ID), seconds(CLOCK_MONOTONIC) - begin,
              static_cast<unsigned long long>(x));
  return 0;
}

int run(char **command) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::execvp(command[0], command);
    ::_exit(127);
  }
  int status = 0;
  rusage used;
  ::wait4(child, &status, 0, &used);
  std::printf("{\"cpu\": %.6f}\n", cpu_of(used));
  return status == 0 ? 0 : 1;
}

// Does not unwind: it leaves only the cost of collecting registers and stack dumps.
class NoUnwinder : public tally::Unwinder {
public:
  tally::ModuleId module(const tally::ModuleKey &) override { return {}; }
  tally::StackEnd unwind(const tally::UnwindInput &input, std::vector<uint64_t> &pcs) override {
    pcs.push_back(input.registers.pc());
    return tally::StackEnd::complete;
  }
};

int sample(uint32_t hz, const char *mode, char **command) {
  int hold[2];
  if (::pipe2(hold, O_CLOEXEC) != 0)
    return 1;
  const pid_t child = ::fork();
  if (child == 0) {
    char byte;
    if (::read(hold[0], &byte, 1) != 1)
      ::_exit(126);
    ::execvp(command[0], command);
    ::_exit(127);
  }
  tally::SamplerOptions options;
  options.frequency_hz = hz;
  options.enable_on_exec = true;
  const char *colon = std::strchr(mode, ':');
  const std::string_view stacks(mode,
                                colon ? static_cast<size_t>(colon - mode) : std::strlen(mode));
  const bool unwinds = stacks == "unwind";
  options.stacks = unwinds ? tally::StackMode::dwarf
                           : tally::stack_mode_by_name(stacks).value_or(tally::StackMode::none);
  if (colon)
    options.stack_bytes = static_cast<uint32_t>(std::strtoul(colon + 1, nullptr, 10));
  options.unwinder = unwinds ? std::shared_ptr<tally::Unwinder>(tally::make_unwinder())
                             : std::make_shared<NoUnwinder>();
  const double before = own_cpu();
  auto sampler = tally::start_perf_sampler(child, options);
  const double started = own_cpu();
  if (!sampler) {
    std::fprintf(stderr, "%s\n", sampler.error().text().c_str());
    ::kill(child, SIGKILL);
    return 1;
  }
  if (::write(hold[1], "x", 1) != 1)
    return 1;
  int status = 0;
  rusage used;
  ::wait4(child, &status, 0, &used);
  const double ran = own_cpu();
  (*sampler)->stop();
  const double stopped = own_cpu();
  const tally::SamplerStatus s = (*sampler)->status();
  std::printf("{\"own_cpu\": %.6f, \"start\": %.6f, \"run\": %.6f, \"stop\": %.6f, "
              "\"samples\": %llu, \"lost\": %llu, \"cpu\": %.6f, \"memory\": %llu, "
              "\"ring_bytes\": %zu, \"stack_bytes\": %u, \"cut\": %llu, \"child_cpu\": %.6f}\n",
              stopped - before, started - before, ran - started, stopped - ran,
              static_cast<unsigned long long>(s.samples), static_cast<unsigned long long>(s.lost),
              static_cast<double>(s.cpu_ns) * 1e-9, static_cast<unsigned long long>(s.memory_bytes),
              s.ring_bytes, s.stack_bytes, static_cast<unsigned long long>(s.truncated_stacks),
              cpu_of(used));
  return s.problem.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  if (argc == 3 && std::strcmp(argv[1], "work") == 0)
    return work(std::strtoull(argv[2], nullptr, 10));
  if (argc >= 3 && std::strcmp(argv[1], "run") == 0)
    return run(argv + 2);
  if (argc >= 5 && std::strcmp(argv[1], "sample") == 0)
    return sample(static_cast<uint32_t>(std::strtoul(argv[2], nullptr, 10)), argv[3], argv + 4);
  std::fprintf(stderr, "usage: collect-bench work ROUNDS | run COMMAND... | "
                       "sample HZ none|fp|dwarf|unwind[:BYTES] COMMAND...\n");
  return 2;
}
