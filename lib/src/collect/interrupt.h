// Samples by stopping: in each round, a debugger interrupts the process, reads each thread's stack,
// and resumes the process. This backend is for targets without a usable kernel clock: remote and
// bare-metal targets, and static programs where perf is refused. It counts wall time: a sleeping
// thread is counted where it sleeps. For a process on this machine, a thread that waits for a
// processor is left out of the round. Such waits begin more often than elsewhere at system calls
// and where a debugger resumes a thread, and the debugger's own use of a processor causes many of
// them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include "collect/sampler.h"
#include "support/result.h"

namespace tally {

class ProcessorHolders;
class ProcessorUse;

// Decides when to stop the process next, and which stops it has caused. Two threads use it: one
// waits and interrupts, and the debugger's own thread handles the stops. Never throws.
class InterruptClock {
public:
  // The highest rates. At higher ones the stops take too much of the program's time.
  static constexpr uint32_t most_remote_hz = 100;
  static constexpr uint32_t most_native_hz = 1000;
  // Returns the period of a process's rounds, for which a tick stands, at these rates.
  static uint64_t period_ns(pid_t pid, uint32_t frequency_hz);
  // Returns the first signal that process `pid` does not handle itself, among SIGURG, SIGWINCH and
  // the real-time signals that libc, Valgrind and the agent do not use. For pid 0, a process that
  // does not exist yet, it returns a real-time signal, because a program handles these least often.
  static int free_signal(pid_t pid);
  // After a round the process runs for at least this many times the duration of the round, though
  // at most 1 s, so that the process gets four fifths of the time. A round lasts from just before
  // its first signal until the process runs again. For a remote process the time from done() to the
  // actual resume is unknown and not included. At the beginning of a run, the shorter duration of
  // the last two rounds is used. The time that the process has run since the last round counts,
  // including the time before stops for the user.
  static constexpr uint64_t run_per_stop = 4;

  // Sets the process: `pid` is a process of this machine, to whose threads interrupt() sends
  // `signal`, or 0 for a remote process. The frequency is limited to the highest rate above.
  void set(pid_t pid, int signal, uint32_t frequency_hz);
  void resumed(); // reports that the process runs
  void stopped(); // reports a stop for the user; stops that the clock caused become stale

  // --- any thread
  // Returns how long the caller waits, in ns, before it calls interrupt(): the period ± 50 %, or
  // longer after a slow round.
  uint64_t wait_ns();
  // Sends the signal to each thread that runs or sleeps and does not block the signal. Returns the
  // number of these threads when their stops are over and the process runs again, or after about
  // 0.1 s. For a remote process, returns 1 at once, and the caller must interrupt the process
  // itself. Returns 0 if there is nothing to do, because the process does not run or its last stop
  // has not come yet. Returns given_up if the process cannot be interrupted any more; problem()
  // says why.
  static constexpr size_t given_up = SIZE_MAX;
  size_t interrupt();

  // --- the debugger's thread
  // Classifies a stop by the signal. `tid` is the thread that stopped; for a remote process it is
  // `any_thread`, because one stop shows all threads.
  enum class Stop : uint8_t {
    ours,  // caused by the clock: count it
    stale, // caused by the clock before the process stopped for the user: ignore it
    theirs // the user's or the program's own
  };
  static constexpr pid_t any_thread = 0;
  Stop take(pid_t tid);
  // Reports that the remote process was not interrupted after all, so that no stop will come.
  void withdraw();
  // Reports that the stacks of a stop have been read and their addresses looked up, and that the
  // process is resumed. Between take() and done() a remote process is not interrupted again.
  void done();

  // Returns whether a stop that the clock has caused may come, or is being looked at.
  bool awaits_stop() const;

