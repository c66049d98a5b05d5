#include "collect/last_run.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include "collect/proc_info.h"
#include "collect/reader_thread.h"
#include "support/clock.h"
#include "support/unique_fd.h"

namespace tally {

namespace {

constexpr uint64_t longest_search_ns = 50'000'000; // of a debugger that waits for the answer

// Returns what a processor's clock is behind CLOCK_MONOTONIC. Leaves the calling thread on that
// processor.
std::optional<int64_t> lag_of(int processor) {
  // A look is too late by the time for which the thread was interrupted since it was accounted for.
  constexpr int most_looks = 5;
  constexpr uint64_t undisturbed_ns = 100'000;
  const std::unique_ptr<cpu_set_t, void (*)(cpu_set_t *)> only(
      CPU_ALLOC(static_cast<size_t>(processor) + 1), [](cpu_set_t *set) { CPU_FREE(set); });
  const size_t bytes = CPU_ALLOC_SIZE(static_cast<size_t>(processor) + 1);
  if (!only)
    return std::nullopt;
  CPU_ZERO_S(bytes, only.get());
  CPU_SET_S(static_cast<size_t>(processor), bytes, only.get());
  if (::sched_setaffinity(0, bytes, only.get()) != 0)
    return std::nullopt;
  uint64_t begin = now_ns();
  const UniqueFd sched(::open("/proc/thread-self/sched", O_RDONLY | O_CLOEXEC));
  int64_t lag = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < most_looks; ++i) {
    char text[1024];
    const ssize_t got = ::pread(sched.get(), text, sizeof text, 0);
    const uint64_t now = now_ns();
    const auto start = parse_exec_start({text, static_cast<size_t>(std::max<ssize_t>(got, 0))});
    if (!start)
      return std::nullopt;
    lag = std::min(lag, static_cast<int64_t>(now) - static_cast<int64_t>(*start));
    if (now - begin < undisturbed_ns)
      break;
    ::sched_yield(); // the scheduler accounts for this thread again
    begin = now_ns();
  }
  return lag;
}

// Converts times, each on the clock of a processor, to CLOCK_MONOTONIC. Returns nothing if there is
// none, or if a processor cannot be asked.
std::vector<uint64_t> monotonic(const std::map<int, uint64_t> &by_processor) {
  std::vector<uint64_t> out;
  ReaderThread thread; // the debugger's own thread stays where it is
  ReaderProblem problem;
  const auto started = thread.start("tally-clock", [&] {
    problem.guarded([&] {
      const uint64_t begin = now_ns();
      for (const auto &[processor, time] : by_processor) {
        const auto lag = lag_of(processor);
        if (!lag || now_ns() - begin > longest_search_ns)
          return;
        out.push_back(time + static_cast<uint64_t>(*lag));
      }
    });
  });
  if (started)
    thread.join();
  if (out.size() != by_processor.size())
    out.clear();
  return out;
}

std::string text_of(pid_t pid, pid_t tid, const char *name) {
  return read_small_file(fmt::format("/proc/{}/task/{}/{}", pid, tid, name)).value_or("");
}

// Returns the time that the kernel prints after `name`: in milliseconds with six digits.
std::optional<uint64_t> parse_time(std::string_view sched, std::string_view name) {
  const size_t at = sched.find(name);
  if (at == sched.npos)
    return std::nullopt;
  sched.remove_prefix(at + name.size());
  sched.remove_prefix(std::min(sched.find_first_not_of(" :"), sched.size()));
  uint64_t ms = 0, fraction = 0;
  const char *const end = sched.data() + sched.size();
  const auto [point, error] = std::from_chars(sched.data(), end, ms);
  if (error != std::errc{} || point == end || *point != '.' ||
      ms > std::numeric_limits<uint64_t>::max() / 2'000'000)
    return std::nullopt;
  const auto [last, bad] = std::from_chars(point + 1, end, fraction);
  if (bad != std::errc{} || last - point != 7)
    return std::nullopt;
  return ms * 1'000'000 + fraction;
}

} // namespace

std::optional<uint64_t> parse_exec_start(std::string_view sched) {
  return parse_time(sched, "se.exec_start");
}

std::optional<uint64_t> parse_sum_exec(std::string_view sched) {
  return parse_time(sched, "se.sum_exec_runtime");
}

std::optional<uint64_t> last_run_ns(pid_t pid) {
  std::map<int, uint64_t> by_processor; // the last time that a thread ran there
  for (const pid_t tid : thread_ids(pid)) {
    const std::string stat = text_of(pid, tid, "stat");
    const char state = parse_state(stat);
    if (state == 'Z' || state == 'X')
      continue;
    const auto processor = parse_processor(stat);
    const auto start = parse_exec_start(text_of(pid, tid, "sched"));
    if (state != 't' || !processor || !start || *processor < 0)
      return std::nullopt;
    uint64_t &last = by_processor[*processor];
    last = std::max(last, *start);
  }
  const std::vector<uint64_t> times = monotonic(by_processor);
  return times.empty() ? std::nullopt : std::optional(*std::ranges::max_element(times));
}

AccountedThreads accounted_threads(pid_t pid) {
  AccountedThreads out;
  for (const pid_t tid : thread_ids(pid)) {
    const auto counts = parse_schedstat(text_of(pid, tid, "schedstat"));
    const std::string sched = text_of(pid, tid, "sched"); // all of it is of one moment
    const auto until = parse_exec_start(sched), cpu = parse_sum_exec(sched);
    if (counts && until && cpu)
      out[tid] = {*until, *cpu, counts->waited_ns};
    else if (counts)
      out[tid] = {0, counts->cpu_ns, counts->waited_ns};
  }
  return out;
}

std::optional<uint64_t> begin_of(const Accounted &now, const Accounted &held) {
  const uint64_t ran_ns = now.cpu_ns - std::min(now.cpu_ns, held.cpu_ns);
  return ran_ns != 0 && ran_ns < now.until_ns ? std::optional(now.until_ns - ran_ns) : std::nullopt;
}

std::optional<uint64_t> run_begin_ns(pid_t pid, const AccountedThreads &held) {
  std::map<int, uint64_t> by_processor; // the first begin of a thread that ran there last
  for (const auto &[tid, now] : accounted_threads(pid)) {
    const auto before = held.find(tid);
    const auto begin = before == held.end() ? std::nullopt : begin_of(now, before->second);
    const auto processor = parse_processor(text_of(pid, tid, "stat"));
    if (!begin || !processor || *processor < 0)
      continue;
    const auto first = by_processor.emplace(*processor, *begin).first;
    first->second = std::min(first->second, *begin);
  }
  const std::vector<uint64_t> times = monotonic(by_processor);
  return times.empty() ? std::nullopt : std::optional(*std::ranges::min_element(times));
}

} // namespace tally
