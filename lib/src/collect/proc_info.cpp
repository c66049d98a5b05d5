#include "collect/proc_info.h"

#include <algorithm>
#include <cerrno>
#include <charconv>

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collect/sampler.h"
#include "support/unique_fd.h"

namespace tally {

namespace {

template <class T> std::optional<T> number(std::string_view text, int base = 10) {
  const size_t digits = text.find_first_not_of(" \t");
  text.remove_prefix(std::min(digits, text.size()));
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{})
    return std::nullopt;
  return value;
}

} // namespace

std::optional<std::string> read_small_file(const std::string &path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0)
    return std::nullopt;
  std::string text;
  for (size_t used = 0;;) {
    text.resize(used + 16384);
    const ssize_t got = ::read(fd.get(), text.data() + used, text.size() - used);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return std::nullopt;
    used += static_cast<size_t>(got);
    text.resize(used);
    if (got == 0)
      return text;
  }
}

std::optional<int64_t> read_sysctl(const std::string &path) {
  const auto text = read_small_file(path);
  return text ? number<int64_t>(*text) : std::nullopt;
}

std::vector<pid_t> thread_ids(pid_t pid) {
  std::vector<pid_t> ids;
  DIR *directory = ::opendir(fmt::format("/proc/{}/task", pid).c_str());
  if (!directory)
    return ids;
  while (const dirent *entry = ::readdir(directory))
    if (const auto id = number<pid_t>(entry->d_name))
      ids.push_back(*id);
  ::closedir(directory);
  return ids;
}

std::string thread_name(pid_t pid, pid_t tid) {
  std::string name = read_small_file(fmt::format("/proc/{}/task/{}/comm", pid, tid)).value_or("");
  if (name.ends_with('\n'))
    name.pop_back();
  return name;
}

std::string command_line(pid_t pid) {
  std::string text = read_small_file(fmt::format("/proc/{}/cmdline", pid)).value_or("");
  while (text.ends_with('\0'))
    text.pop_back();
  std::replace(text.begin(), text.end(), '\0', ' ');
  return text;
}

std::vector<int> parse_cpu_list(std::string_view text, int limit) {
  std::vector<int> cpus;
  while (!text.empty()) {
    const size_t end = std::min(text.find(','), text.size());
    const std::string_view item = text.substr(0, end);
    const size_t dash = item.find('-');
    const auto first = number<int>(item.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : number<int>(item.substr(dash + 1));
    if (first && last && *first >= 0 && *last <= limit)
      for (int cpu = *first; cpu <= *last; ++cpu)
        cpus.push_back(cpu);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return cpus;
}

std::vector<int> online_cpus() {
  const auto text = read_small_file("/sys/devices/system/cpu/online");
  std::vector<int> cpus = parse_cpu_list(text.value_or(""));
  if (cpus.empty()) // no sysfs: count from zero
    for (int cpu = 0; cpu < static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN)); ++cpu)
      cpus.push_back(cpu);
  return cpus;
}

namespace {

// Returns the text of /proc/PID/stat from a field on. Fields are numbered from 1, as in
// proc_pid_stat(5); `field` must be at least 3. The second field, the name in parentheses, may
// contain any characters.
std::string_view from_field(std::string_view stat, int field) {
  const size_t name_end = stat.rfind(')');
  stat.remove_prefix(name_end == stat.npos ? stat.size() : name_end + 1);
  for (int passed = 3; passed < field; ++passed) {
    stat.remove_prefix(std::min(stat.find_first_not_of(' '), stat.size()));
    stat.remove_prefix(std::min(stat.find(' '), stat.size()));
  }
  return stat;
}

} // namespace

std::optional<CpuTimes> parse_cpu_times(std::string_view stat) {
  const std::string_view from_user = from_field(stat, 14); // utime, then stime
  const auto user = number<uint64_t>(from_user);
  const auto system = number<uint64_t>(from_field(stat, 15));
  const auto waited_user = number<uint64_t>(from_field(stat, 16));
  const auto waited_system = number<uint64_t>(from_field(stat, 17));
  const auto parent = number<pid_t>(from_field(stat, 4));
  if (!user || !system || !waited_user || !waited_system || !parent)
    return std::nullopt;
  return CpuTimes{*user, *system, *waited_user + *waited_system, *parent};
}

std::optional<int> parse_processor(std::string_view stat) {
  return number<int>(from_field(stat, 39));
}

char parse_state(std::string_view stat) {
  const std::string_view state = from_field(stat, 3);
  return state.size() > 1 ? state[1] : '\0';
}

std::optional<SchedulerCounts> parse_schedstat(std::string_view text) {
  uint64_t numbers[3]{}; // CPU time, time in the queue, arrivals
  for (uint64_t &number : numbers) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc{})
      return std::nullopt;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  if (numbers[2] == 0) // every thread has run at least once: the kernel does not count
    return std::nullopt;
  return SchedulerCounts{numbers[0], numbers[1], numbers[2]};
}

ProcessStatus parse_status(std::string_view text) {
  ProcessStatus status;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const auto value = [&](std::string_view key) {
      return line.starts_with(key) ? line.substr(key.size()) : std::string_view();
    };
    if (const auto v = value("Tgid:"); !v.empty())
      status.tgid = number<pid_t>(v).value_or(0);
    else if (const auto t = value("TracerPid:"); !t.empty())
      status.tracer = number<pid_t>(t).value_or(0);
    else if (const auto u = value("Uid:"); !u.empty())
      status.real_uid = number<uid_t>(u).value_or(0);
    else if (const auto s = value("Seccomp:"); !s.empty())
      status.seccomp = number<int>(s).value_or(0);
    else if (const auto c = value("CapEff:"); !c.empty())
      status.cap_effective = number<uint64_t>(c, 16).value_or(0);
    else if (const auto b = value("SigBlk:"); !b.empty())
      status.signals_blocked = number<uint64_t>(b, 16).value_or(0);
    else if (const auto p = value("SigPnd:"); !p.empty())
      status.signals_pending = number<uint64_t>(p, 16).value_or(0);
    else if (const auto h = value("SigCgt:"); !h.empty())
      status.signals_caught = number<uint64_t>(h, 16).value_or(0);
    else if (const auto n = value("Threads:"); !n.empty())
      status.threads = number<int>(n).value_or(0);
    else if (const auto own = value("voluntary_ctxt_switches:"); !own.empty())
      status.switches += number<uint64_t>(own).value_or(0);
    else if (const auto forced = value("nonvoluntary_ctxt_switches:"); !forced.empty())
      status.switches += number<uint64_t>(forced).value_or(0);
    else if (const auto z = value("State:"); z.size() > 1)
      status.state = z[1];
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return status;
}

std::optional<ProcessStatus> process_status(const std::string &pid_or_self) {
  const auto text = read_small_file("/proc/" + pid_or_self + "/status");
  if (!text)
    return std::nullopt;
  return parse_status(*text);
}

std::string signal_name(int number) {
  const char *const name = ::sigabbrev_np(number);
  return name ? fmt::format("SIG{}", name) : fmt::format("SIG{}", number);
}

std::optional<uint64_t> process_cpu_ns(pid_t pid) {
  timespec time{};
  // This is the number that clock_getcpuclockid() would return.
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(pid) << 3) | 2U);
  if (pid <= 0 || ::clock_gettime(clock, &time) != 0)
    return std::nullopt;
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

} // namespace tally
