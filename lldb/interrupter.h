// Interrupts the process in a running `process continue`, and looks where it stands.
//
// Of a process of this machine each thread gets a signal that stops it, which it never sees; a
// remote one is interrupted as Ctrl-C does it. The command is done by us: on over each stop that is
// only ours, back to the user at the first that is not.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include <lldb/API/LLDB.h>

#include "session.h"
#include "signals.h"

namespace tally_lldb {

class Interrupter {
public:
  Interrupter(Session &session, Signals &signals) : session_(session), signals_(signals) {}
  void begin(const std::vector<int32_t> &signals, bool with_callers);
  void end();
  bool is_on() const { return on_; }

  // Before the process is left: a signal of ours that waits for a thread could end it then.
  void take_pending(lldb::SBDebugger &debugger, lldb::SBProcess process);
  // Lets the process run on until it stops for the user; "" or why it could not run on.
  std::string run(lldb::SBDebugger &debugger, lldb::SBProcess process, Performer &performer);

private:
  class Ticking;
  void tick(lldb::SBProcess process); // the thread
  // Whether all threads stopped by our own doing; what they were at then is counted.
  bool is_ours(lldb::SBProcess &process, Performer &performer);
  std::vector<uint64_t> pcs_of(lldb::SBThread thread) const;

  Session &session_;
  Signals &signals_;
  bool on_ = false;
  int signal_ = 0; // 0: of a remote process
  bool with_callers_ = true;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::atomic<bool> asked_by_user_ = false;
  std::atomic<bool> given_up_ = false;
};

} // namespace tally_lldb
