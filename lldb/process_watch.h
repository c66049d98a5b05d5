// A thread that watches a process through the kernel alone. LLDB tells a plug-in of no resume, stop
// or exit while a command waits for them, and its own objects are not for another thread then.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

namespace tally_lldb {

uint64_t now_ns(); // CLOCK_MONOTONIC

// A thread that gets no signals: the debugger's must find the debugger's own threads.
std::thread quiet_thread(std::function<void()> run);

// Looks again and again, for at most a second; whether it came true.
bool wait_until(const std::function<bool()> &is_true);

// Whether a signal waits for one of its threads.
bool has_pending(int pid, int signal);

int tracer_of(int pid); // 0: none

// How the process of a debugger of this process is debugged: by a server that is our child.
bool is_traced_by_child(int pid);

// Its path, and its command line with blanks between the words; empty where it has gone.
std::pair<std::string, std::string> program_of(int pid);

class ProcessWatch {
public:
  ProcessWatch() = default;
  ProcessWatch(const ProcessWatch &) = delete;
  ~ProcessWatch() { end(); }

  // From now on, until it has come or forget() is called: the first process that a new child of
  // ours traces. `found` is called by the thread while that stands at its very first instruction,
  // and is over when forget() returns; false: it is not the one, and is waited for on. It runs
  // `program`; empty: any.
  void expect(const std::string &program, std::function<bool(int pid)> found);
  // The same without a limit of time, for what no command launches; or, of a process that stands,
  // until it runs on.
  void expect_any(std::function<bool(int pid)> found);
  void expect_run(int pid, std::function<bool(int pid)> found);
  void forget();
  bool follows(int pid); // and the kernel tells of its end
  void follow(int pid);  // looks for what is below; 0: at nothing
  void end();            // joins the thread

  struct Seen {
    uint64_t left_ns = 0;    // when it first ran on since the last reset(); 0: it did not
    uint64_t stopped_ns = 0; // when it last stopped; after a run too short to be seen, about then;
                             // 0: it looks at nothing
    uint64_t died_ns = 0;    // 0: it lives
    std::optional<int> exit_code; // as waitpid() has it, where the kernel tells
  };
  Seen seen();
  void reset(); // it is about to run on

private:
  void run();
  int expected_process() const; // 0: not yet
  int new_child() const;
  void look_at_process();
  void begin_to_expect(std::function<bool(int pid)> found);
  void start_thread();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
  bool over_ = false;
  std::function<bool(int)> found_; // null: none is expected
  uint64_t expected_ = 0;          // changes with found_, but for its call
  bool telling_ = false;           // `found` is being called
  std::string program_;
  int expected_pid_ = 0; // 0: a new one
  bool for_ever_ = false;
  uint64_t expected_since_ns_ = 0;
  std::set<int> servers_before_;
  int pid_ = 0;
  int pidfd_ = -1;
  bool stands_ = true;
  Seen seen_;
};

} // namespace tally_lldb
