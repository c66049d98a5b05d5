#include "collect/last_run.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <memory>
#include <string>

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

} // namespace

std::optional<uint64_t> parse_exec_start(std::string_view sched) {
  constexpr std::string_view name = "se.exec_start";
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

std::optional<uint64_t> last_run_ns(pid_t pid) {
  std::map<int, uint64_t> by_processor; // the last time that a thread ran there
  for (const pid_t tid : thread_ids(pid)) {
    const std::string folder = fmt::format("/proc/{}/task/{}/", pid, tid);
    const std::string stat = read_small_file(folder + "stat").value_or("");
    const char state = parse_state(stat);
    if (state == 'Z' || state == 'X')
      continue;
    const auto processor = parse_processor(stat);
    const auto start = parse_exec_start(read_small_file(folder + "sched").value_or(""));
    if (state != 't' || !processor || !start || *processor < 0)
      return std::nullopt;
    uint64_t &last = by_processor[*processor];
    last = std::max(last, *start);
  }
  if (by_processor.empty())
    return std::nullopt;
  std::optional<uint64_t> out;
  ReaderThread thread; // the debugger's own thread stays where it is
  ReaderProblem problem;
  const auto started = thread.start("tally-clock", [&] {
    problem.guarded([&] {
      uint64_t last = 0;
      const uint64_t begin = now_ns();
      for (const auto &[processor, start] : by_processor) {
        const auto lag = lag_of(processor);
        if (!lag || now_ns() - begin > longest_search_ns)
          return;
        last = std::max(last, static_cast<uint64_t>(static_cast<int64_t>(start) + *lag));
      }
      out = last;
    });
  });
  if (started)
    thread.join();
  return out;
}

} // namespace tally
