// The descriptors of perf_event_open for one process: a clock for each thread on each processor,
// and one ring for each processor.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <linux/perf_event.h>
#include <sys/types.h>

#include <tally/result.h>
#include <tally/sampler.h>

#include "collect/perf_ring.h"
#include "support/perf_records.h"
#include "support/unique_fd.h"

namespace tally {

// The registers of a user-mode sample, as perf_event_attr.sample_regs_user takes them.
uint64_t pc_register_mask();
uint64_t unwind_register_mask(); // 0: no unwinding on this processor

// The clock's tick for a frequency, in ns: a little longer and odd, see the definition.
uint64_t sampling_period_ns(uint32_t frequency_hz);

// How much of the stack comes with a sample, for StackMode::dwarf.
inline constexpr uint32_t least_stack_bytes = 8 << 10;
inline constexpr uint32_t most_stack_bytes = 32 << 10;

class PerfEvents {
public:
  struct Config {
    pid_t pid = 0;
    StackMode stacks = StackMode::fp;
    uint32_t frequency_hz = 1000;
    // Of copies, if the rings have room for as many as come while the reader is kept from running:
    // halved until they have, but not below least_stack_bytes.
    uint32_t stack_bytes = least_stack_bytes;
    bool enable_on_exec = false;
  };

  // What somebody else opens in our place: a ring's owner and, in the order in which they are to be
  // tried, the variants of a clock. The clock of the i-th processor has a period of 2 * i ns more.
  struct Attributes {
    uint32_t bytes = 0; // of each, as the kernel is told
    perf_event_attr owner{};
    std::vector<perf_event_attr> clocks;
    size_t ring_bytes = 0; // to begin with; halved where it may not be mapped
    size_t least_ring_bytes = 0;
  };
  static Attributes attributes(const Config &config);
  struct Given {
    UniqueFd fd;
    size_t cpu_index = 0;
  };
  // Takes over what was opened so, `variant` being the clock that the kernel took; a processor's
  // first descriptor is its ring's owner, mapped elsewhere with `ring_bytes`. An error: not the
  // kernel's clocks, or a ring cannot be mapped; then all are closed.
  static Result<PerfEvents> adopt(const Config &config, std::vector<Given> given, size_t variant,
                                  size_t cpus, size_t ring_bytes);

  // Opens the clocks of all `tids`; those that end meanwhile are passed over.
  static Result<PerfEvents> open(const Config &config, std::span<const pid_t> tids);
  // The same for threads found later.
  Result<void> add(std::span<const pid_t> tids);

  PerfEvents() = default;
  PerfEvents(PerfEvents &&other) noexcept { *this = std::move(other); }
  PerfEvents &operator=(PerfEvents &&other) noexcept;
  ~PerfEvents() { close(); }

  std::span<PerfRing> rings() { return rings_; }
  const PerfLayout &layout() const { return layout_; }
  bool kernel_included() const { return !exclude_kernel_; }
  size_t ring_bytes() const { return ring_bytes_; }
  uint32_t stack_bytes() const; // of a copy; 0: none are made
  size_t count() const { return events_.size(); }

  // The descriptor that wakes poll() when ring i fills; -1 when all that fed it has ended.
  int wake_fd(size_t i) const;
  // It reported POLLHUP and will for ever: another event of the same ring takes its place.
  void drop_wake_fd(size_t i) { ++feeds_[i].next; }

  uint64_t cpu_ns() const; // of all that was sampled, also after close()
  void disable();
  // Takes the place of `before`, which is closed.
  void continue_from(PerfEvents &before);
  void close();

private:
  struct Feed {
    std::vector<int> fds; // that write into the ring, the owner first
    size_t next = 0;
    void *map = nullptr;
    size_t map_bytes = 0;
  };
  void set_variant(size_t variant);
  perf_event_attr owner() const;
  perf_event_attr clock(size_t cpu_index) const;
  int open_one(pid_t tid, size_t cpu_index) const;
  Result<void> open_with_rings(std::span<const pid_t> tids, size_t ring_bytes, bool &too_large);
  Result<void> open_thread(pid_t tid, bool &too_large);
  bool move_up(UniqueFd &fd) const; // to first_fd_ or above; false: errno says why not
  bool map_ring(size_t cpu_index, int fd);
  Error ring_refusal(int errno_value) const;
  Error refusal(int errno_value) const;
  void release();

  Config config_;
  PerfLayout layout_;
  std::vector<int> cpus_;
  std::vector<UniqueFd> events_;
  std::vector<Feed> feeds_;     // one a processor
  std::vector<PerfRing> rings_; // the same order
  size_t ring_bytes_ = 0;
  size_t threads_ = 0; // asked for, for messages
  int first_fd_ = 0;   // descriptors are moved to this number and above
  bool exclude_kernel_ = false;
  bool inherit_thread_ = true; // false: fork children are sampled too, and sorted out by their pid
  uint64_t closed_cpu_ns_ = 0;
};

} // namespace tally
