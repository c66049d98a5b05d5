// Explains in one line why the kernel refused to sample, and what to do about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <sys/types.h>

#include "collect/sampler.h"
#include "support/result.h"

namespace tally {

// The facts that were observed; the message depends on nothing else. It has many data members
// because it is a record: no fact follows from another.
struct RefusalFacts {
  enum class Step : uint8_t { open_event, map_ring };
  Step step = Step::open_event;
  int errno_value = 0;
  pid_t pid = 0;
  uid_t target_uid = 0;
  uid_t our_uid = 0;
  bool capable = false; // CAP_PERFMON or CAP_SYS_ADMIN
  int seccomp = 0;      // of our own process: 2 is a filter
  std::optional<int64_t> paranoid;
  std::string kernel;       // "5.10.0-28-amd64"
  size_t events_wanted = 0; // (threads + 1) × processors
  size_t threads = 0;
  size_t cpus = 0;
  uint64_t descriptor_limit = 0; // the hard limit
  size_t ring_bytes = 0;         // the smallest that was tried
  std::optional<int64_t> mlock_kb;
  uint64_t memlock_limit = 0;          // RLIMIT_MEMLOCK, bytes
  std::optional<SampledEvent> event{}; // none if the clock was refused
};

// Reads the facts that do not depend on the attempt.
RefusalFacts observe_refusal(RefusalFacts::Step step, int errno_value, pid_t pid);

Error describe_refusal(const RefusalFacts &facts);

} // namespace tally
