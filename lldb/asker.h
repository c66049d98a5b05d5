// A thread that calls LLDB while no command of the plug-in runs. A client of LLDB's API that waits
// for the process holds LLDB's lock, so such a call may wait as long as the process runs.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>

namespace tally_lldb {

class Asker {
public:
  Asker() = default;
  Asker(const Asker &) = delete;
  ~Asker() { end(); }

  // Calls `question` on the thread. Returns false, and does nothing, while the thread is still in
  // an earlier call.
  bool ask(std::function<void()> question);
  // Joins the thread. A thread that waits for LLDB for more than a second is left to wait, because
  // LLDB's lock may be held by the caller. What `question` uses must therefore live for ever.
  void end();

private:
  // The thread owns it, too, because the thread may outlive this object.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void()> question; // null if the thread waits for one
    bool over = false;
    bool is_done = false; // the thread calls nothing any more
  };
  static void run(State &state);

  std::shared_ptr<State> state_;
  std::thread thread_;
};

} // namespace tally_lldb
