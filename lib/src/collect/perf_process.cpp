#include "collect/perf_process.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "support/clock.h"

namespace tally {

namespace {
// The interval at which has_come() checks whether the tracer is still attached.
constexpr uint64_t tracer_check_ns = 150'000'000;
} // namespace

void ProcessEnd::open(pid_t pid) {
  // If this fails (before Linux 5.3), /proc is checked instead.
  pidfd_.reset(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
  status_fd_.reset(::open(fmt::format("/proc/{}/status", pid).c_str(), O_RDONLY | O_CLOEXEC));
  if (const auto status = process_status(std::to_string(pid)))
    traced_ = status->tracer != 0;
  checked_ns_ = now_ns();
}

bool ProcessEnd::has_come() {
  if (gone_)
    return true;
  const uint64_t now = now_ns();
  if (now - checked_ns_ < tracer_check_ns)
    return false;
  checked_ns_ = now;
  if (!traced_ && pidfd_.get() >= 0)
    return false;
  char text[4096];
  const ssize_t got = ::pread(status_fd_.get(), text, sizeof text, 0);
  if (got < 0)
    return errno == ESRCH;
  const ProcessStatus status = parse_status({text, static_cast<size_t>(got)});
  const bool zombie = status.state == 'Z' && status.threads <= 1;
  // If the debugger has detached, the user no longer watches the process. The state of a first
  // thread that has ended says nothing about the other threads.
  const bool released = traced_ && status.tracer == 0 && status.state != 'Z';
  return released || (zombie && pidfd_.get() < 0);
}

void CpuTime::open_stat(pid_t pid) {
  stat_fd_.reset(::open(fmt::format("/proc/{}/stat", pid).c_str(), O_RDONLY | O_CLOEXEC));
}

void CpuTime::measure_kernel(pid_t pid) {
  open_stat(pid);
  measures_kernel_ = true;
}

// The time that a child has used before counts as soon as the process waits for it. So if there are
// children now, what they and the process use from now on is not known.
void CpuTime::begin_family(pid_t pid) {
  std::string children;
  for (const pid_t tid : thread_ids(pid))
    children += read_small_file(fmt::format("/proc/{}/task/{}/children", pid, tid)).value_or("?");
  family_.pid = children.empty() ? pid : 0;
  follow();
  // The kernel's ticks are rounded down, but those of the process itself are known exactly.
  family_.cleared_ns =
      std::max(family_.now_ns, family_.of_waited_ns + process_cpu_ns(pid).value_or(0));
}

void CpuTime::measure_family(pid_t pid) {
  open_stat(pid);
  begin_family(pid);
}

void CpuTime::measure_process(pid_t pid) {
  pid_ = pid;
  cleared_ns_ = now_ns_ = process_cpu_ns(pid).value_or(0);
}

void CpuTime::follow() {
  if (pid_ != 0)
    now_ns_ = std::max(now_ns_, process_cpu_ns(pid_).value_or(0));
  char text[1024];
  const ssize_t got = stat_fd_.get() < 0 ? -1 : ::pread(stat_fd_.get(), text, sizeof text, 0);
  const auto times = got <= 0 ? std::nullopt : parse_cpu_times({text, static_cast<size_t>(got)});
  if (family_.pid != 0)
    follow_family(times);
  if (!times || !measures_kernel_) // the process may be gone: keep the last values
    return;
  if (!first_)
    first_ = times;
  last_ = *times;
}

// The kernel adds the times of a process to those of its parent's children when the parent waits
// for it. So if the parent is this process, which is GDB or `tally record`, they become known
// exactly, unless it waited for another child at the same time.
void CpuTime::follow_family(const std::optional<CpuTimes> &times) {
  const uint64_t tick_ns = 1'000'000'000 / static_cast<uint64_t>(::sysconf(_SC_CLK_TCK));
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto ns_of = [](const timeval &time) {
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 +
           static_cast<uint64_t>(time.tv_usec) * 1000;
  };
  const uint64_t reaped_ns = ns_of(usage.ru_utime) + ns_of(usage.ru_stime);
  if (times) {
    family_.of_waited_ns = times->of_waited * tick_ns;
    family_.now_ns =
        std::max(family_.now_ns, (times->user + times->system) * tick_ns + family_.of_waited_ns);
    family_.reaped_ns = reaped_ns;
    family_.is_ours = times->parent == ::getpid();
  } else if (!std::exchange(family_.is_gone, true) && family_.is_ours) {
    family_.now_ns = std::max(family_.now_ns, reaped_ns - family_.reaped_ns);
  }
}

uint64_t CpuTime::unsampled_ns(uint64_t count) const {
  if (!first_)
    return 0;
  const uint64_t user = last_.user - first_->user;
  const uint64_t system = last_.system - first_->system;
  if (user + system == 0)
    return 0;
  return static_cast<uint64_t>(static_cast<double>(ns(count)) * static_cast<double>(system) /
                               static_cast<double>(user + system));
}

void CpuTime::clear() {
  follow();
  cleared_ns_ = now_ns_;
  if (family_.pid != 0)
    begin_family(family_.pid);
  if (first_)
    first_ = last_;
}

} // namespace tally
