// Reads facts about a process and about the kernel's limits from /proc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace tally {

// Returns the content of a small file, or nothing if the file cannot be read. It serves /proc,
// where the size of every file is reported as zero.
std::optional<std::string> read_small_file(const std::string &path);

// Returns the number in a file of /proc/sys, or nothing if there is none.
std::optional<int64_t> read_sysctl(const std::string &path);

std::vector<pid_t> thread_ids(pid_t pid); // empty if there is no such process
std::string thread_name(pid_t pid, pid_t tid);
std::string command_line(pid_t pid); // arguments joined by spaces; empty if not available

// Converts "0-3,8", the format of /sys/devices/system/cpu/online, to 0 1 2 3 8. Ranges that exceed
// `limit` are skipped.
std::vector<int> parse_cpu_list(std::string_view text, int limit = 1 << 16);
std::vector<int> online_cpus();

// Returns the CPU time of a process with all its threads, exactly, or nothing if the process is
// gone. It needs no rights.
std::optional<uint64_t> process_cpu_ns(pid_t pid);

// The CPU time of a process with all its threads, in the kernel's clock ticks.
struct CpuTimes {
  uint64_t user = 0;
  uint64_t system = 0;
  uint64_t of_waited = 0; // of both kinds, of the children that the process has waited for
  pid_t parent = 0;
};
// Parses the text of /proc/PID/stat; returns nothing if its format is unknown.
std::optional<CpuTimes> parse_cpu_times(std::string_view stat);
// Returns the processor that a thread runs on, or ran on last, from the thread's own stat text.
std::optional<int> parse_processor(std::string_view stat);
// Returns a thread's state, from the thread's own stat text, as proc_pid_stat(5) lists them: 'R' if
// it runs or waits for a processor, 't' if a debugger has stopped it; 0 if the text has none.
char parse_state(std::string_view stat);

// The content of /proc/PID/task/TID/schedstat. A kernel has this file if it was built with
// CONFIG_SCHED_INFO, as most are.
struct SchedulerCounts {
  uint64_t cpu_ns = 0;    // exact while the thread has no processor, otherwise as of the last tick
  uint64_t waited_ns = 0; // time in which it was runnable, but had no processor
  uint64_t arrivals = 0;  // number of times that it was given a processor
};
std::optional<SchedulerCounts> parse_schedstat(std::string_view text);

struct ProcessStatus {
  pid_t tgid = 0;
  pid_t tracer = 0; // 0 if not traced
  uid_t real_uid = 0;
  int seccomp = 0; // 0 none, 1 strict, 2 filter
  uint64_t cap_effective = 0;
  uint64_t signals_blocked = 0; // signal n is bit n - 1
  uint64_t signals_caught = 0;  // signals with a handler
  uint64_t signals_pending = 0; // for the thread itself
  uint64_t switches = 0; // times that a thread lost its processor; for "PID", its first thread
  int threads = 0;
  char state = '?'; // 'Z' if ended, but not yet waited for
};
ProcessStatus parse_status(std::string_view text);
// Reads the status of "self", a process ID, or "PID/task/TID"; returns nothing if there is none.
std::optional<ProcessStatus> process_status(const std::string &pid_or_self);

} // namespace tally
