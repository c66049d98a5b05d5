// The process that the sampler of an agent follows, observed from outside.
#pragma once

#include <cstdint>
#include <string>

#include <sys/types.h>

#include "support/unique_fd.h"

namespace tally {

struct FollowedProcess {
  FollowedProcess() = default;
  explicit FollowedProcess(pid_t expected);

  // Checks whether the process has ended and, while it is sampled, reads its CPU time.
  void follow(bool is_sampled);
  uint64_t cpu_ns() const { return cpu_last_ns - cpu_at_expect_ns; }

  pid_t pid = 0; // 0 if none is expected yet
  UniqueFd pidfd;
  bool gone = false;
  bool handshaken = false;                        // the agent has reported
  bool answered = false;                          // its offer of the kernel's clocks
  uint64_t looked_ns = 0;                         // when its mappings were last read
  uint64_t cpu_at_expect_ns = 0, cpu_last_ns = 0; // CPU time of the whole process
  uint64_t cleared_cpu_ns = 0, cleared_lost = 0;
  std::string clock; // kept after the agent has ended
};

} // namespace tally
