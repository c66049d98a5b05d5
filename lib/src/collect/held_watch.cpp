#include "collect/held_watch.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "collect/last_run.h"
#include "collect/proc_info.h"
#include "support/clock.h"

namespace tally {

namespace {

constexpr uint64_t between_looks_ns = 2'000'000;
constexpr uint64_t between_looks_at_hold_ns = 500'000;
constexpr uint64_t longest_between_looks_ns = 900'000'000;
constexpr uint64_t part_of_hold = 50; // a hold's end is known to a part of its length
constexpr uint64_t part_of_cpu = 10;  // looks use at most this part of a processor

// Returns the state of the thread whose stat file this is; 'X' if the thread has ended.
char state_of(const UniqueFd &stat) {
  char text[128]; // the name before the state has at most 64 bytes
  const ssize_t got = ::pread(stat.get(), text, sizeof text, 0);
  return got <= 0 ? 'X' : parse_state(std::string_view(text, static_cast<size_t>(got)));
}

} // namespace

void HeldWatch::watch(std::vector<pid_t> pids) {
  if (pids == pids_)
    return;
  if (thread_.runs()) {
    stopping_ = true;
    thread_.join();
    thread_.close();
    if (held_since_ns_ != 0) // a busy machine may have kept the thread from the look at its end
      problem_.guarded([this] { look(); });
    if (held_since_ns_ != 0 && !pids.empty())
      times_->close(now_ns()); // another process is watched, too, and both are held now
    times_->drop_open();
  }
  problem_ = {};
  pids_ = std::move(pids);
  stopping_ = false;
  held_since_ns_ = 0;
  last_look_ns_ = now_ns();
  runs_.reset();
  // Without the thread, held time counts as running time.
  if (!pids_.empty() && !thread_.start("tally-held", [this] { look_until_stopped(); }))
    thread_.close();
}

void HeldWatch::look_until_stopped() {
  uint64_t interval_ns = between_looks_ns;
  while (!stopping_ && problem_.empty()) {
    const timespec time{0, static_cast<long>(interval_ns)};
    pollfd wake{thread_.wake_fd(), POLLIN, 0};
    if (::ppoll(&wake, 1, &time, nullptr) != 0)
      continue; // it is time to stop, or a signal came
    problem_.guarded([&] {
      const uint64_t begin_ns = own_cpu_ns();
      const bool held = look();
      const uint64_t age_ns = held ? last_look_ns_ - std::min(last_look_ns_, held_since_ns_) : 0;
      interval_ns = std::max({held ? between_looks_at_hold_ns : between_looks_ns,
                              age_ns / part_of_hold, (own_cpu_ns() - begin_ns) * part_of_cpu});
      interval_ns = std::min(interval_ns, longest_between_looks_ns);
    });
  }
}

bool HeldWatch::are_held() {
  // Usually the thread that ran before runs still.
  if (const char state = runs_.get() < 0 ? 'X' : state_of(runs_);
      state != 't' && state != 'X' && state != 'Z')
    return false;
  bool some = false;
  for (const pid_t pid : pids_)
    for (const pid_t tid : thread_ids(pid)) {
      UniqueFd stat(
          ::open(fmt::format("/proc/{}/task/{}/stat", pid, tid).c_str(), O_RDONLY | O_CLOEXEC));
      const char state = stat.get() < 0 ? 'X' : state_of(stat);
      if (state == 't') {
        some = true;
      } else if (state != 'X' && state != 'Z') {
        runs_ = std::move(stat);
        return false;
      }
    }
  return some;
}

std::map<pid_t, uint64_t> HeldWatch::active_ns() const {
  std::map<pid_t, uint64_t> out;
  for (const pid_t pid : pids_)
    for (const pid_t tid : thread_ids(pid))
      if (const auto counts = parse_schedstat(
              read_small_file(fmt::format("/proc/{}/task/{}/schedstat", pid, tid)).value_or("")))
        out[tid] = counts->cpu_ns + counts->waited_ns;
  return out;
}

bool HeldWatch::look() {
  const uint64_t now = now_ns();
  const bool held = are_held();
  if (held_since_ns_ == 0 && !held) {
    last_look_ns_ = now;
    return false;
  }
  const uint64_t gap_ns = now - std::min(last_look_ns_, now);
  std::map<pid_t, uint64_t> active = active_ns();
  const bool same = held && held_since_ns_ != 0 && active == held_active_ns_;
  uint64_t since = now; // the begin of a new hold, or the end of this look
  if (held && !same) {
    since = 0;
    for (const pid_t pid : pids_)
      since = std::max(since, last_run_ns(pid).value_or(now));
    since = std::clamp(since, std::min(last_look_ns_, now), now);
  }
  if (held_since_ns_ != 0 && !same)
    close(since, active, held);
  if (held && !same) {
    held_since_ns_ = since;
    missed_ns_ = std::min(gap_ns, between_looks_ns);
    held_active_ns_ = std::move(active);
    times_->open(since);
  }
  last_look_ns_ = now;
  return held;
}

// The hold ended after the last look, and before what a thread has run or waited for a processor
// until `until_ns`. If the process is held again, it ran for no longer than that.
void HeldWatch::close(uint64_t until_ns, const std::map<pid_t, uint64_t> &active, bool again) {
  uint64_t most = 0;
  for (const auto &[tid, ns] : active)
    if (const auto before = held_active_ns_.find(tid); before != held_active_ns_.end())
      most = std::max(most, ns - std::min(ns, before->second));
  const uint64_t since_look_ns = until_ns - std::min(until_ns, last_look_ns_);
  const uint64_t ran_ns = std::clamp(most, again ? 0 : since_look_ns / 2, since_look_ns);
  times_->close(until_ns - ran_ns, again ? 0 : missed_ns_);
  held_since_ns_ = 0;
}

} // namespace tally
