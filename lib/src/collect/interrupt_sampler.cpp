
#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "collect/interrupt.h"
#include "collect/perf_sampler.h"
#include "collect/proc_info.h"
#include "collect/stack_collector.h"
#include "stacks/address_space.h"
#include "support/clock.h"
#include "support/exception_text.h"
#include "support/no_process.h"

namespace tally {

namespace {

// A reading of the mappings usually takes less CPU time than this, so that they are read at each
// stop. In a process with thousands of mappings it takes milliseconds, and the clock lets the
// process run for four times as long. Therefore a multiple of this time passes until the next one.
constexpr uint64_t cheap_reading_ns = 200'000;
constexpr uint64_t interval_per_reading = 50;

class StopCounter final : public InterruptSampler {
public:
  StopCounter(pid_t pid, int signal, const SamplerOptions &options, InterruptClock &clock)
      : pid_(pid), requested_hz_(options.frequency_hz), clock_(clock),
        collector_(pid, {InterruptClock::period_ns(pid, options.frequency_hz)}) {
    clock_.clear();
    clock_.set(pid, signal, options.frequency_hz);
    collector_.set_region_filter(options.region_filter);
    if (pid_ != 0)
      collector_.set_command(command_line(pid_));
    read_map();
  }
  ~StopCounter() override { clock_.stopped(); }

  void add(const ThreadStack &stack) override {
    guarded([&] {
      const uint64_t weight = clock_.weight();
      if (!collector_.counts(stack.tid, now_ns(), StackCollector::TickOrigin::user, 0)) {
        outside_ += weight;
        return;
      }
      read_map();
      collector_.name_thread(stack.tid, stack.name);
      // A debugger's unwinder may follow arbitrary data on the stack. An address outside of all
      // code cannot be a caller, and the frames beyond it cannot be trusted.
      size_t depth = std::min<size_t>(stack.pcs.size(), 1);
      while (depth < stack.pcs.size() &&
             (pid_ == 0 || collector_.space().find(stack.pcs[depth]) != AddressSpace::nowhere))
        ++depth;
      collector_.add(stack.tid, stack.pcs.first(depth), static_cast<int64_t>(weight), now_ns());
      samples_ += weight;
    });
  }

  void resumed(const Resume &resume) override { collector_.resumed(resume); }

  void end_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns) override {
    guarded([&] { collector_.end_part(trigger, begin_ns, end_ns); });
  }

  void stop() override { clock_.stopped(); }

  SamplerStatus status() override {
    SamplerStatus status;
    status.requested_hz = requested_hz_;
    status.samples = samples_;
    status.outside = outside_;
    status.rounds = clock_.rounds();
    status.periods = clock_.periods();
    status.lost = clock_.missed();
    status.queued = clock_.queued();
    status.unheld = clock_.unheld();
    status.wall_clock = true;
    status.threads = collector_.thread_count();
    status.parts = collector_.part_count();
    status.memory_bytes = collector_.memory_bytes();
    status.ended = pid_ != 0 && !process_status(std::to_string(pid_));
    status.problem = problem_.empty() ? clock_.problem() : problem_;
    return status;
  }

  Result<StackProfile> snapshot(std::string_view trigger, uint64_t begin_ns,
                                uint64_t end_ns) override {
    try {
      return collector_.snapshot(trigger, begin_ns, end_ns);
    } catch (const std::exception &error) {
      return fail(ErrorCode::limit,
                  fmt::format("cannot copy the samples: {}", exception_text(error)));
    }
  }

  void clear() override {
    guarded([&] { collector_.clear(); });
    clock_.clear();
    samples_ = outside_ = 0;
  }

  void set_region_filter(std::shared_ptr<RegionFilter> region_filter) override {
    collector_.set_region_filter(std::move(region_filter));
  }

private:
  template <class Work> void guarded(Work &&work) {
    try {
      work();
    } catch (const std::exception &error) {
      problem_ = exception_text(error);
    }
  }

  // Reads the mappings of the process, because nothing reports that they change: a file may be
  // mapped where another one was, after dlclose() or exec. After the process has ended, the last
  // mappings are kept.
  void read_map() {
    if (pid_ == 0 || now_ns() < next_reading_ns_)
      return;
    const uint64_t begin = own_cpu_ns();
    const auto text = read_small_file(fmt::format("/proc/{}/maps", pid_));
    std::vector<CodeRange> ranges = parse_maps(text.value_or(""));
    if (!ranges.empty() && ranges != mapped_) {
      collector_.forget_mappings();
      for (const CodeRange &range : ranges)
        collector_.map(range);
      mapped_ = std::move(ranges);
    }
    const uint64_t took = own_cpu_ns() - begin;
    if (took > cheap_reading_ns)
      next_reading_ns_ = now_ns() + interval_per_reading * took;
  }

  const pid_t pid_;
  const uint32_t requested_hz_;
  InterruptClock &clock_;
  StackCollector collector_;
  std::vector<CodeRange> mapped_; // as read last
  uint64_t next_reading_ns_ = 0;
  uint64_t samples_ = 0;
  uint64_t outside_ = 0;
  std::string problem_;
};

} // namespace

Result<std::unique_ptr<InterruptSampler>> make_interrupt_sampler(pid_t pid, int signal,
                                                                 const SamplerOptions &options,
                                                                 InterruptClock &clock) {
  try {
    if (!options.events.empty() || options.waits)
      return fail(ErrorCode::unsupported, std::string(samples_the_clock_only));
    if (options.frequency_hz == 0)
      return fail(ErrorCode::invalid_argument, "the frequency must be at least 1 Hz");
    if (pid != 0 && !process_status(std::to_string(pid)))
      return no_process(pid);
    return std::make_unique<StopCounter>(pid, signal, options, clock);
  } catch (const std::exception &error) {
    return fail(ErrorCode::limit,
                fmt::format("cannot start the sampler: {}", exception_text(error)));
  }
}

} // namespace tally