  // Returns how many ticks each thread gets in the round that is looked at. A round after a longer
  // wait than usual counts for as many periods as that took: the wait is longer where a round takes
  // long, as with deep stacks or many threads, and what the program does there must not count less.
  uint64_t weight() const;
  uint64_t rounds() const;  // the rounds that led to a stop
  uint64_t periods() const; // the sum of their weights
  // How many ticks a thread did not get, because it blocks the signal, or waited for a processor.
  uint64_t missed() const;
  uint64_t queued() const;
  uint64_t unheld() const;     // the rounds in which threads kept running until the signal came
  void clear();                // sets the counts to 0
  std::string problem() const; // why interrupt() has given up; empty if it has not

private:
  size_t interrupt_remote();
  struct Choice {
    std::vector<pid_t> tids; // the threads that get the signal
    uint64_t missed = 0, queued = 0;
    bool one_runs = false; // one of them runs now
    bool held = false;     // no thread keeps running until its signal comes: each address is random
  };
  size_t interrupt_threads(std::unique_lock<std::mutex> &lock, ProcessorHolders &holders);
  Choice choose(std::span<const pid_t> tids, const ProcessorUse &use) const;
  std::optional<Choice> wait_for_chance(std::unique_lock<std::mutex> &lock, ProcessorUse &use,
                                        std::span<const pid_t> tids);
  void wait_for_round(std::unique_lock<std::mutex> &lock);
  bool is_on_its_way(uint64_t now) const;

  // Decides how long the process runs between two rounds.
  class Pace {
  public:
    void set(uint64_t period_ns); // forgets the rounds
    uint64_t period_ns() const { return period_ns_; }
    void resumed() { first_wait_ = true; } // the process runs after a stop for the user
    // Reports that the process stopped for the user, `ran_ns` after the last round or resume.
    void stopped_after(uint64_t ran_ns) { ran_before_ns_ += ran_ns; }
    void round_took(uint64_t ns);
    // Returns how long the process runs until the next round, if it has run for `ran_ns` since the
    // last round or resume.
    uint64_t next_wait_ns(uint64_t ran_ns);
    // Returns the weight of a round before which the process has run for `ran_ns` since the last
    // one or the resume.
    uint64_t weigh(uint64_t ran_ns);

  private:
    uint64_t wait_after_cost_ns() const;

    uint64_t period_ns_ = 0;
    uint64_t cost_ns_ = 0;         // the duration of the last round
    uint64_t earlier_cost_ns_ = 0; // the duration of the round before the last one
    uint64_t ran_before_ns_ = 0;   // how long the process ran since the last round, in earlier runs
    bool first_wait_ = false;      // no round has ended since the process was resumed
    uint64_t rest_ns_ = 0;         // of the time that was weighed
    std::minstd_rand random_{std::random_device{}()};
  };
  struct Awaited {
    uint64_t sent_at_ns;
    bool stale;
    uint64_t first_at_ns = 0; // of a remote process: when the first request was sent
  };
  // The newest round.
  struct Round {
    uint64_t sent_at_ns = 0; // when the first signal was sent; until then, time of the resume
    bool held = true;        // see Choice
    bool counted = false;    // a stop of this round has come
    bool looking = false;    // true between take() and done()
    pid_t looked_at = 0;     // the last thread that stopped
    uint64_t weight = 1;
    uint64_t missed = 0, queued = 0; // as in Choice
  };
  // The requests to a remote process that were repeated, although their stops may still come. Each
  // repetition extends the time in which all these stops may come.
  struct Late {
    uint32_t stops = 0;
    uint64_t until_ns = 0; // a stop after this time is the user's
  };
  struct Counts {
    uint64_t rounds = 0, periods = 0, missed = 0, queued = 0, unheld = 0;
  };

  mutable std::mutex mutex_;
  pid_t pid_ = 0;
  int signal_ = 0;
  bool running_ = false;
  uint64_t since_ns_ = 0; // when the process was resumed; the next wait begins here
  Pace pace_;
  std::unordered_map<pid_t, Awaited> awaited_; // by thread
  Late late_;
  Round round_;
  std::condition_variable round_over_;
  std::shared_ptr<ProcessorHolders> holders_; // while the process runs
  Counts counts_;
  std::string problem_;
};

// The stack of one thread at one stop.
struct ThreadStack {
  pid_t tid = 0;
  std::string_view name;
  std::span<const uint64_t> pcs; // run-time, leaf first; callers as return address - 1
};

class InterruptSampler : public Sampler {
public:
  // Counts the round that is looked at for the thread.
  virtual void add(const ThreadStack &stack) = 0;
};

// Creates a sampler for process `pid` and calls clock.set() for that process. `clock` must outlive
// the sampler. Pid 0 stands for a remote process, whose mappings are unknown. Errors: not_found if
// the process does not exist, invalid_argument for a frequency of 0 Hz.
Result<std::unique_ptr<InterruptSampler>>
make_interrupt_sampler(pid_t pid, int signal, const SamplerOptions &options, InterruptClock &clock);

} // namespace tally
