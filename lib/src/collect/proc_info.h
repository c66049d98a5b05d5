// What /proc says about a process and about the kernel's limits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tally {

// The whole of a small file; nothing when it cannot be read. For /proc, where sizes read as zero.
std::optional<std::string> read_small_file(const std::string &path);

// The number a file in /proc/sys holds.
std::optional<int64_t> read_sysctl(const std::string &path);

std::vector<pid_t> thread_ids(pid_t pid); // empty: no such process
std::string thread_name(pid_t pid, pid_t tid);
std::string command_line(pid_t pid); // arguments joined by spaces; empty when not to be had

// "0-3,8" -> 0 1 2 3 8, as /sys/devices/system/cpu/online has it. Nothing larger than `limit`.
std::vector<int> parse_cpu_list(std::string_view text, int limit = 1 << 16);
std::vector<int> online_cpus();

// How a process's CPU time divides, in the kernel's clock ticks; of all its threads.
struct CpuTimes {
  uint64_t user = 0;
  uint64_t system = 0;
};
// The text of /proc/PID/stat; nothing when it is of another form.
std::optional<CpuTimes> parse_cpu_times(std::string_view stat);
// The processor that a thread runs on, or ran on last, from the same text of the thread.
std::optional<int> parse_processor(std::string_view stat);
// Whether the thread runs or waits for a processor, from the same text.
bool is_runnable(std::string_view stat);

// /proc/PID/task/TID/schedstat; needs CONFIG_SCHED_INFO, which most kernels have.
struct SchedulerCounts {
  uint64_t cpu_ns = 0;    // exact while the thread has no processor, else of the last tick
  uint64_t waited_ns = 0; // runnable, but without a processor
  uint64_t arrivals = 0;  // times that it was given a processor
};
std::optional<SchedulerCounts> parse_schedstat(std::string_view text);

struct ProcessStatus {
  pid_t tgid = 0;
  pid_t tracer = 0; // 0: not traced
  uid_t real_uid = 0;
  int seccomp = 0; // 0 none, 1 strict, 2 filter
  uint64_t cap_effective = 0;
  uint64_t signals_blocked = 0; // signal n is bit n - 1
  uint64_t signals_caught = 0;  // have a handler
  uint64_t signals_pending = 0; // of the thread itself
  uint64_t switches = 0; // times that a thread has lost its processor; of "PID" its first thread
  int threads = 0;
  char state = '?'; // 'Z': ended, not yet waited for
};
ProcessStatus parse_status(std::string_view text);
// "self", a process, or "PID/task/TID".
std::optional<ProcessStatus> process_status(const std::string &pid_or_self);

} // namespace tally
