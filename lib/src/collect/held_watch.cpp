#include "collect/held_watch.h"

#include <algorithm>
#include <optional>
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
// A debugger that has stepped over its own breakpoint holds the process again within this time.
constexpr uint64_t longest_step_ns = 10'000'000;
constexpr uint64_t part_of_hold = 50; // a hold's end is known to a part of its length
constexpr uint64_t part_of_cpu = 10;  // looks use at most this part of a processor

// Returns the state of the thread whose stat file this is; 'X' if the thread has ended.
char state_of(const UniqueFd &stat) {
  char text[128]; // the name before the state has at most 64 bytes
  const ssize_t got = ::pread(stat.get(), text, sizeof text, 0);
  return got <= 0 ? 'X' : parse_state(std::string_view(text, static_cast<size_t>(got)));
}

} // namespace

void HeldWatch::watch(std::vector<pid_t> pids, uint64_t since_ns) {
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
  began_ns_ = 0;
  runs_.reset();
  problem_.guarded([&] {
    const uint64_t now = now_ns();
    if (are_held())
      open(since_ns == 0 ? now : std::min(since_ns, now), accounted(), 0);
  });
  // Without the thread, held time counts as running time.
  if (!pids_.empty() && !thread_.start("tally-held", [this] { look_until_stopped(); }))
    thread_.close();
}

void HeldWatch::look_until_stopped() {
  uint64_t interval_ns = between_looks_at_hold_ns;
  while (!stopping_ && problem_.empty()) {
    const timespec time{0, static_cast<long>(interval_ns)};
    pollfd wake{thread_.wake_fd(), POLLIN, 0};
    if (::ppoll(&wake, 1, &time, nullptr) != 0)
      continue; // it is time to stop, or a signal came
    problem_.guarded([&] {
      const uint64_t begin_ns = own_cpu_ns();
      const bool held = look();
      const uint64_t age_ns = held ? last_look_ns_ - std::min(last_look_ns_, held_since_ns_) : 0;
      interval_ns =
          !held && begins()
              ? between_looks_at_hold_ns
              : std::max({held ? between_looks_at_hold_ns : between_looks_ns, age_ns / part_of_hold,
                          (own_cpu_ns() - begin_ns) * part_of_cpu});
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

AccountedThreads HeldWatch::accounted() const {
  AccountedThreads out;
  for (const pid_t pid : pids_)
    out.merge(accounted_threads(pid));
  return out;
}

bool HeldWatch::begins() const {
  return began_ns_ == 0 || last_look_ns_ < began_ns_ + longest_step_ns;
}

bool HeldWatch::has_run(const AccountedThreads &threads) const {
  return threads.empty() || std::ranges::any_of(threads, [this](const auto &each) {
           const auto before = held_.find(each.first);
           return before == held_.end() || each.second.cpu_ns > before->second.cpu_ns;
         });
}

void HeldWatch::open(uint64_t since_ns, AccountedThreads threads, uint64_t missed_ns) {
  held_since_ns_ = since_ns;
  missed_ns_ = missed_ns;
  held_ = std::move(threads);
  times_->open(since_ns);
}

bool HeldWatch::look() {
  const uint64_t now = now_ns();
  bool held = are_held();
  if (held_since_ns_ == 0 && !held) {
    last_look_ns_ = now;
    began_ns_ = began_ns_ == 0 ? now : began_ns_;
    return false;
  }
  const uint64_t gap_ns = now - std::min(last_look_ns_, now);
  AccountedThreads threads = accounted();
  bool same = held_since_ns_ != 0 && held && threads == held_;
  // It goes on when it gets a processor, or runs and is not yet accounted for.
  const bool waits =
      !held && held_since_ns_ != 0 && begins() && !held_.empty() && !has_run(threads);
  if (waits)
    same = held = true;
  uint64_t since = now; // the begin of a new hold, or the end of this look
  if (held && !same) {
    since = 0;
    for (const pid_t pid : pids_)
      since = std::max(since, last_run_ns(pid).value_or(now));
    since = std::clamp(since, std::min(last_look_ns_, now), now);
  }
  if (held_since_ns_ != 0 && !same)
    close(since, threads, held);
  if (held && !same)
    open(since, std::move(threads), std::min(gap_ns, between_looks_ns));
  if (!waits)
    last_look_ns_ = now;
  if (!held && began_ns_ == 0)
    began_ns_ = now;
  return held;
}

// The hold ended after the last look, and before what a thread has run or waited for a processor
// until `until_ns`. If the process is held again, it ran for no longer than that. A run begins when
// the program gets a processor.
void HeldWatch::close(uint64_t until_ns, const AccountedThreads &threads, bool again) {
  const uint64_t since_look_ns = until_ns - std::min(until_ns, last_look_ns_);
  uint64_t most = 0;
  for (const auto &[tid, now] : threads)
    if (const auto found = held_.find(tid); found != held_.end()) {
      const Accounted &before = found->second;
      const uint64_t waited_ns = begins() ? 0 : now.waited_ns - before.waited_ns;
      most = std::max(most, now.cpu_ns - std::min(now.cpu_ns, before.cpu_ns) + waited_ns);
    }
  uint64_t least = again ? 0 : since_look_ns / 2;
  std::optional<uint64_t> begin;
  for (const pid_t pid : pids_)
    if (const auto first = again || !begins() ? std::nullopt : run_begin_ns(pid, held_))
      begin = std::min(begin.value_or(*first), *first);
  if (begin) {
    most = until_ns - std::min(until_ns, *begin);
    least = 0;
  }
  times_->close(until_ns - std::clamp(most, least, since_look_ns), again ? 0 : missed_ns_);
  held_since_ns_ = 0;
}

} // namespace tally
