#include "collect/processor_holders.h"

#include <algorithm>
#include <cerrno>
#include <exception>

#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/proc_info.h"
#include "support/clock.h"

namespace tally {

namespace {

// The time slice is shorter than those of other threads (1.4 ms and more), but long enough to send
// all signals: with 100 µs, the interrupted thread ran again before all signals were sent.
constexpr uint64_t slice_ns = 500'000;
// A thread that sleeps on an idle processor wakes within this time after its timer. A thread that
// must wait for a processor wakes later.
constexpr uint64_t most_late_ns = 80'000;
// The kernel switches within this time to a thread that does not have to wait.
constexpr uint64_t most_waited_ns = 2'000;
// The thread whose processor is to be taken runs there for at least this time before it is taken.
// When the sleeping thread moves to that processor, the other one is interrupted, too, but not at a
// random address: another processor requests it, and a system call that ends notices the request
// before the interrupt comes. Half of the samples were such ends where a tenth should have been.
constexpr uint64_t least_sleep_ns = 50'000;
// A holder gives its processor back after this time, even if it has not been released.
constexpr uint64_t most_held_ns = 3'000'000;

// The same as struct sched_attr of linux/sched/types.h, which conflicts with libc's header.
struct SchedulerAttributes {
  uint32_t size = sizeof(SchedulerAttributes);
  uint32_t policy = 0;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t slice_ns = 0;
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

// Returns how long the calling thread has waited for a processor since it began, or 0 if unknown.
uint64_t own_wait_ns() {
  const auto text = read_small_file("/proc/thread-self/schedstat");
  const auto counts = text ? parse_schedstat(*text) : std::nullopt;
  return counts ? counts->waited_ns : 0;
}

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

} // namespace

OnProcessor::OnProcessor(std::optional<int> processor) {
  if (!processor || *processor < 0 || *processor >= CPU_SETSIZE ||
      ::sched_getaffinity(0, sizeof before_, &before_) != 0)
    return;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<size_t>(*processor), &one);
  processor_ = *processor;
  moved_ = ::sched_setaffinity(0, sizeof one, &one) == 0;
}

bool OnProcessor::is_there() const { return moved_ && ::sched_getcpu() == processor_; }

OnProcessor::~OnProcessor() {
  if (moved_)
    ::sched_setaffinity(0, sizeof before_, &before_);
}

void ask_for_short_slices() {
  SchedulerAttributes attributes;
  if (::syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0)
    return;
  attributes.size = sizeof attributes;
  attributes.slice_ns = slice_ns;
  ::syscall(SYS_sched_setattr, 0, &attributes, 0); // may be refused
}

uint64_t times_preempted() {
  rusage use{};
  ::getrusage(RUSAGE_THREAD, &use);
  return static_cast<uint64_t>(use.ru_nivcsw);
}

bool sleep_on_time(uint64_t at_ns) {
  const timespec at{static_cast<time_t>(at_ns / 1'000'000'000),
                    static_cast<long>(at_ns % 1'000'000'000)};
  // Removes the slack of 50 µs that the kernel adds by default.
  const int slack = ::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
  ::prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  const uint64_t waited = own_wait_ns();
  const bool sleeps = now_ns() + least_sleep_ns <= at_ns;
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
  }
  const uint64_t now = now_ns();
  const bool on_time =
      sleeps && now <= at_ns + most_late_ns && own_wait_ns() - waited <= most_waited_ns;
  if (slack > 0)
    ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(slack), 0, 0, 0);
  return on_time;
}

ProcessorHolders::~ProcessorHolders() {
  release();
  ends_ = true;
  for (const auto &holder : holders_)
    holder->thread.wake();
  for (const auto &holder : holders_)
    holder->thread.join();
}

bool ProcessorHolders::add_holder() {
  holders_.reserve(holders_.size() + 1);
  auto holder = std::make_unique<Holder>();
  Holder &self = *holder;
  if (!self.thread.start("tally-holder", [this, &self] { body(self); }))
    return false;
  holders_.push_back(std::move(holder));
  return true;
}

void ProcessorHolders::take(std::span<const int> processors, uint64_t at_ns) {
  failed_ = left_ != taken_; // some holders have not noticed the end of the last round
  if (failed_)
    return;
  taken_ = 0;
  arrived_ = left_ = 0;
  late_ = lost_ = released_ = false;
  at_ns_ = at_ns;
  for (const int processor : processors.first(std::min(processors.size(), most))) {
    if (taken_ == holders_.size() && !add_holder())
      break; // without a holder, the thread on this processor is not held
    holders_[taken_]->processor = processor;
    holders_[taken_++]->thread.wake();
  }
}

bool ProcessorHolders::hold() const {
  const uint64_t until = at_ns_ + most_late_ns;
  while (!failed_ && !late_ && arrived_ != taken_ && now_ns() < until)
    pause_briefly();
  return !failed_ && arrived_ == taken_ && !late_; // in this order: a holder is late, then arrives
}

bool ProcessorHolders::holds() const { return !lost_; }

void ProcessorHolders::release() { released_ = true; }

void ProcessorHolders::body(Holder &self) {
  ask_for_short_slices();
  pollfd woken{self.thread.wake_fd(), POLLIN, 0};
  while (true) {
    if (::poll(&woken, 1, -1) < 0)
      continue;
    uint64_t times = 0;
    [[maybe_unused]] const ssize_t got = ::read(woken.fd, &times, sizeof times);
    if (ends_)
      return;
    hold_once(self.processor);
    ++left_;
  }
}

void ProcessorHolders::hold_once(int processor) {
  const OnProcessor here(processor);
  const uint64_t at = at_ns_;
  bool on_time = false;
  try {
    on_time = sleep_on_time(at) && here.is_there();
  } catch (const std::exception &) { // out of memory
  }
  const uint64_t preempted = times_preempted();
  if (!on_time)
    late_ = true;
  ++arrived_;
  while (on_time && !released_) {
    pause_briefly();
    if (times_preempted() != preempted || now_ns() > at + most_held_ns) {
      lost_ = true;
      return;
    }
  }
}

} // namespace tally
