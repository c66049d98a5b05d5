// A thread that watches a process through the kernel alone. LLDB reports no resume, stop or exit to
// a plug-in while a command waits for them, and during such a wait another thread must not use
// LLDB's objects.
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

#include <time.h>

#include "asker.h"

namespace tally_lldb {

uint64_t now_ns(clockid_t clock = CLOCK_MONOTONIC);

// Starts a thread with all signals blocked, so that the debugger's own threads receive its signals.
std::thread quiet_thread(std::function<void()> run);

// Polls a condition for at most one second. Returns whether it became true.
bool wait_until(const std::function<bool()> &is_true);

// Returns whether the signal is pending for one of the process's threads.
bool has_pending(int pid, int signal);

int tracer_of(int pid); // 0 if the process is not traced

// Returns since when a process that its tracer has launched runs, as far as its CPU time shows.
// Returns 0 if it is stopped, or if its tracer has attached to it.
uint64_t runs_since(int pid);

// Returns whether a child of this process traces `pid`. LLDB debugs a local process through a
// server, which is its child.
bool is_traced_by_child(int pid);

// Returns the path of the process's program, and its command line with blanks between the words.
// Both are empty if the process is gone.
std::pair<std::string, std::string> program_of(int pid);

class ProcessWatch {
public:
  ProcessWatch() = default;
  ProcessWatch(const ProcessWatch &) = delete;
  ~ProcessWatch() { end(); }

  // Waits for the first process that a new child of this process traces and that runs `program`
  // (empty means any). The wait ends after 20 seconds, or at forget(). The thread calls `found`
  // while the process is still stopped at its first instruction. If `found` returns false, the
  // process is not the expected one, and the wait continues.
  void expect(const std::string &program, std::function<bool(int pid)> found);
  // Both wait without a time limit: expect_any() for a launch that no command causes, or for the
  // first run after such an attach, expect_run() for the next resume of a stopped process.
  void expect_any(std::function<bool(int pid)> found);
  void expect_run(int pid, std::function<bool(int pid)> found);
  void forget(); // ends the wait; no call of `found` is running when it returns
  // Waits, for at most a second, until the thread has found the expected process. Call this where
  // `pid` has run before the thread has seen it, as on a busy machine. Returns whether the thread
  // has found a process.
  bool catch_up(int pid);
  bool follows(int pid); // returns whether `pid` is followed and a pidfd will report its end
  void follow(int pid);  // begins to update seen(); 0 follows no process
  void end();            // joins the thread

  struct Seen {
    // When the process was first noticed to have resumed since the last reset(); 0 if it has not.
    uint64_t left_ns = 0;
    uint64_t stopped_ns = 0;       // when it last stopped; an estimate if no run has been noticed;
                                   // 0 if no process is followed
    uint64_t died_ns = 0;          // 0 if the process is alive
    std::optional<int> exit_code;  // the status of waitpid(), if the kernel reports it
    bool awaits_exit_code = false; // the process is dead, and its parent has not asked yet
  };
  Seen seen();
  void reset(); // call this before the process resumes

  // A stop after a run that began since the last reset(). `is_held` is called when such a stop has
  // lasted for 20 ms, and again while it lasts, at doubling intervals, on a thread that may wait
  // for LLDB. Call this before follow().
  void when_held(std::function<void(int pid, uint64_t stop)> is_held);
  // Returns seen(), and resets it, if the process is still in that stop.
  std::optional<Seen> take(uint64_t stop);
  // While the process runs, `is_due` is called every few milliseconds. It must not wait. When it
  // returns true, `act` is called on a thread that may wait for LLDB. Call this before follow().
  void when_due(std::function<bool()> is_due, std::function<void(int pid)> act);
  bool is_running(int pid); // returns whether `pid` is followed and is not in a tracing stop

private:
  struct Tracee {
    int pid = 0, server = 0;  // 0 if there is none
    uint64_t since_ns = 0;    // when it was found
    bool has_stopped = false; // for the attach
  };
  struct Expected {
    std::function<bool(int)> found; // null if no process is expected
    uint64_t changes = 0;           // counts the changes of `found`, except those around its call
    std::string program;
    int pid = 0; // 0 means a new process
    bool for_ever = false;
    int has_run = 0; // a process that has run since the wait began; 0 if none is known
    int other = 0;   // a process that catch_up() has found not to be the expected one
    uint64_t since_ns = 0;
    Tracee tracee;
    std::set<int> servers_before; // children whose processes are not the expected one
  };

  void run();
  int expected_process(); // returns 0 if there is no such process yet
  int new_child() const;
  int new_tracee_that_runs();
  Tracee new_tracee();
  void look_at_process();
  void look_at_exit_code();
  void note_state(bool stopped, uint64_t now);
  void forget_run();
  void tell_of_stop();
  void tell_if_due();
  void begin_to_expect(std::function<bool(int pid)> found);
  void start_thread();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::thread thread_;
  bool over_ = false;
  Expected expected_;
  bool calling_ = false; // `found` is being called
  int pid_ = 0;
  int pidfd_ = -1;
  bool stopped_ = true; // the process is in a tracing stop
  Seen seen_;
  struct {
    std::function<void(int pid, uint64_t stop)> is_held;
    uint64_t number = 0;  // of the last stop that was seen
    uint64_t wait_ns = 0; // how long it must last until the next call of `is_held`
    uint64_t cpu_ns = 0;  // the process's CPU time in it; 0 if not yet known
  } stop_;
  struct {
    std::function<bool()> is_due;
    std::function<void(int pid)> act;
  } run_;
  uint64_t next_look_ns_ = 0; // for a new tracee
  Asker asker_;
};

} // namespace tally_lldb
