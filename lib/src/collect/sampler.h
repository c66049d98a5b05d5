// Samples the stacks of another process of this machine.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "model/stack_profile.h"
#include "model/unwinder.h"
#include "support/result.h"

namespace tally {

class HeldTimes;
class RegionFilter;
class StopAddresses;

enum class StackMode : uint8_t { none, fp, dwarf };

constexpr std::optional<StackMode> stack_mode_by_name(std::string_view name) {
  if (name == "none")
    return StackMode::none;
  if (name == "fp")
    return StackMode::fp;
  return name == "dwarf" ? std::optional(StackMode::dwarf) : std::nullopt;
}

// Unwind data if there is an unwinder for the processor, otherwise frame pointers.
#if defined(__x86_64__)
constexpr std::string_view default_stack_mode = "dwarf";
#else
constexpr std::string_view default_stack_mode = "fp";
#endif

// An event of perf that is sampled in place of the clock, or beside it.
struct SampledEvent {
  std::string name;       // "page-faults", as perf names it, or "clock"
  uint32_t type = 0;      // perf_event_attr.type and .config
  uint64_t config = 0;    //
  uint64_t period = 1;    // the number of events for each sample, which is the sample's weight
  bool in_kernel = false; // it happens only in the kernel: without its code there are no samples
  bool is_switch() const; // context-switches
  bool is_clock() const;  // the clock, whose period is that of SamplerOptions::frequency_hz
  friend bool operator==(const SampledEvent &, const SampledEvent &) = default;
};

// Returns the event with perf's name: "page-faults", "cache-misses", or "r1a8" for a raw event; or
// the clock for "clock". Fails with invalid_argument if the name is unknown.
Result<SampledEvent> event_by_name(std::string_view name);
// Returns the events of a list with commas between the names. The clock comes first; a list of
// nothing else is empty, as SamplerOptions::events expects it. Fails with invalid_argument if a
// name is unknown or repeated.
Result<std::vector<SampledEvent>> events_by_names(std::string_view names);
std::vector<std::string_view> event_names(); // without those of raw events

// The largest size of a stack dump that the kernel accepts: a multiple of 8 below 64 KiB.
inline constexpr uint32_t most_stack_bytes = (64 << 10) - 8;

struct SamplerOptions {
  uint32_t frequency_hz = 1000;
  std::vector<SampledEvent> events; // empty means the clock; only perf samples other events
  // Measure how long each thread does not run, and why, besides sampling the clock. Only perf can.
  bool waits = false;
  StackMode stacks = StackMode::fp;
  bool enable_on_exec = false; // begin at the process's next exec (tally record)
  bool children = false;       // sample the processes that it forks, too; only perf can
  // The profile will be added to that of another process, so that code without a file must not be
  // mistaken for that process's.
  bool beside = false;
  std::shared_ptr<Unwinder> unwinder; // required for StackMode::dwarf
  // The user's breakpoints that the debugger passes without a stop for the user. Ticks that the
  // kernel spends on them are left out. Null means that there are none.
  std::shared_ptr<const StopAddresses> passed_stops;
  // Decides from the first sample on which samples count; null counts all.
  std::shared_ptr<RegionFilter> region_filter;
  // The size of the stack dumps for StackMode::dwarf, a multiple of 8 below 64 KiB. If it is 0, the
  // frequency determines the size, and the dumps are enlarged at the end of a part in which many
  // stacks were truncated.
  uint32_t stack_bytes = 0;
  bool deep_stacks = false; // begin with enlarged dumps

