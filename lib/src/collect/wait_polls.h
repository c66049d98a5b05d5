// Measures from outside how long threads wait, where the kernel may not record their switches.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "collect/run_delay.h"
#include "collect/wait_look.h"

namespace tally {

// The kernel's account of a thread (schedstat) shows how long it ran and how long it was queued;
// the rest of the time it waited, or was held by a debugger. Where it waits at a look, its stack
// shows for what: this stands for all its waits since the look before. So the times are exact, and
// the stacks are samples.
class WaitPolls {
public:
  static constexpr int interval_ms = 10;

  struct Spent {
    pid_t tid = 0;
    uint64_t at_ns = 0, wait_ns = 0, queued_ns = 0; // until at_ns
    std::span<const uint64_t> stack;                // empty if the thread was not seen waiting
  };
  using Add = std::function<void(const Spent &)>;
  // Returns the stack of a thread that was seen.
  using Unwind = std::function<std::vector<uint64_t>(pid_t tid, const WaitLook::Seen &seen)>;

  // Returns for how long a debugger held the process until a time. It may learn of that late.
  using Held = std::function<uint64_t(uint64_t at_ns)>;

  WaitPolls(pid_t pid, Held held, RunDelay::Read read = RunDelay::from_proc())
      : look_(pid), held_(std::move(held)), read_(std::move(read)) {}

  // Looks at all threads of the process, which is `held` if a debugger has stopped it since.
  void poll(std::span<const pid_t> tids, bool held, const Unwind &unwind, const Add &add);
  // The time until now does not count.
  void restart();

private:
  struct Thread {
    RunDelay::Account read;
    // The wait that was counted too much, because the account of a thread that runs comes late.
    int64_t ahead_ns = 0;
    std::vector<uint64_t> stack; // while it waits
    uint64_t round = 0;          // of the last poll
  };

  // Returns for how long the process was held since the last call.
  int64_t newly_held();

  WaitLook look_;
  Held held_;
  RunDelay::Read read_;
  std::unordered_map<pid_t, Thread> threads_;
  uint64_t round_ = 0;
  uint64_t held_ns_ = 0; // at the last call of newly_held()
};

} // namespace tally
