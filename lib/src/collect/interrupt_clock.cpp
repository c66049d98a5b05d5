
#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/interrupt.h"
#include "collect/proc_info.h"
#include "collect/processor_use.h"
#include "support/clock.h"

namespace tally {

namespace {

// The clock stops waiting for a stop after this time. A stop does not come if the thread sleeps
// where no signal reaches it, or if a remote target loses the request, which happens to a request
// that arrives before the target runs.
constexpr uint64_t given_up_after_ns = 2'000'000'000;
// A request to a remote target is repeated after this time, and then each time after twice as long:
// a slow target answers each of them. Their stops may still come: for given_up_after_ns more, or
// for four times as long as the target did not answer, take() classifies them as stale.
constexpr uint64_t remote_repeated_after_ns = 250'000'000;

// A round that takes long makes the next wait longer, but not longer than this, so that even a slow
// machine is sampled now and then.
constexpr uint64_t longest_wait_ns = 1'000'000'000;

// Each of the two waits in interrupt() ends after about this time, so that its caller can react to
// the user in between.
constexpr uint64_t longest_look_away_ns = 50'000'000;
constexpr std::chrono::microseconds between_looks{100};

// A round is delayed by at most this number of periods while this thread does not get a processor
// on time.
constexpr uint64_t patient_periods = 4;
// During this part of the delay, the clock tries again and again, for about 0.2 ms each time, to
// hold the processors on which the process's threads run.
constexpr uint64_t most_beside_ns = 3'000'000;

// SIGURG and SIGWINCH are ignored by default: one that is still pending when the debugger detaches
// does not harm the process. A pending real-time signal would terminate it, but programs seldom
// begin to handle one of these.
constexpr int candidates[] = {SIGURG, SIGWINCH, 44, 43, 45, 42, 46, 41, 47, 40};
constexpr int real_time = candidates[2];

uint64_t bit_of(int signal) { return uint64_t{1} << (signal - 1); }

// Returns whether the thread waits for signals by their numbers (sigwait() and similar calls). Such
// a thread would receive our signal, and no debugger would see the stop.
bool waits_for_signals(pid_t pid, pid_t tid) {
  const auto text = read_small_file(fmt::format("/proc/{}/task/{}/syscall", pid, tid));
  return text && text->starts_with(fmt::format("{} ", SYS_rt_sigtimedwait));
}

enum class Can : uint8_t {
  be_interrupted,
  be_interrupted_while_it_runs,
  waits_for_processor,
  not_now,
  not_at_all,
};

// Determines whether the thread can be interrupted now. A signal to a thread that blocks it would
// stay pending and might be delivered when no debugger is attached any more. The same is true of a
// signal that is sent while the debugger holds the thread.
Can can_thread(pid_t pid, pid_t tid, int signal, const ProcessorUse &use) {
  const auto status = process_status(fmt::format("{}/task/{}", pid, tid));
  constexpr std::string_view runs = "RSDI"; // neither stopped, nor traced, nor dead
  if (!status || runs.find(status->state) == runs.npos)
    return Can::not_now;
  if ((status->signals_blocked & bit_of(signal)) != 0 ||
      (status->state == 'S' && waits_for_signals(pid, tid)))
    return Can::not_at_all;
  if (status->state != 'R')
    return Can::be_interrupted;
  switch (use.use_of(tid, *status)) {
  case ProcessorUse::Of::thread_that_runs:
    return Can::be_interrupted_while_it_runs;
  case ProcessorUse::Of::thread_that_ran:
    return Can::be_interrupted;
  case ProcessorUse::Of::thread_that_waits:
    break;
  }
  return Can::waits_for_processor;
}

} // namespace

int InterruptClock::free_signal(pid_t pid) {
  const auto process =
      pid == 0 ? std::optional<ProcessStatus>() : process_status(std::to_string(pid));
  if (!process)
    return real_time;
  const auto is_free = [&](int signal) { return (process->signals_caught & bit_of(signal)) == 0; };
  const auto *const found = std::ranges::find_if(candidates, is_free);
  return found != std::end(candidates) ? *found : real_time;
}

uint64_t InterruptClock::period_ns(pid_t pid, uint32_t frequency_hz) {
  const uint32_t most = pid == 0 ? most_remote_hz : most_native_hz;
  return 1'000'000'000 / std::clamp<uint32_t>(frequency_hz, 1, most);
}

void InterruptClock::set(pid_t pid, int signal, uint32_t frequency_hz) {
  const std::lock_guard lock(mutex_);
  pid_ = pid;
  signal_ = signal;
  pace_.set(period_ns(pid, frequency_hz));
  running_ = false;
  awaited_.clear();
  late_ = {};
  problem_.clear();
}

void InterruptClock::resumed() {
  const std::lock_guard lock(mutex_);
  running_ = true;
  round_.looking = false; // done() may be missing after an error
  pace_.resumed();
  since_ns_ = round_.sent_at_ns = now_ns();
}

void InterruptClock::stopped() {
  std::shared_ptr<ProcessorHolders> holders; // destroyed last: no join with the lock held
  const std::lock_guard lock(mutex_);
  if (std::exchange(running_, false))
    pace_.stopped_after(now_ns() - since_ns_);
  holders.swap(holders_);
  for (auto &[tid, each] : awaited_)
    each.stale = true;
  round_over_.notify_all();
}

bool InterruptClock::awaits_stop() const {
  const std::lock_guard lock(mutex_);
  const uint64_t now = now_ns();
  // A remote target may answer much later than it is asked, for example while GDB reads a library.
  const bool may_come = pid_ == 0 ? !awaited_.empty() : is_on_its_way(now);
  return round_.looking || may_come || (late_.stops != 0 && now <= late_.until_ns);
}

bool InterruptClock::is_on_its_way(uint64_t now) const {
  return std::ranges::any_of(awaited_, [&](const auto &each) {
    return !each.second.stale && now - each.second.sent_at_ns < given_up_after_ns;
  });
}

void InterruptClock::Pace::set(uint64_t period_ns) {
  period_ns_ = period_ns;
  cost_ns_ = earlier_cost_ns_ = ran_before_ns_ = rest_ns_ = 0;
}

void InterruptClock::Pace::round_took(uint64_t ns) {
  earlier_cost_ns_ = cost_ns_;
  cost_ns_ = ns;
  ran_before_ns_ = 0;
  first_wait_ = false;
}

static uint64_t wait_after(uint64_t cost_ns) {
  return std::min(cost_ns * InterruptClock::run_per_stop, longest_wait_ns);
}

// A single round may be slow because the debugger reads symbols. Until a run has had its first
// round, the faster one of the last two decides.
uint64_t InterruptClock::Pace::wait_after_cost_ns() const {
  return wait_after(first_wait_ ? std::min(cost_ns_, earlier_cost_ns_) : cost_ns_);
}

// The run before a round may take longer than the wait should, because the debugger reads a
// library's symbols in between. That time is not the program's, and does not count. The usual waits
// vary by ±50 % by chance. A round weighs what they take on average, which is more than a period if
// the cost excludes the shortest of them.
uint64_t InterruptClock::Pace::weigh(uint64_t ran_ns) {
  const uint64_t shortest = period_ns_ / 2, longest = period_ns_ + shortest;
  // A single round may be slow because the debugger reads symbols, whatever the program does. Its
  // one sample would stand for a large part of a short run.
  const uint64_t least = wait_after(std::min(cost_ns_, earlier_cost_ns_));
  if (least <= shortest)
    return 1;
  const auto average = [&] {
    const auto from = static_cast<double>(shortest), to = static_cast<double>(longest),
               at_least = static_cast<double>(least), period = static_cast<double>(period_ns_);
    return static_cast<uint64_t>(at_least * (at_least - from) / period +
                                 (to * to - at_least * at_least) / (2 * period));
  };
  const uint64_t all =
      rest_ns_ + (least > longest ? std::max(std::min(ran_before_ns_ + ran_ns, least), period_ns_)
                                  : average());
  rest_ns_ = all % period_ns_;
  return all / period_ns_;
}

uint64_t InterruptClock::Pace::next_wait_ns(uint64_t ran_ns) {
  // The wait varies by ±50 %. Otherwise an activity of the program with the same period would be
  // seen always or never.
  const uint64_t half = period_ns_ / 2;
  const uint64_t wait = std::uniform_int_distribution<uint64_t>(half, period_ns_ + half)(random_);
  // The time of earlier runs since the last round counts, too. Otherwise runs that are shorter than
  // this wait would never have a round.
  const uint64_t after_cost = wait_after_cost_ns();
  const uint64_t left = after_cost - std::min(after_cost, ran_before_ns_ + ran_ns);
  return std::max(wait - std::min(wait, ran_ns), left);
}

uint64_t InterruptClock::wait_ns() {
  const std::lock_guard lock(mutex_);
  const uint64_t now = now_ns();
  const bool runs = running_ && !round_.looking && !is_on_its_way(now);
  return pace_.next_wait_ns(runs ? now - since_ns_ : 0);
}

size_t InterruptClock::interrupt() {
  std::shared_ptr<ProcessorHolders> holders; // destroyed last: no join with the lock held
  std::unique_lock lock(mutex_);
  if (!problem_.empty())
    return given_up;
  if (!running_)
    return 0;
  try {
    if (pid_ == 0)
      return interrupt_remote();
    if (!holders_)
      holders_ = std::make_shared<ProcessorHolders>();
    holders = holders_;
    const size_t sent = interrupt_threads(lock, *holders);
    wait_for_round(lock);
    return sent;
  } catch (const std::exception &) {
    return 0; // out of memory: a later round may succeed
  }
}

size_t InterruptClock::interrupt_remote() {
  const uint64_t now = now_ns();
  // The debugger still reads the stacks of the last stop. The time limit ends a round whose done()
  // never comes.
  if (round_.looking && now - round_.sent_at_ns < given_up_after_ns)
    return 0;
  uint64_t first_at = now;
  if (const auto at = awaited_.find(any_thread); at != awaited_.end()) {
    const Awaited &last = at->second;
    if (now - last.sent_at_ns <
        std::max(remote_repeated_after_ns, last.sent_at_ns - last.first_at_ns))
      return 0;
    if (!last.stale)
      first_at = last.first_at_ns;
    late_ = {late_.stops + 1, now + std::max(given_up_after_ns, 4 * (now - last.first_at_ns))};
  }
  awaited_.insert_or_assign(any_thread, Awaited{now, false, first_at});
  round_.sent_at_ns = now;
  round_.counted = round_.looking = false;
  return 1;
}

InterruptClock::Choice InterruptClock::choose(std::span<const pid_t> tids,
                                              const ProcessorUse &use) const {
  Choice out;
  for (const pid_t tid : tids) {
    if (awaited_.contains(tid))
      continue;
    const Can can = can_thread(pid_, tid, signal_, use);
    out.missed += can == Can::not_at_all;
    out.queued += can == Can::waits_for_processor;
    out.one_runs |= can == Can::be_interrupted_while_it_runs;
    if (can == Can::be_interrupted || can == Can::be_interrupted_while_it_runs)
      out.tids.push_back(tid);
  }
  return out;
}

// Waits for a moment in which the threads can be interrupted, and chooses those to interrupt. The
// samples must not depend on when the scheduler gave this thread a processor. If the processor is
// always given late, a late round is better than none. Returns nothing if the process does not run
// any more.
std::optional<InterruptClock::Choice>
InterruptClock::wait_for_chance(std::unique_lock<std::mutex> &lock, ProcessorUse &use,
                                std::span<const pid_t> tids) {
  const pid_t pid = pid_;
  const uint64_t begin = now_ns();
  const uint64_t patience = std::min(patient_periods * pace_.period_ns(), longest_look_away_ns);
  for (uint64_t now = begin;; now = now_ns()) {
    // Other threads may keep the processors of the program's threads busy for a long time.
    const bool beside = now - begin < std::min(patience / 4 * 3, most_beside_ns);
    lock.unlock();
    const bool on_time = use.sleep_briefly(tids, beside);
    lock.lock();
    if (!running_ || pid_ != pid)
      return std::nullopt;
    const bool last = now_ns() - begin > patience;
    if (!on_time && !last)
      continue;
    Choice chosen = choose(tids, use);
    const bool undisturbed = use.is_undisturbed() && !(beside && chosen.one_runs);
    chosen.held = on_time && beside && undisturbed;
    if (last || undisturbed)
      return chosen;
  }
}

// Waits until the round is over and the process runs again. The kernel's state of the thread that
// stopped last shows when the debugger has resumed it.
void InterruptClock::wait_for_round(std::unique_lock<std::mutex> &lock) {
  const uint64_t begin = now_ns();
  const auto is_over = [&] { return !running_ || (!round_.looking && !is_on_its_way(now_ns())); };
  if (!round_over_.wait_for(lock, std::chrono::nanoseconds(longest_look_away_ns), is_over))
    return;
  bool stopped = round_.counted;
  while (running_ && stopped && now_ns() - begin < longest_look_away_ns) {
    const std::string path = fmt::format("{}/task/{}", pid_, round_.looked_at);
    lock.unlock();
    const auto status = process_status(path);
    stopped = status && status->state == 't';
    if (stopped)
      std::this_thread::sleep_for(between_looks);
    lock.lock();
  }
  since_ns_ = now_ns();
  if (running_ && std::exchange(round_.counted, false))
    pace_.round_took(since_ns_ - round_.sent_at_ns);
}

size_t InterruptClock::interrupt_threads(std::unique_lock<std::mutex> &lock,
                                         ProcessorHolders &holders) {
  const auto process = process_status(std::to_string(pid_));
  if (!process)
    return 0;
  if ((process->signals_caught & bit_of(signal_)) != 0) {
    problem_ = fmt::format("the program itself handles {}, the signal that is to interrupt it",
                           signal_name(signal_));
    return given_up;
  }
  const std::vector<pid_t> tids = thread_ids(pid_);
  // GDB may have consumed a stop without a call of take(): such a stop does not come any more.
  const auto is_over = [&, now = now_ns()](const auto &each) {
    if (now - each.second.sent_at_ns < given_up_after_ns)
      return false;
    const auto status = process_status(fmt::format("{}/task/{}", pid_, each.first));
    return !status || (status->signals_pending & bit_of(signal_)) == 0;
  };
  std::erase_if(awaited_, is_over);
  // Each thread gets one signal at a time, and a round begins only after the previous one is over.
  if (is_on_its_way(now_ns()))
    return 0;
  ProcessorUse use(pid_, holders);
  const std::optional<Choice> chosen = wait_for_chance(lock, use, tids);
  if (!chosen)
    return 0;
  if (chosen->tids.empty()) { // no stop will tell how much the round weighs
    counts_.missed += chosen->missed;
    counts_.queued += chosen->queued;
  }
  // Send all signals before the debugger sees the first stop, because it then stops the other
  // threads itself.
  round_.sent_at_ns = use.taken_ns();
  round_.counted = round_.looking = false;
  round_.held = chosen->held;
  round_.missed = chosen->missed;
  round_.queued = chosen->queued;
  size_t sent = 0;
  for (const pid_t tid : chosen->tids) {
    awaited_.emplace(tid, Awaited{round_.sent_at_ns, false});
    if (::syscall(SYS_tgkill, pid_, tid, signal_) == 0)
      ++sent;
    else
      awaited_.erase(tid);
  }
  return sent;
}

InterruptClock::Stop InterruptClock::take(pid_t tid) {
  const std::lock_guard lock(mutex_);
  const auto at = awaited_.find(tid);
  if (at == awaited_.end()) {
    if (now_ns() > late_.until_ns)
      late_ = {}; // the requests are lost
    if (late_.stops == 0)
      return Stop::theirs;
    --late_.stops;
    return Stop::stale;
  }
  const bool stale = at->second.stale;
  awaited_.erase(at);
  if (stale)
    return Stop::stale;
  if (!round_.counted) {
    ++counts_.rounds;
    counts_.unheld += round_.held ? 0 : 1;
    round_.weight = pace_.weigh(round_.sent_at_ns - std::min(round_.sent_at_ns, since_ns_));
    counts_.periods += round_.weight;
    counts_.missed += round_.missed * round_.weight;
    counts_.queued += round_.queued * round_.weight;
  }
  round_.counted = round_.looking = true;
  round_.looked_at = tid;
  return Stop::ours;
}

void InterruptClock::withdraw() {
  const std::lock_guard lock(mutex_);
  awaited_.erase(any_thread);
}

void InterruptClock::done() {
  const std::lock_guard lock(mutex_);
  round_.looking = false;
  round_over_.notify_all();
  if (pid_ != 0)
    return;
  since_ns_ = now_ns();
  pace_.round_took(since_ns_ - round_.sent_at_ns);
}

uint64_t InterruptClock::weight() const {
  const std::lock_guard lock(mutex_);
  return round_.weight;
}

uint64_t InterruptClock::periods() const {
  const std::lock_guard lock(mutex_);
  return counts_.periods;
}

uint64_t InterruptClock::rounds() const {
  const std::lock_guard lock(mutex_);
  return counts_.rounds;
}

uint64_t InterruptClock::missed() const {
  const std::lock_guard lock(mutex_);
  return counts_.missed;
}

uint64_t InterruptClock::queued() const {
  const std::lock_guard lock(mutex_);
  return counts_.queued;
}

uint64_t InterruptClock::unheld() const {
  const std::lock_guard lock(mutex_);
  return counts_.unheld;
}

void InterruptClock::clear() {
  const std::lock_guard lock(mutex_);
  counts_ = {};
}

std::string InterruptClock::problem() const {
  const std::lock_guard lock(mutex_);
  return problem_;
}

} // namespace tally
