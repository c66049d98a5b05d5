// Describes to the kernel what each perf event counts, and which records it writes.
#include <algorithm>
#include <cstdint>

#include <linux/perf_event.h>
#include <time.h>

#if defined(__x86_64__) || defined(__aarch64__)
#include <asm/perf_regs.h>
#endif

#include "collect/perf_events.h"
#include "collect/reader_thread.h"

namespace tally {

namespace {

// The size of the attributes up to sample_max_stack, the last member used here. An older kernel
// refuses a larger size.
constexpr uint32_t attr_size = 112;

constexpr uint64_t read_lost = 1U << 4; // PERF_FORMAT_LOST, of Linux 6.0

perf_event_attr common_attr() {
  perf_event_attr attr{};
  attr.size = attr_size;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attr.exclude_hv = 1;
  attr.exclude_guest = 1;
  attr.use_clockid = 1;
  attr.clockid = CLOCK_MONOTONIC;
  attr.sample_id_all = 1;
  return attr;
}

} // namespace

#if defined(__x86_64__)
static uint64_t ax_register_mask() { return uint64_t{1} << PERF_REG_X86_AX; }
uint64_t pc_register_mask() { return uint64_t{1} << PERF_REG_X86_IP; }
uint64_t unwind_register_mask() {
  const auto bits = [](unsigned first, unsigned last) {
    return ((uint64_t{2} << last) - 1) & ~((uint64_t{1} << first) - 1);
  };
  return bits(PERF_REG_X86_AX, PERF_REG_X86_IP) | bits(PERF_REG_X86_R8, PERF_REG_X86_R15);
}
#elif defined(__aarch64__)
static uint64_t ax_register_mask() { return 0; }
uint64_t pc_register_mask() { return uint64_t{1} << PERF_REG_ARM64_PC; }
uint64_t unwind_register_mask() { return 0; }
#else
static uint64_t ax_register_mask() { return 0; }
uint64_t pc_register_mask() { return 0; }
uint64_t unwind_register_mask() { return 0; }
#endif

uint64_t sampling_period_ns(uint32_t frequency_hz) {
  // With a period of exactly one millisecond, a program that does something every millisecond would
  // be sampled at the same point each time. The period is 0.3 % longer and odd. Therefore the ticks
  // drift through such a program's period within a third of a second, and the two periods do not
  // have a small common factor.
  const uint64_t period = uint64_t{1'000'000'000} / frequency_hz;
  return (period + period * 3 / 1000) | 1;
}

// Returns after how many bytes in a clock's ring the kernel wakes the reader. A reader that has
// found the rings empty sleeps long. Meanwhile a program may start threads, whose first stack dumps
// all lack the pages that the reader would bring into memory. Therefore these dumps wake it as soon
// as it comes while the program is busy.
size_t PerfEvents::clock_wake_bytes() const {
  const size_t quarter = ring_bytes_ / 4;
  // Bursts of other events would wake the reader for each few of them.
  if (config_.stacks != StackMode::dwarf || clock_meets_bursts(config_))
    return quarter;
  return std::min(quarter,
                  size_t{config_.stack_bytes} * config_.frequency_hz * shortest_wait_ms / 1000);
}

uint32_t PerfEvents::dump_bytes(uint32_t event) const {
  const bool is_clock = config_.events.empty() || config_.events[event].is_clock();
  return is_clock ? config_.stack_bytes : config_.event_stack_bytes;
}

perf_event_attr PerfEvents::owner(size_t wake_bytes) const {
  perf_event_attr attr = common_attr();
  attr.config = has_exit_counts() ? PERF_COUNT_SW_TASK_CLOCK : PERF_COUNT_SW_DUMMY;
  attr.exclude_kernel = 1;
  // If all events of a thread are inherited, the kernel switches between the threads of a process
  // without a stop of their clocks, which takes a fifth of the time.
  attr.inherit = 1;
  attr.inherit_thread = inherit_thread_;
  attr.read_format = reads_lost_ ? read_lost : 0;
  attr.watermark = 1;
  attr.wakeup_watermark = static_cast<uint32_t>(wake_bytes);
  return attr;
}

perf_event_attr PerfEvents::exit_counter() const {
  perf_event_attr attr = owner(exit_ring_bytes / 4);
  attr.inherit_stat = 1;
  attr.disabled = config_.enable_on_exec;
  attr.enable_on_exec = config_.enable_on_exec;
  return attr;
}

perf_event_attr PerfEvents::clock(size_t cpu_index) const { return attr_of(0, cpu_index); }

perf_event_attr PerfEvents::attr_of(uint32_t event, size_t cpu_index) const {
  perf_event_attr attr = common_attr();
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  // The periods differ by processor, so that no two processors tick in step.
  attr.sample_period =
      sampling_period_ns(config_.frequency_hz) + 2 * static_cast<uint64_t>(cpu_index);
  const SampledEvent *const sampled = config_.events.empty() ? nullptr : &config_.events[event];
  if (sampled && !sampled->is_clock()) {
    attr.type = sampled->type;
    attr.config = sampled->config;
    attr.sample_period = sampled->period;
  }
  if (only_records_ && sampled->is_switch()) {
    attr.config = PERF_COUNT_SW_DUMMY;
    attr.sample_period = 0;
  }
  if (event_count() > 1)
    attr.sample_type |= PERF_SAMPLE_IDENTIFIER;
  attr.inherit = 1;
  attr.inherit_thread = inherit_thread_;
  attr.read_format = reads_lost_ ? read_lost : 0;
  attr.exclude_kernel = exclude_kernel_;
  const bool is_first = event == 0; // the others would repeat these records
  attr.mmap = is_first;
  attr.mmap2 = is_first;
  attr.comm = is_first;
  attr.comm_exec = is_first;
  attr.task = is_first;
  attr.disabled = config_.enable_on_exec;
  attr.enable_on_exec = config_.enable_on_exec;
  switch (config_.stacks) {
  case StackMode::none:
    // A sample taken in the kernel has a kernel address as its pc. The user-mode register holds the
    // program's own pc.
    if (pc_register_mask() != 0) {
      attr.sample_type |= PERF_SAMPLE_REGS_USER;
      attr.sample_regs_user = pc_register_mask();
    }
    break;
  case StackMode::fp:
    attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
    attr.exclude_callchain_kernel = 1;
    break;
  case StackMode::dwarf:
    // The kernel's own call chain continues where the stack dump ends, in code with frame pointers.
    attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER | PERF_SAMPLE_CALLCHAIN;
    attr.exclude_callchain_kernel = 1;
    attr.sample_regs_user = unwind_register_mask();
    attr.sample_stack_user = dump_bytes(event);
    break;
  }
  if (std::ranges::any_of(config_.events, &SampledEvent::is_switch)) {
    // The record of a switch follows its sample, and the registers show a system call. SampleSink
    // distinguishes the debugger's stops by both. All events have the same layout.
    attr.context_switch = has_stack_rings() ? is_first : sampled->is_switch();
    attr.sample_type |= PERF_SAMPLE_REGS_USER;
    attr.sample_regs_user |= pc_register_mask() | ax_register_mask();
  }
  return attr;
}

} // namespace tally
