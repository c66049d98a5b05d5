#include "collect/agent_process.h"

#include <algorithm>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/proc_info.h"

namespace tally {

FollowedProcess::FollowedProcess(pid_t expected)
    : pid(expected), pidfd(static_cast<int>(::syscall(SYS_pidfd_open, expected, 0))),
      cpu_at_expect_ns(process_cpu_ns(expected).value_or(0)), cpu_last_ns(cpu_at_expect_ns) {}

void FollowedProcess::follow(bool is_sampled) {
  if (!gone) {
    if (pidfd.get() >= 0) {
      pollfd polled{pidfd.get(), POLLIN, 0};
      gone = ::poll(&polled, 1, 0) == 1;
    } else if (const auto status = process_status(std::to_string(pid));
               !status || (status->state == 'Z' && status->threads <= 1)) {
      gone = true;
    }
  }
  if (const auto cpu = is_sampled ? process_cpu_ns(pid) : std::nullopt)
    cpu_last_ns = std::max(cpu_last_ns, *cpu);
}

} // namespace tally
