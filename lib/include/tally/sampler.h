// Samples the program counter of a process that runs beside us.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <sys/types.h>

#include <tally/result.h>
#include <tally/sample_gate.h>
#include <tally/stack_profile.h>
#include <tally/stop_places.h>
#include <tally/unwinder.h>

namespace tally {

enum class StackMode : uint8_t { none, fp, dwarf };

constexpr std::optional<StackMode> stack_mode_by_name(std::string_view name) {
  if (name == "none")
    return StackMode::none;
  if (name == "fp")
    return StackMode::fp;
  return name == "dwarf" ? std::optional(StackMode::dwarf) : std::nullopt;
}

// By unwind data where there is an unwinder for the processor.
#if defined(__x86_64__)
constexpr std::string_view default_stack_mode = "dwarf";
#else
constexpr std::string_view default_stack_mode = "fp";
#endif

struct SamplerOptions {
  uint32_t frequency_hz = 1000;
  StackMode stacks = StackMode::fp;
  bool enable_on_exec = false;        // begin at the process's next exec (tally record)
  std::shared_ptr<Unwinder> unwinder; // must be there for StackMode::dwarf
  // The user's breakpoints that the debugger passes by itself: ticks that the kernel spends there
  // are left out. Null means none.
  std::shared_ptr<const StopPlaces> passed_stops;
  // Of the copy of the stack that StackMode::dwarf unwinds: a multiple of 8 below 64 KiB. 0: by the
  // frequency, and more from a part's end on if many stacks were cut.
  uint32_t stack_bytes = 0;
};

// Counters; all from the start of the sampler, or from its last clear().
struct SamplerStatus {
  uint32_t requested_hz = 0;
  uint64_t samples = 0;        // ticks counted
  uint64_t outside = 0;        // ticks that the gate did not hold, and of stops; in no other number
  uint64_t kernel_samples = 0; // of these, taken in the kernel on behalf of the program
  uint64_t lost = 0;           // the kernel had no room for
  uint64_t queued = 0;         // threads that a round left out: they waited for a processor
  uint64_t unheld = 0;         // rounds in which threads ran on until the signal stopped them
  uint64_t throttled = 0;      // times the kernel paused a clock
  uint64_t cut_stacks = 0;     // the unwinder did not reach the outermost frame
  uint32_t stack_bytes = 0;    // of the copies that are unwound now; 0: none are made
  uint32_t threads = 0;        // with samples
  uint32_t parts = 0;          // with samples, the open one included
  uint64_t cpu_ns = 0;         // CPU time of the sampled threads
  // The part of cpu_ns that was spent in the kernel, if that is not sampled. The delivered rate is
  // the samples by the rest of cpu_ns. The kernel counts this part less exactly than cpu_ns.
  uint64_t unsampled_ns = 0;
  uint64_t rounds = 0;         // ticks of a wall clock, each of which counts every thread
  bool wall_clock = false;     // else CPU time
  bool kernel_included = true; // false: only user code is sampled (unprivileged)
  size_t ring_bytes = 0;       // of one ring
  uint32_t rings = 0;
  uint32_t events = 0;       // descriptors held
  uint64_t memory_bytes = 0; // of stacks and counts
  bool ended = false;        // the process is gone, or is no longer ours
  std::string problem;       // the reader stopped for this; empty: none
};

// One process: all its threads, also those that begin later; its fork children are left out, its
// execs followed. Reads in a thread of its own, with every signal blocked. All calls from one
// thread; none throws.
class TALLY_API Sampler {
public:
  virtual ~Sampler() = default; // stops

  // What was drained up to now belongs to the open part; later samples to the next one. The
  // process stands still (the caller's promise), so the cut is exact. A part without samples is
  // not kept. `begin_ns`, `end_ns` as in Part.
  virtual void end_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns) = 0;

  // Ends sampling for good: reads what is left, closes every descriptor, joins the thread.
  virtual void stop() = 0;

  virtual SamplerStatus status() = 0; // drains first
  // Everything so far; the open part is included under `trigger`.
  virtual Result<StackProfile> snapshot(std::string_view trigger, uint64_t begin_ns,
                                        uint64_t end_ns) = 0;
  // Forgets what was collected and counted, goes on sampling.
  virtual void clear() = 0;
  // From now on only what the gate holds is counted; null: all. What was taken before is drained
  // first.
  virtual void set_gate(std::shared_ptr<SampleGate> gate) = 0;
};

// Value type "ticks/count". An error names what refused: seccomp, the paranoid level, a capability,
// descriptors, locked memory, the kernel's age, and what to do about it.
TALLY_API Result<std::unique_ptr<Sampler>> start_perf_sampler(pid_t pid, SamplerOptions options);

// "SIGURG"; real-time signals have no names of their own: "SIG44".
TALLY_API std::string signal_name(int number);

} // namespace tally