  // Returns the events that are opened: `events`, or the clock; with waits, context switches, too.
  std::vector<SampledEvent> sampled_events() const;
};

// The status of a sampler. All counts begin at its start or at its last clear(). It has many data
// members because it is a record of all that the backends report.
struct SamplerStatus {
  uint32_t requested_hz = 0;
  uint64_t samples = 0; // the ticks counted
  // The ticks outside the region and on stops of the debugger; no other count includes them.
  uint64_t outside = 0;
  uint64_t kernel_samples = 0; // the samples taken in the kernel on behalf of the program
  // Ticks for which a ring had no room. With the interrupt backend: threads that rounds missed.
  uint64_t lost = 0;
  uint64_t queued = 0;           // threads left out of rounds because they waited for a processor
  uint64_t unheld = 0;           // rounds in which threads kept running until the signal came
  uint64_t throttled = 0;        // how often the kernel paused a clock
  uint64_t truncated_stacks = 0; // the unwinder did not reach the outermost frame
  uint64_t short_dumps = 0;      // those of them that are deeper than the dump of the stack
  uint64_t joined_stacks = 0;    // deeper, but completed by other samples of their threads
  uint32_t stack_bytes = 0;      // the current size of stack dumps; 0 if there are none
  uint32_t threads = 0;          // the threads with samples
  uint64_t processes = 0;        // that were sampled, with SamplerOptions::children
  uint64_t processes_left = 0;   // that were not, because there were too many
  uint32_t parts = 0;            // the parts with samples, including the open one
  uint64_t cpu_ns = 0;           // the CPU time of the sampled threads
  // The share of cpu_ns that was spent in the kernel, if the kernel is not sampled. The delivered
  // rate is the number of samples divided by the rest of cpu_ns. The kernel measures this share
  // less exactly than cpu_ns.
  uint64_t unsampled_ns = 0;
  // At most so much CPU time was used in a run before its sampler was there. It is in no other sum.
  uint64_t missed_ns = 0;
  // With SamplerOptions::children, the CPU time of the process and of the children that it has
  // waited for, as the kernel accounts for it: with the work of fork and exit. While the process
  // exists, this is a multiple of the kernel's tick of 10 ms. 0 if it is not known, as when the
  // process had children before.
  uint64_t used_ns = 0;
  // How often each of SamplerOptions::events happened, as the kernel counted it; the clock in ns.
  // The kernel counts events that it did not sample because there were too many at once.
  std::vector<uint64_t> counted;
  // With SamplerOptions::waits: the number of waits that have ended, their time, and the time in
  // which threads could run and had no processor. Of that, divided_ns came after wake-ups: the
  // kernel's total for a thread, divided evenly among its waits.
  uint64_t waits = 0, wait_ns = 0, queued_ns = 0, divided_ns = 0;
  bool waits_unsampled = false; // short waits have no stacks (unprivileged)
  // The ticks of a wall clock, each of which counts every thread, for as many periods as it took.
  uint64_t rounds = 0, periods = 0;
  bool wall_clock = false;     // the clock is wall time, otherwise CPU time
  bool kernel_included = true; // false if only user code is sampled (unprivileged)
  size_t ring_bytes = 0;       // the size of one ring
  uint32_t rings = 0;
  uint32_t events = 0;       // the descriptors in use
  uint64_t memory_bytes = 0; // the memory of stacks and counts
  bool ended = false;        // the process has ended, or the debugger has detached from it
  std::string problem;       // why the reader stopped; empty if it has not
};

// The note that users see if SamplerStatus::waits_unsampled is set.
inline constexpr std::string_view short_waits_note =
    "waits under 1 ms have no stacks, nor does the kernel's part of the CPU time: for both, set "
    "kernel.perf_event_paranoid to 1 (sysctl -w kernel.perf_event_paranoid=1) or grant CAP_PERFMON";

// The process was resumed at `at_ns` of CLOCK_MONOTONIC, and has run for `ran_ns` before. The times
// of samples are counted from there, so that they leave out the time of stops, and that of `held`.
struct Resume {
  uint64_t at_ns = 0;
  uint64_t ran_ns = 0;
  std::shared_ptr<const HeldTimes> held = {}; // null if nobody looks
};

// Samples one process: all its threads, including those that begin later, and with
// SamplerOptions::children the processes that it forks, and theirs. It follows exec. A separate
// thread, which blocks all signals, reads the samples. All functions must be called from one
// thread; none throws.
class Sampler {
public:
  virtual ~Sampler() = default; // stops sampling

  // The process was resumed. Before the first call, times are counted from the start of sampling or
  // the last clear().
  virtual void resumed(const Resume &resume) = 0;

  // Ends the open part: earlier samples belong to it, later ones to the next part. The caller must
  // have stopped the process, so that the boundary is exact. A part without samples is not kept.
  // `begin_ns` and `end_ns` are as in Part.
  virtual void end_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns) = 0;

  // Ends sampling for good: reads the remaining samples, closes all descriptors, joins the thread.
  virtual void stop() = 0;

  // Reads the pending samples and returns the status.
  virtual SamplerStatus status() = 0;
  // Returns the profile so far. It includes the open part, with `trigger` and the given times.
  virtual Result<StackProfile> snapshot(std::string_view trigger, uint64_t begin_ns,
                                        uint64_t end_ns) = 0;
  // Drops all samples and counts, and continues sampling.
  virtual void clear() = 0;
  // Counts from now on only samples inside the region; null counts all. Reads the pending
  // samples first, with the previous region filter.
  virtual void set_region_filter(std::shared_ptr<RegionFilter> region_filter) = 0;
};

// Starts sampling with perf. The profile's value type is "ticks/count"; with other events, there is
// one for each, "page-faults/count"; with waits, they are "cpu", "wait" and "queued" in
// "nanoseconds", and "waits/count". If sampling is impossible,
// the error names the cause (seccomp, the paranoid level, a capability, descriptors, locked memory,
// the kernel's age) and what to do about it.
Result<std::unique_ptr<Sampler>> start_perf_sampler(pid_t pid, const SamplerOptions &options);

// Returns a signal's name: "SIGURG", or "SIG44" for a real-time signal.
std::string signal_name(int number);

} // namespace tally
