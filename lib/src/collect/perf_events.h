// Manages the perf_event_open descriptors for one process: a clock, or other events, for each
// thread on each processor, and one ring for each processor, or two.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include <linux/perf_event.h>
#include <sys/types.h>

#include "collect/perf_ring.h"
#include "collect/sampler.h"
#include "support/perf_records.h"
#include "support/result.h"
#include "support/unique_fd.h"

namespace tally {

// Return the registers of a user-mode sample in the form of perf_event_attr.sample_regs_user.
uint64_t pc_register_mask();
uint64_t unwind_register_mask(); // 0 if this processor has no unwinder

// Returns the clock's period for a frequency, in ns. It is slightly longer than the nominal period,
// and odd; the definition says why.
uint64_t sampling_period_ns(uint32_t frequency_hz);

// Where less is to be copied, stack dumps are not made smaller than this.
inline constexpr uint32_t least_stack_bytes = 8 << 10;

// Tells the events of a sampler apart by the IDs that records have if there are several.
class EventIds {
public:
  void add(uint64_t id, uint32_t event) { event_of_[id] = event; }
  // Returns the index of the event in PerfEvents::Config::events; 0 if there is only one.
  uint32_t event_of(uint64_t id) const {
    const auto at = event_of_.find(id);
    return at == event_of_.end() ? 0 : at->second;
  }

private:
  std::unordered_map<uint64_t, uint32_t> event_of_;
};

// The clocks of a process's threads and the rings that they write to. It has many methods because
// opening a clock takes several steps, which all need the same descriptors.
class PerfEvents {
public:
  struct Config {
    pid_t pid = 0;
    StackMode stacks = StackMode::fp;
    uint32_t frequency_hz = 1000;
    std::vector<SampledEvent> events; // empty means the clock
    bool children = false;            // sample the processes that the threads fork, too
    bool waits = false;               // sample context switches beside the clock, with records
    // The size of a stack dump of the clock, and of another event, which comes in bursts. They are
    // halved until the rings can hold what is written while the reader cannot run, unless they are
    // to be exact; then it is enough that a ring holds two dumps.
    uint32_t stack_bytes = least_stack_bytes;
    uint32_t event_stack_bytes = least_stack_bytes;
    bool exact_stack_bytes = false;
    bool enable_on_exec = false;
  };

  // Describes the events that another process opens in place of this one: the owner of a ring and
  // the variants of a clock, in the order in which to try them. The clock of the i-th processor has
  // a period that is 2 * i ns longer.
  struct Attributes {
    uint32_t bytes = 0; // the size of each perf_event_attr, as passed to the kernel
    perf_event_attr owner{};
    std::vector<perf_event_attr> clocks;
    size_t ring_bytes = 0; // the first size to try; halved if it cannot be mapped
    size_t least_ring_bytes = 0;
  };
  static Attributes attributes(const Config &config);
  // Returns whether bursts of other events may fill the clock's ring. With waits, their stacks have
  // rings of their own.
  static bool clock_meets_bursts(const Config &config);
  struct Given {
    UniqueFd fd;
    size_t cpu_index = 0;
  };
  // Takes over events that another process has opened with attributes(). `variant` is the index of
  // the element of Attributes::clocks that the kernel accepted. The first descriptor of each
  // processor owns the processor's ring, which the other process has mapped with `ring_bytes`.
  // Returns an error if a descriptor is not a perf event or a ring cannot be mapped; all
  // descriptors are then closed.
  static Result<PerfEvents> adopt(const Config &config, std::vector<Given> given, size_t variant,
                                  size_t cpus, size_t ring_bytes);

  // Opens the clocks of all `tids`; threads that end meanwhile are skipped.
  static Result<PerfEvents> open(const Config &config, std::span<const pid_t> tids);
  // Opens the clocks of threads that were found after open().
  Result<void> add(std::span<const pid_t> tids);

  PerfEvents() = default;
  PerfEvents(PerfEvents &&other) noexcept { *this = std::move(other); }
  PerfEvents &operator=(PerfEvents &&other) noexcept;
  ~PerfEvents() { release(); }

  std::span<PerfRing> rings() { return rings_; }
  const PerfLayout &layout() const { return layout_; }
  const EventIds &ids() const { return ids_; }
  bool kernel_included() const { return !exclude_kernel_; }
  // Whether switches have samples with stacks; otherwise there are only their records.
  bool samples_switches() const { return !only_records_; }
  size_t ring_bytes() const { return ring_bytes_; }
  // Returns the size of the smallest stack dump, apart from those of waits; 0 if there are none.
  uint32_t stack_bytes() const;
  // Whether the kernel wakes the reader long before a ring is a quarter full.
  bool wakes_early() const { return !config_.waits && clock_wake_bytes() < ring_bytes_ / 4; }
  size_t count() const { return events_.size(); }

