
#include <algorithm>
#include <exception>

#include <fmt/format.h>

#include "collect/interrupt.h"
#include "collect/perf_sampler.h"
#include "collect/proc_info.h"
#include "collect/stack_collector.h"
#include "support/clock.h"

namespace tally {

namespace {

// The least and greatest interval between two readings of the mappings. The interval doubles
// whenever a reading shows no new mapping, and becomes the least one again when a reading shows a
// new mapping.
constexpr uint64_t least_map_age_ns = 2'000'000;
constexpr uint64_t most_map_age_ns = 200'000'000;

class StopCounter final : public InterruptSampler {
public:
  StopCounter(pid_t pid, int signal, const SamplerOptions &options, InterruptClock &clock)
      : pid_(pid), requested_hz_(options.frequency_hz), clock_(clock),
        collector_(pid, {1'000'000'000 / options.frequency_hz}) {
    clock_.clear();
    clock_.set(pid, signal, options.frequency_hz);
    if (pid_ != 0)
      collector_.set_command(command_line(pid_));
    read_map();
  }
  ~StopCounter() override { clock_.stopped(); }

  void add(const ThreadStack &stack) override {
    guarded([&] {
      if (!collector_.counts(stack.tid, now_ns(), StackCollector::TickOrigin::user, 0)) {
        ++outside_;
        return;
      }
      if (!stack.pcs.empty() && collector_.space().find(stack.pcs[0]) == AddressSpace::nowhere)
        read_map();
      collector_.name_thread(stack.tid, stack.name);
      // A debugger's unwinder may follow arbitrary data on the stack. An address outside of all
      // code cannot be a caller, and the frames beyond it cannot be trusted.
      size_t depth = std::min<size_t>(stack.pcs.size(), 1);
      while (depth < stack.pcs.size() &&
             (pid_ == 0 || collector_.space().find(stack.pcs[depth]) != AddressSpace::nowhere))
        ++depth;
      collector_.add(stack.tid, stack.pcs.first(depth), 1);
      ++samples_;
    });
  }

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
      return fail(ErrorCode::limit, fmt::format("cannot copy the samples: {}", error.what()));
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
      problem_ = error.what();
    }
  }

  // Reads the mappings of the process, because nothing reports that they change. After the process
  // has ended, the last mappings are kept.
  void read_map() {
    const uint64_t now = now_ns();
    if (pid_ == 0 || (map_read_ns_ != 0 && now - map_read_ns_ < map_age_ns_))
      return;
    map_read_ns_ = now;
    const uint64_t known = collector_.space().generation();
    if (const auto maps = read_small_file(fmt::format("/proc/{}/maps", pid_)))
      for (const CodeRange &range : parse_maps(*maps))
        collector_.map(range);
    map_age_ns_ = collector_.space().generation() != known
                      ? least_map_age_ns
                      : std::min(2 * map_age_ns_, most_map_age_ns);
  }

  const pid_t pid_;
  const uint32_t requested_hz_;
  InterruptClock &clock_;
  StackCollector collector_;
  uint64_t map_read_ns_ = 0;
  uint64_t map_age_ns_ = least_map_age_ns;
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
      return fail(ErrorCode::not_found, fmt::format("there is no process {}", pid));
    return std::make_unique<StopCounter>(pid, signal, options, clock);
  } catch (const std::exception &error) {
    return fail(ErrorCode::limit, fmt::format("cannot start the sampler: {}", error.what()));
  }
}

} // namespace tally
