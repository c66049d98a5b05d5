// Measures how long each thread does not run, and why, from the kernel's records of switches.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

namespace tally {

// A thread that gives up its processor writes a sample with its stack and then a record of the
// switch; one that gets a processor writes another record. The time in between is an interval. The
// times are those of the records, in ns. All functions take any order of records, because some may
// be lost.
class WaitClock {
public:
  enum class Why : uint8_t {
    waits,   // until something happens
    queued,  // the thread could run, but has no processor
    held,    // by a debugger: not the program's own time
    unknown, // the thread was not seen before
  };
  // The state of the thread according to the registers of the sample.
  enum class Call : uint8_t {
    none,        // the thread ran its own code
    inside,      // it is inside of a system call
    interrupted, // it was in a system call, which will be restarted
  };
  struct Interval {
    Why why = Why::unknown;
    bool counts = true; // false: outside of the region
    uint64_t ns = 0;
    bool continues = false;          // the wait began before a debugger's stop
    uint64_t ran_ns = 0;             // how long the thread had run before; 0 if unknown
    std::span<const uint64_t> stack; // the leaf first; empty if it is unknown
  };

  // Sets whether a debugger traces the process. A switch outside of system calls is
  // then a stop of the debugger. Without a debugger, it is a wait for a page.
  void set_traced(bool traced) { traced_ = traced; }
  // Call this if the kernel may not be sampled: sampled() is then never called. Each thread that
  // gives up its processor is assumed to wait, unless hold() is called.
  void set_unsampled() { unsampled_ = true; }

  // The thread exists, and has been in this state since `at_ns` at least.
  // `counts` states whether the interval is reported.
  void begin(pid_t tid, Why why, uint64_t at_ns, bool counts = true);
  // The thread runs, and has its processor since `at_ns`; or it has run until then, and goes on.
  void runs_from(pid_t tid, uint64_t at_ns);
  void runs_until(pid_t tid, uint64_t at_ns);
  // The thread is about to give up its processor. If `counts` is false, the interval is not
  // reported.
  void sampled(pid_t tid, std::span<const uint64_t> stack, Call call, bool counts);
  // The thread has given up its processor. If no sample preceded this, `counts` states whether the
  // interval is reported.
  void out(pid_t tid, uint64_t at_ns, bool preempted, bool counts = true);
  // Returns the interval that ends, unless the thread's state was unknown.
  std::optional<Interval> in(pid_t tid, uint64_t at_ns);
  // The thread is held by a debugger, since its last switch.
  void hold(pid_t tid);
  // Returns the threads that have waited since `before_ns` or earlier, and whose stack has not been
  // seen.
  std::vector<pid_t> unseen(uint64_t before_ns) const;
  // The stack of a thread that waits was seen from outside, at `at_ns`. If it turns out that the
  // wait ended before, the stack is forgotten.
  void seen(pid_t tid, uint64_t at_ns, std::span<const uint64_t> stack);
  // Returns the CPU time of the thread, as far as the switches show it, and forgets it.
  uint64_t take_cpu_ns(pid_t tid);
  void ended(pid_t tid) { threads_.erase(tid); }
  void clear() { threads_.clear(); } // exec

  // Forgets the time before `at_ns`.
  void restart(uint64_t at_ns);
  std::vector<pid_t> threads() const; // all that are known
  // Returns the threads that wait or are queued.
  std::vector<pid_t> open() const;

private:
  struct Thread {
    Why why = Why::unknown;
    bool is_out = false;
    bool was_sampled = false; // since it was given a processor
    bool counts = true;
    bool continues = false; // its next wait belongs to the one before
    bool continued = false; // this wait does
    Call call = Call::none;
    uint64_t since_ns = 0;
    uint64_t seen_ns = 0; // when the stack was seen from outside; 0 if it was not
    uint64_t in_ns = 0;   // when it was given its processor; 0 if unknown
    uint64_t cpu_ns = 0;
    uint64_t ran_ns = 0; // before the newest switch
    std::vector<uint64_t> stack;
  };
  Why why_of(const Thread &thread, bool preempted) const;

  std::unordered_map<pid_t, Thread> threads_;
  bool traced_ = false;
  bool unsampled_ = false;
};

} // namespace tally
