// Reports to the session what happens to the process. LLDB sends a plug-in no events while a
// command waits for the process. This class therefore looks at the process's state before each
// command that resumes it, and before each `profile` command. Where a look at these times would be
// too late, a thread watches the process through the kernel (ProcessWatch).
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include <lldb/API/LLDB.h>

#include "actions.h"
#include "process_watch.h"
#include "session.h"

namespace tally_lldb {

// Marks a scope in which the plug-in itself executes commands of LLDB, which the hooks must ignore.
class Within {
public:
  explicit Within(int &depth) : depth_(depth) { ++depth_; }
  Within(const Within &) = delete;
  ~Within() { --depth_; }

private:
  int &depth_;
};

class Inferior {
public:
  explicit Inferior(Session &session)
      : session_(session), actions_(session, [this](int pid) { return watch_.catch_up(pid); }) {}
  void connect(lldb::SBDebugger &debugger); // hooks into the commands that change the process
  void close();                             // joins the threads

  // Reports to the session what has happened since the last call, and returns the texts to print.
  // Call this on the debugger's thread.
  struct News {
    std::string text, errors;
  };
  News look(lldb::SBDebugger &debugger);
  // Updates the state after a `profile` command, which may have begun or ended sampling while the
  // process was running.
  News follow(lldb::SBDebugger &debugger);
  // From now on, look() reports the stops of a process that is not sampled, too. They are for
  // `coverage`, and take the time that reading the stacks takes.
  void report_all_stops() { unsampled_.is_reported = true; }

  Actions &actions() { return actions_; }
  // Returns the mutex that a thread of LLDB holds while it uses this object. The thread of the
  // watch never locks this mutex.
  std::recursive_mutex &mutex() { return mutex_; }

private:
  enum class Change : uint8_t { nothing, launch, run_on, resume, call, detach, kill };
  struct Hook {
    Inferior *owner;
    lldb::user_id_t debugger;
    Change change;
  };
  struct Reported {
    // Held while a stop or resume is reported. Whoever holds it may wait for the session, so that a
    // wait for this mutex is bounded.
    std::timed_mutex mutex;
    std::unique_lock<std::timed_mutex> lock() {
      return std::unique_lock(mutex, std::chrono::seconds(1));
    }
    std::atomic<bool> running = false; // the last event reported was a resume
    std::atomic<uint32_t> stop = 0;    // stop id of the last stop that was reported
    // The stop id of that stop, with the stops of expressions counted.
    std::atomic<uint32_t> calls = 0;
    std::atomic<int> signal = 0; // the signal of the last stop; 0 if there was none
    // No command has caused the run. Its end is reported while the process is held, because the
    // next resume may be unseen, too.
    std::atomic<bool> is_unasked = false;
  };
  // A stop, with the run before it, as LLDB tells.
  struct Stopped {
    Event run, stop;
    int signal = 0; // 0 if none stopped the process
  };
  // The last stop that was reported of a process that is not sampled.
  struct Unsampled {
    uint32_t process = 0; // its unique id
    uint32_t stop = 0, calls = 0;
    bool resumed = false;     // whether a command has resumed the process since
    bool is_reported = false; // whether stops are reported; see report_all_stops()
  };
  struct Watched {
    const char *command;
    Change change;
  };
  static const Watched watched[];
  static bool before(void *hook, const char **words) noexcept;
  bool before_command(lldb::SBDebugger &debugger, const Hook &hook, const char **words);
  bool before_launch(lldb::SBDebugger &debugger, const char **words);
  void before_resume(lldb::SBDebugger &debugger);
  void run_interrupted(lldb::SBDebugger &debugger, lldb::SBProcess process);
  // Called on the watch's thread. Return false if `pid` is not the expected process.
  bool found(lldb::SBTarget target, int pid);
  bool found_unasked(int debugger, int pid, bool is_new);
  bool runs(const Event &resumed);
  // Called on a thread that may wait for LLDB.
  void look_at_held(int debugger, int pid, uint64_t held);
  void end_at_limit(int debugger, int pid);
  void report_run(const Event &run, tally::Front &front); // unless a run has been reported
  void report_stop(const Stopped &stopped, const ProcessWatch::Seen &seen, tally::Front &front);
  void watch_for_unasked(lldb::SBDebugger &debugger);
  void watch_for_resume(int sampled);
  void report(lldb::SBDebugger &debugger, const Event &event);
  void note(const Outcome &outcome);
  News take_news();
  void watch(lldb::SBProcess process);
  void settle(lldb::SBProcess process);
  void look_at_unsampled(lldb::SBDebugger &debugger, lldb::SBProcess process);
  void look_at_sampled(lldb::SBDebugger &debugger, int32_t pid);

  std::recursive_mutex mutex_;
  Session &session_;
  Actions actions_;
  ProcessWatch watch_;
  std::vector<Hook> hooks_; // LLDB holds pointers to them
  bool used_ = false;       // a `profile` command was given

  Reported reported_;
  Unsampled unsampled_;
  uint64_t called_at_ns_ = 0; // when a command that may call a function began; 0 if none
  bool killing_ = false;      // the user has entered `process kill`
  uint32_t detached_ = 0;     // the unique id of the last detached process; 0 if none
  int within_ = 0;            // nesting depth of Within
  Event launch_;              // what to report when the launched process is found
  std::mutex news_mutex_;
  News news_;
};

} // namespace tally_lldb
