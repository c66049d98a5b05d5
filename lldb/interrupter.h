// Samples a process by interrupting it periodically within a running `process continue`.
//
// In a local process each thread gets a signal that stops it and that LLDB does not pass on to the
// program. A remote process is interrupted in the way that Ctrl-C does. The plug-in itself executes
// `process continue`: it resumes the process after each stop that only its interrupts have caused,
// and returns to the user at the first other stop.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <lldb/API/LLDB.h>

#include "session.h"
#include "signals.h"

namespace tally_lldb {

class Interrupter {
public:
  Interrupter(Session &session, Signals &signals) : session_(session), signals_(signals) {}
  // Interrupts local processes by the signal, which is 0 for a remote process.
  void begin(int32_t signal, bool with_callers);
  void end();
  bool is_on() const { return on_; }

  // Removes the interrupter's pending signals. Call this before a detach: afterwards, such a signal
  // could end the process.
  void take_pending(lldb::SBDebugger &debugger, lldb::SBProcess process);
  // Resumes the process until it stops for the user. Returns "", or the reason if it could not be
  // resumed. Meanwhile a thread calls `look` at least every 50 ms.
  std::string run(lldb::SBDebugger &debugger, lldb::SBProcess process, tally::Front &front,
                  const std::function<void()> &look);
  void stop_for_user() { asked_by_user_ = true; } // `look` may call this

private:
  class Ticking;
  // The body of the ticker's thread.
  void tick(lldb::SBProcess process, const std::function<void()> &look);
  // Returns whether only interrupts have stopped the threads, and records where they are stopped.
  bool is_ours(lldb::SBProcess &process, tally::Front &front);

  Session &session_;
  Signals &signals_;
  std::atomic<bool> on_ = false; // another thread asks for it
  int signal_ = 0;               // 0 for a remote process
  bool with_callers_ = true;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;                       // the ticker's thread is to end
  std::atomic<bool> asked_by_user_ = false; // Ctrl-C was pressed
  std::atomic<bool> given_up_ = false;      // the program uses the signal itself
};

} // namespace tally_lldb
