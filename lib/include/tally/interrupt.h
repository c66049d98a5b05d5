// Sampling by stopping: a debugger interrupts the process, looks where each thread stands, and lets
// it go on. For what no clock of the kernel reaches: remote and bare-metal targets, static programs
// where perf is refused. Counts wall time: a thread that sleeps is counted where it sleeps. Of a
// process of this machine, time for which a thread waits for a processor is left out: such waits
// begin at system calls and where a debugger resumes a thread more often than elsewhere, and many
// of them are there only because the debugger uses a processor, too.
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

#include <tally/result.h>
#include <tally/sampler.h>

namespace tally {

class ProcessorHolders;
class ProcessorUse;

// When to stop the process next, and whose stops are ours. Used by two threads: one waits and
// interrupts, the debugger's own takes the stops. Never throws.
class TALLY_API InterruptClock {
public:
  // More often than this the stops cost more than they tell.
  static constexpr uint32_t most_remote_hz = 100;
  static constexpr uint32_t most_native_hz = 1000;
  // The first signal that process `pid` does not handle itself, among SIGURG, SIGWINCH and the
  // real-time ones that neither libc nor valgrind nor the agent uses. pid 0: it is not there yet,
  // and may come to handle any of the former: a real-time one.
  static int free_signal(pid_t pid);
  // After a round the process runs for at least this many times what the round took, from the
  // moment before its first signal until the process ran on: it has four fifths of the time. Of a
  // remote process the time from the answer to the resume is not known here, and not in it.
  static constexpr uint64_t run_per_stop = 4;

  // pid: of this machine, whose threads interrupt() sends `signal`; 0: a remote process.
  void set(pid_t pid, int signal, uint32_t frequency_hz);
  void resumed(); // the process runs
  void stopped(); // for the user: stops of ours that are still to come do not count

  // --- any thread
  // How long the process is to run before interrupt() is called.
  uint64_t wait_ns();
  // Sends the signal to each thread of the process that runs or sleeps and does not block it; how
  // many. Returns when their stops are over and the process runs on, or after about 0.1 s. Of a
  // remote process: 1 at once, and the caller interrupts it now. 0: there is nothing to do, because
  // it does not run, or its last stop has not come yet.
  // given_up: it is all over, see problem().
  static constexpr size_t given_up = SIZE_MAX;
  size_t interrupt();

  // --- the debugger's thread
  // At a stop by the signal. `any_thread`: of a remote process one stop shows all threads.
  enum class Stop : uint8_t {
    ours,  // count it
    stale, // sent before the process stopped for the user: nobody's
    theirs // the user's or the program's own
  };
  static constexpr pid_t any_thread = 0;
  Stop take(pid_t tid);
  // The remote process was not interrupted after all: no stop will come.
  void withdraw();
  // The stop has been looked at, and the process goes on.
  void done();

  uint64_t rounds() const; // of interrupts that were taken
  uint64_t missed() const; // threads that a round left out, because they block the signal
  uint64_t queued() const; // the same, because they waited for a processor
  uint64_t unheld() const; // of the rounds, those in which threads ran on until the signal came
  void clear();
  std::string problem() const; // why it has given up; empty: it has not

private:
  size_t interrupt_remote();
  struct Choice {
    std::vector<pid_t> tids; // to be sent the signal
    uint64_t missed = 0, queued = 0;
    bool held = false; // no thread runs on before its signal comes: each stands at a chance place
  };
  size_t interrupt_threads(std::unique_lock<std::mutex> &lock, ProcessorHolders &holders);
  Choice choose(std::span<const pid_t> tids, const ProcessorUse &use) const;
  std::optional<Choice> wait_for_chance(std::unique_lock<std::mutex> &lock, ProcessorUse &use,
                                        std::span<const pid_t> tids);
  void wait_for_round(std::unique_lock<std::mutex> &lock);
  bool is_on_its_way(uint64_t now) const;

  mutable std::mutex mutex_;
  pid_t pid_ = 0;
  int signal_ = 0;
  uint64_t period_ns_ = 0;
  bool running_ = false;
  struct Awaited {
    uint64_t sent_at_ns;
    bool stale;
  };
  std::unordered_map<pid_t, Awaited> awaited_; // by thread
  uint32_t late_ = 0; // stops of a remote process that were given up, and may come yet
  uint64_t sent_at_ns_ = 0;
  uint64_t cost_ns_ = 0;  // of the last round
  uint64_t since_ns_ = 0; // it has run on: the next wait begins here
  pid_t looked_at_ = 0;   // the last thread that stopped
  bool looking_ = false;  // between take() and done()
  std::condition_variable round_over_;
  std::shared_ptr<ProcessorHolders> holders_; // while the process runs
  bool round_counted_ = false;
  bool round_held_ = true;
  uint64_t rounds_ = 0;
  uint64_t missed_ = 0;
  uint64_t queued_ = 0;
  uint64_t unheld_ = 0;
  std::string problem_;
  std::minstd_rand random_{std::random_device{}()};
};

// One thread at one stop.
struct ThreadStack {
  pid_t tid = 0;
  std::string_view name;
  std::span<const uint64_t> pcs; // leaf first; callers as return address - 1
};

class TALLY_API InterruptSampler : public Sampler {
public:
  virtual void add(const ThreadStack &stack) = 0;
};

// pid 0: a remote process, whose modules are not known here. `clock` outlives the sampler.
TALLY_API Result<std::unique_ptr<InterruptSampler>>
make_interrupt_sampler(pid_t pid, int signal, const SamplerOptions &options, InterruptClock &clock);

} // namespace tally
