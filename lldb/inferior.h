// What happens to the process, told to the session. LLDB tells a plug-in nothing while a command
// waits for the process, so we look: before each command that lets it run on, and before each of
// ours. What must not wait for that, a thread sees through the kernel.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include <lldb/API/LLDB.h>

#include "actions.h"
#include "process_watch.h"
#include "session.h"

namespace tally_lldb {

// What LLDB is told by us is no command of the user's.
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
  explicit Inferior(Session &session) : session_(session), actions_(session) {}
  void connect(lldb::SBDebugger &debugger); // to the commands that change the process
  void close();                             // joins the threads

  // On the debugger's thread. Tells the session what has happened since it last looked; `news` are
  // the texts to be printed.
  struct News {
    std::string text, errors;
  };
  News look(lldb::SBDebugger &debugger);
  // After a command of ours: it may have begun or ended sampling, and the process may be running.
  News follow(lldb::SBDebugger &debugger);

  Actions &actions() { return actions_; }
  // Held by the thread of LLDB's that is in here. The watch's never is.
  std::recursive_mutex &mutex() { return mutex_; }

private:
  enum class Change : uint8_t { nothing, launch, run_on, resume, call, detach, kill };
  struct Hook {
    Inferior *owner;
    lldb::user_id_t debugger;
    Change change;
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
  static void show(lldb::SBDebugger &debugger, const News &news);
  // On the watch's thread; false: it is not the one.
  bool found(lldb::SBTarget target, int pid);
  bool found_unasked(int debugger, int pid);
  bool runs(const Event &resumed);
  void watch_for_unasked(lldb::SBDebugger &debugger);
  void tell(lldb::SBDebugger &debugger, const Event &event);
  void note(const Outcome &outcome);
  News take_news();
  void watch(lldb::SBProcess process);
  void settle(lldb::SBProcess process);
  void look_at_sampled(lldb::SBDebugger &debugger, int32_t pid);

  std::recursive_mutex mutex_;
  Session &session_;
  Actions actions_;
  ProcessWatch watch_;
  std::vector<Hook> hooks_; // LLDB holds pointers to them
  bool used_ = false;       // a command of ours was given

  std::atomic<bool> running_ = false; // the session was told that it runs
  std::atomic<uint32_t> told_stop_ = 0;
  uint32_t told_calls_ = 0; // stop id that counts stops of expressions, too
  uint64_t called_at_ns_ = 0;
  int last_signal_ = 0; // it last stopped by
  bool killing_ = false;
  uint32_t detached_ = 0; // the unique id of the newest process that was left
  int within_ = 0;        // a piece of our own work, in which LLDB is given commands
  Event launch_;          // of the process that is to come
  std::mutex news_mutex_;
  News news_;
};

} // namespace tally_lldb
