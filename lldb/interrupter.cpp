#include "interrupter.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>

#include <signal.h>

#include "interpreter.h"
#include "process_watch.h"
#include "stop.h"

namespace tally_lldb {

namespace {

constexpr int most_pending = 1000; // signals, at most one for each thread
constexpr std::chrono::milliseconds longest_look_away{TALLY_LIMIT_SIGINT_MS};
constexpr std::chrono::milliseconds between_requests{200}; // LLDB loses early requests

// Returns whether the thread is only at LLDB's internal breakpoints, for example the breakpoint for
// loaded libraries.
bool is_at_lldbs_own(lldb::SBThread &thread) {
  const auto count = static_cast<uint32_t>(thread.GetStopReasonDataCount());
  // If there are no data, a one-shot breakpoint of the user stopped the thread and is now deleted.
  bool own = thread.GetStopReason() == lldb::eStopReasonBreakpoint && count > 0;
  for (uint32_t i = 0; own && i < count; i += 2) // pairs of breakpoint id and location id
    own = static_cast<lldb::break_id_t>(thread.GetStopReasonDataAtIndex(i)) < 0;
  return own;
}

// Returns whether an interrupt may have stopped this thread of a remote process. The thread's stop
// reason is then the signal that the stub reports, an internal breakpoint of LLDB, a step over that
// breakpoint, or nothing.
bool may_be_interrupt(lldb::SBThread thread) {
  const int number = signal_of(thread);
  return number == SIGINT || number == SIGSTOP ||
         thread.GetStopReason() <= lldb::eStopReasonTrace || is_at_lldbs_own(thread);
}

// Waits for the end of a run for which LLDB has stopped to wait: on a busy machine, LLDB 14
// sometimes calls a process that runs one that cannot be resumed. Returns whether the process ran,
// and has stopped, which the interrupts bring about many times a second.
bool wait_for_stop(const lldb::SBProcess &process) {
  if (!is_running(process))
    return false;
  return wait_until([&] { return !is_running(process); });
}

} // namespace

void Interrupter::begin(int32_t signal, bool with_callers) {
  signal_ = signal;
  with_callers_ = with_callers;
  given_up_ = false;
  on_ = true;
}

void Interrupter::end() { on_ = false; }

// Runs the ticker's thread within a scope. The thread ends even if an exception leaves the scope.
class Interrupter::Ticking {
public:
  Ticking(Interrupter &owner, const lldb::SBProcess &process, const std::function<void()> &look)
      : owner_(owner) {
    owner_.over_ = owner_.asked_by_user_ = false;
    thread_ = quiet_thread([&owner, process, &look] { owner.tick(process, look); });
    library().tally_sigint_watch(1);
  }
  Ticking(const Ticking &) = delete;
  ~Ticking() {
    library().tally_sigint_watch(0);
    {
      const std::lock_guard lock(owner_.mutex_);
      owner_.over_ = true;
      owner_.changed_.notify_all();
    }
    thread_.join();
  }

private:
  Interrupter &owner_;
  std::thread thread_;
};

std::string Interrupter::run(lldb::SBDebugger &debugger, lldb::SBProcess process,
                             tally::Front &front, const std::function<void()> &look) {
  const Synchronous synchronous(debugger);
  if (signal_ != 0)
    signals_.handle(process, signal_, {true, true, false});
  std::string refused;
  {
    const Ticking ticking(*this, process, look);
    do {
      const lldb::SBError error = process.Continue();
      if (error.Fail() && !wait_for_stop(process)) {
        refused = error.GetCString() ? error.GetCString() : "the process cannot be resumed";
        break;
      }
      if (given_up_)
        signals_.restore(); // the program gets the signal again
      // After Ctrl-C, an interrupt that was already sent may arrive first. In a remote process the
      // two cannot be distinguished.
    } while (is_ours(process, front) && !(asked_by_user_ && signal_ == 0));
  }
  // A signal that is still on its way must reach neither the user nor the program.
  if (signal_ != 0 && !given_up_)
    signals_.handle(process, signal_, {true, false, false});
  return refused;
}

void Interrupter::take_pending(lldb::SBDebugger &debugger, lldb::SBProcess process) {
  const Synchronous synchronous(debugger);
  const int pid = static_cast<int>(process.GetProcessID());
  for (int i = 0; signal_ != 0 && i < most_pending && is_stopped(process); ++i) {
    if (!has_pending(pid, signal_))
      return;
    signals_.handle(process, signal_, {true, true, false});
    process.Continue();
  }
}

void Interrupter::tick(lldb::SBProcess process, const std::function<void()> &look) {
  using namespace std::chrono;
  std::unique_lock lock(mutex_);
  while (!over_) {
    const auto until = steady_clock::now() + nanoseconds(session_.clock().tick_wait_ns());
    while (!over_ && !asked_by_user_ && steady_clock::now() < until) {
      changed_.wait_until(lock, std::min(until, steady_clock::now() + longest_look_away));
      if (library().tally_sigint_seen() != 0)
        asked_by_user_ = true;
      try {
        look();
      } catch (const std::exception &) {
        asked_by_user_ = true; // out of memory: stop rather than run for ever
      }
    }
    if (over_)
      return;
    if (asked_by_user_) {
      process.SendAsyncInterrupt();
      changed_.wait_for(lock, between_requests);
      continue;
    }
    lock.unlock(); // the call lasts as long as the round of interrupts
    const size_t sent = session_.clock().tick_interrupt();
    lock.lock();
    given_up_ = sent == TALLY_TICK_GIVEN_UP;
    if (given_up_)
      return;
    if (over_) { // the process has stopped meanwhile
      if (sent > 0 && signal_ == 0)
        session_.clock().tick_withdraw();
      return;
    }
    if (sent > 0 && signal_ == 0)
      process.SendAsyncInterrupt();
  }
}

bool Interrupter::is_ours(lldb::SBProcess &process, tally::Front &front) {
  if (!is_stopped(process))
    return false;
  std::vector<SeenThread> seen;
  const auto see = [&](lldb::SBThread thread) {
    const char *const name = thread.GetName();
    seen.push_back({static_cast<int32_t>(thread.GetThreadID()), name ? name : "",
                    pcs_of(thread, with_callers_ ? TALLY_LIMIT_STACK_FRAMES : 1)});
  };
  bool ours_alone = true;
  for (uint32_t i = 0; i < process.GetNumThreads(); ++i) {
    lldb::SBThread thread = process.GetThreadAtIndex(i);
    if (signal_ == 0) {
      ours_alone &= may_be_interrupt(thread);
    } else if (thread.GetStopReason() > lldb::eStopReasonNone) {
      const int whose = signal_of(thread) == signal_
                            ? session_.clock().tick_take(static_cast<int32_t>(thread.GetThreadID()))
                            : TALLY_TICK_THEIRS;
      // If the signal is not from the interrupter, the process stops for the user only if the
      // user's setting for the signal says so.
      ours_alone &= whose != TALLY_TICK_THEIRS ||
                    (signal_of(thread) == signal_ && !signals_.stops(process, signal_));
      if (whose == TALLY_TICK_OURS)
        see(thread);
    }
  }
  if (signal_ == 0 && ours_alone) {
    const int whose = session_.clock().tick_take(0);
    ours_alone = whose != TALLY_TICK_THEIRS;
    for (uint32_t i = 0; whose == TALLY_TICK_OURS && i < process.GetNumThreads(); ++i)
      see(process.GetThreadAtIndex(i));
  }
  if (!seen.empty())
    session_.tick(seen, front);
  return ours_alone;
}

} // namespace tally_lldb