  // Returns the descriptor that wakes poll() when ring i fills, or -1 if all events that write to
  // it have ended.
  int wake_fd(size_t i) const;
  // Replaces a descriptor that reported POLLHUP, because it would report that again and again, by
  // the descriptor of another event with the same ring.
  void drop_wake_fd(size_t i) { ++feeds_[i].next; }

  // Returns what each event counted since reset_counts(), also after close(): the clock counts the
  // CPU time of all sampled threads.
  std::vector<uint64_t> counted() const;
  // Returns how many records the rings had no room for since reset_counts(), also after close(). A
  // ring that stays full until the end holds no record that says so. 0 before Linux 6.0.
  uint64_t lost() const;
  void reset_counts();
  void disable();
  // Takes the place of `before`: closes it and adds its CPU time.
  void continue_from(PerfEvents &before);
  void close();

private:
  struct Feed {
    std::vector<int> fds; // the events that write to the ring, the owner first
    size_t next = 0;
    void *map = nullptr;
    size_t map_bytes = 0;
  };
  struct Opened {
    UniqueFd fd;
    uint32_t event; // its index in Config::events, or owns_ring
  };
  static constexpr uint32_t owns_ring = UINT32_MAX;
  static constexpr size_t exit_ring_bytes = size_t{64} << 10; // 1,300 threads that end
  struct Count {
    uint64_t value = 0, lost = 0;
  };
  Count read(int fd) const;

  void set_variant(size_t variant);
  void set_layout();
  // Whether the kernel writes how long each thread ran. When the kernel switches between threads,
  // it exchanges their counts, and assumes that both have their events in one order. That is so
  // only if all are of one PMU, that of the clock.
  bool has_exit_counts() const { return config_.children && config_.events.empty(); }
  size_t event_count() const { return config_.events.empty() ? 1 : config_.events.size(); }
  uint32_t dump_bytes(uint32_t event) const;
  size_t clock_wake_bytes() const;
  perf_event_attr owner(size_t wake_bytes) const;
  perf_event_attr clock(size_t cpu_index) const;
  perf_event_attr attr_of(uint32_t event, size_t cpu_index) const;
  int open_one(pid_t tid, uint32_t event, size_t cpu_index) const;
  Result<void> open_with_rings(std::span<const pid_t> tids, size_t ring_bytes, bool &too_large);
  Result<void> open_thread(pid_t tid, bool &too_large);
  enum class Opening { done, no_thread, no_processor };
  perf_event_attr exit_counter() const;
  Result<Opening> open_exit_counter(pid_t tid, size_t cpu_index, bool &too_large);
  Result<Opening> open_ring(pid_t tid, size_t ring, bool &too_large);
  // With waits, the stacks of all events but the clock have rings of their own.
  bool has_stack_rings() const {
    constexpr size_t clock_and_switches = 2;
    return config_.waits && (!only_records_ || config_.events.size() > clock_and_switches);
  }
  size_t large_rings_per_processor() const { return has_stack_rings() ? 2 : 1; }
  size_t rings_per_processor() const { return has_stack_rings() || has_exit_counts() ? 2 : 1; }
  size_t descriptors_wanted() const {
    const size_t events = event_count() + (has_exit_counts() ? 1 : 0);
    return cpus_.size() * (threads_ * events + rings_per_processor());
  }
  size_t ring_of(uint32_t event, size_t cpu_index) const;
  void add_counts(std::vector<uint64_t> &sums) const;
  Result<bool> open_event(pid_t tid, uint32_t event, size_t cpu_index);
  bool move_up(UniqueFd &fd) const; // to first_fd_ or above; false sets errno
  bool map_ring(size_t ring, int fd, PerfRing::Writer writer = PerfRing::Writer::kernel);
  Error ring_refusal(int errno_value) const;
  Error refusal(int errno_value, const SampledEvent *event = nullptr) const;
  void release();

  Config config_;
  PerfLayout layout_;
  std::vector<int> cpus_;
  std::vector<Opened> events_;
  EventIds ids_;
  std::vector<Feed> feeds_;     // rings_per_processor() for each processor
  std::vector<PerfRing> rings_; // in the order of feeds_; empty for a processor that is offline
  size_t ring_bytes_ = 0;
  size_t threads_ = 0; // requested, for messages
  int first_fd_ = 0;   // descriptors are moved to this number and above
  bool exclude_kernel_ = false;
  bool only_records_ = false;  // with Config::waits: switches are not sampled
  bool inherit_thread_ = true; // false: children of fork are sampled
  bool reads_lost_ = true;     // the kernel also counts what is lost
  // The counts of closed descriptors minus those before reset_counts(), modulo 2^64.
  struct {
    std::vector<uint64_t> counts;
    uint64_t lost = 0;
  } closed_;
};

} // namespace tally
