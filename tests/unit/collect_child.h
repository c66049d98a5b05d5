// Child processes to sample: each is forked from the test and waits until go() is called.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <gtest/gtest.h>

#include "collect/sampler.h"

namespace tally {

// A half-open range of code.
struct CodeExtent {
  uint64_t begin = 0;
  uint64_t end = 0;
  bool holds(uint64_t pc) const { return pc >= begin && pc < end; }
};

// Spend processor time, each in code of its own; a round takes the same time in both.
void spin_first(uint64_t rounds);
void spin_second(uint64_t rounds);
CodeExtent first_code();
CodeExtent second_code();

double thread_cpu_seconds();
double process_cpu_seconds();
// Spins in spin_first until the calling thread has used `seconds` of processor time.
void spin_for(double seconds);

class Child {
public:
  // Runs `work` after go(), then exits with status 0 without running the test's own destructors.
  explicit Child(const std::function<void()> &work);
  Child(const Child &) = delete;
  Child &operator=(const Child &) = delete;
  ~Child();
  pid_t pid() const { return pid_; }
  void go();
  // Waits until the child has ended; it stays a zombie, as under a debugger, until this object is
  // destroyed.
  void wait_end();

private:
  pid_t pid_ = -1;
  int go_fd_ = -1;
};

// Returns the sampler, or null after it has skipped the test with the refusal as the reason.
std::unique_ptr<Sampler> sampler_or_skip(pid_t pid, const SamplerOptions &options);

// Waits until the sampler has noticed the end of the process; polls the sampler's status.
void wait_ended(Sampler &sampler);

// A child that was sampled from go() to its end.
struct SampledRun {
  std::unique_ptr<Child> child;
  std::unique_ptr<Sampler> sampler;
  SamplerStatus status;
  StackProfile profile;
};

// Returns no value if the test is over because it was skipped or failed.
std::optional<SampledRun> sample_to_end(const SamplerOptions &options,
                                        const std::function<void()> &work);

struct Counts {
  int64_t all = 0;
  int64_t first = 0;
  int64_t second = 0;
  int64_t no_stack = 0;
  int64_t no_mapping = 0; // with a stack whose leaf is in no mapping
};
Counts count_leaves(const StackProfile &profile);

} // namespace tally

#define TALLY_SAMPLE_OR_SKIP(name, pid, options)                                                   \
  auto name = ::tally::sampler_or_skip((pid), (options));                                          \
  if (!name)                                                                                       \
  return
