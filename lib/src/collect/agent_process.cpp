#include "collect/agent_process.h"

#include <algorithm>
#include <optional>

#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/proc_info.h"

namespace tally {

namespace {

// Returns the CPU time of a process, measured from outside, or nothing if the process is gone.
std::optional<uint64_t> process_cpu_ns(pid_t pid) {
  timespec time{};
  // This is the number that clock_getcpuclockid() would return.
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(pid) << 3) | 2U);
  if (pid <= 0 || ::clock_gettime(clock, &time) != 0)
    return std::nullopt;
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

} // namespace

FollowedProcess::FollowedProcess(pid_t expected)
    : pid(expected), pidfd(static_cast<int>(::syscall(SYS_pidfd_open, expected, 0))),
      cpu_at_expect_ns(process_cpu_ns(expected).value_or(0)), cpu_last_ns(cpu_at_expect_ns) {}

void FollowedProcess::follow() {
  if (!gone) {
    if (pidfd.get() >= 0) {
      pollfd polled{pidfd.get(), POLLIN, 0};
      gone = ::poll(&polled, 1, 0) == 1;
    } else if (const auto status = process_status(std::to_string(pid));
               !status || (status->state == 'Z' && status->threads <= 1)) {
      gone = true;
    }
  }
  if (const auto cpu = process_cpu_ns(pid))
    cpu_last_ns = std::max(cpu_last_ns, *cpu);
}

} // namespace tally
