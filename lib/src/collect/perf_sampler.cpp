// Implements the sampler that reads perf's rings in a thread of its own.

#include "collect/perf_sampler.h"

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include "collect/perf_events.h"
#include "collect/perf_process.h"
#include "collect/perf_ring.h"
#include "collect/proc_info.h"
#include "collect/reader_thread.h"
#include "collect/sample_sink.h"
#include "collect/sampled_events.h"
#include "collect/sampler.h"
#include "collect/unsampled.h"
#include "collect/wait_look.h"
#include "support/clock.h"
#include "support/exception_text.h"
#include "support/no_process.h"
#include "support/text.h"

namespace tally {

namespace {

// The kernel writes a record within microseconds of the record's time, unless the hypervisor takes
// the virtual processor away in between.
constexpr uint64_t slack_ns = 1'000'000;
// Return the initial sizes of a stack dump. The kernel copies no more than the stack has. Of the
// stacks of a compiler, dumps of 16 KiB truncate 92 %, and those of 64 KiB 24 %; up to 1 kHz the
// difference in cost to the program is not measurable. Above 1 kHz, dumps are enlarged only if many
// stacks are truncated.
constexpr uint32_t first_stack_bytes(const SamplerOptions &options) {
  return options.deep_stacks || options.frequency_hz <= 1000 ? most_stack_bytes : least_stack_bytes;
}
// Events come in bursts, of which more fit into a ring if they are small.
constexpr uint32_t first_event_stack_bytes(const SamplerOptions &options) {
  if (options.deep_stacks)
    return most_stack_bytes;
  return options.waits ? 16 << 10 : 4 << 10;
}
// With fewer samples since the last stop, the share of truncated stacks is not significant.
constexpr uint64_t enough_samples = 100;
constexpr int longest_perf_wait_ms = 200;
// The kernel's account of a thread's time in queues ends with the thread (see run_delay.h).
// To ask for it takes microseconds for each thread, so that a reader that comes every millisecond
// asks less often.
constexpr int longest_wait_for_delays_ms = 50;
constexpr uint64_t settle_interval_ns = 40'000'000;
// A wait that is younger than this may end before it can be looked at. The interval between the
// looks should be short beside the waits that are seen, which are those from a millisecond on.
constexpr uint64_t shortest_look_ns = 300'000;
constexpr int look_interval_ms = 1;
// Therefore records are also handled earlier, although one that comes late then costs an interval.
constexpr uint64_t look_slack_ns = 200'000;

PerfEvents::Config config_of(pid_t pid, const SamplerOptions &options) {
  PerfEvents::Config config;
  config.pid = pid;
  config.stacks = options.stacks;
  config.frequency_hz = options.frequency_hz;
  if (!options.events.empty() || options.waits)
    config.events = options.sampled_events();
  config.waits = options.waits;
  config.children = options.children;
  config.enable_on_exec = options.enable_on_exec;
  config.exact_stack_bytes = options.stack_bytes != 0;
  config.stack_bytes = options.stack_bytes != 0 ? options.stack_bytes : first_stack_bytes(options);
  config.event_stack_bytes =
      options.stack_bytes != 0 ? options.stack_bytes : first_event_stack_bytes(options);
  return config;
}

// Decides whether the stack dumps are to be enlarged.
struct DumpSize {
  // Returns whether too many of the stacks since the last call are truncated.
  bool is_short(const SampleSink::Counters &now) {
    const uint64_t samples = now.samples - at_last_stop.samples;
    const uint64_t truncated = now.short_dumps - at_last_stop.short_dumps;
    at_last_stop = now;
    return may_widen && samples >= enough_samples && truncated > samples / 20;
  }

  bool may_widen;
  SampleSink::Counters at_last_stop{};
};

// It has many data members, because it owns all that sampling a process takes.
class PerfSampler final : public Sampler {
public:
  PerfSampler(pid_t pid, const SamplerOptions &options, PerfEvents events, bool may_reopen)
      : pid_(pid), options_(options),
        events_(std::move(events)), dump_size_{may_reopen && options.stack_bytes == 0},
        sink_(pid, sampling_period_ns(options.frequency_hz), options, events_.layout()) {}
  ~PerfSampler() override { stop(); }

  Result<void> start(std::span<const pid_t> tids);

  void resumed(const Resume &resume) override {
    const std::lock_guard lock(mutex_);
    sink_.collector().resumed(resume);
    sink_.resumed(resume.at_ns);
  }
  void end_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns) override;
  void stop() override;
  SamplerStatus status() override;
  SamplerStatus status_so_far(); // the mutex is locked
  Result<StackProfile> snapshot(std::string_view trigger, uint64_t begin_ns,
                                uint64_t end_ns) override;
  void clear() override;
  void set_region_filter(std::shared_ptr<RegionFilter> region_filter) override;

private:
  Result<void> catch_up_with_threads(std::vector<pid_t> attached);
  Result<void> start_reader();
  void read_until_stopped();
  int wait(int timeout_ms, bool looks_at_rings);
  // `often`: this is called every few milliseconds.
  size_t drain(uint64_t newest_ns, bool often = false);
  void drain_now();
  void finish_if_ended();
  void end();
  bool dumps_are_short();
  bool all_stand() const; // a debugger may stop a single thread
  uint64_t clock_ns() const { return has_clock(options_.events) ? events_.counted().front() : 0; }
  void begin_waits(std::span<const pid_t> tids);
  void hold_standing();
  bool looks_at_waits() { return sink_.waits() && !events_.samples_switches(); }
  void look_at_waits();
  void count_unsampled();
  void widen_dumps();

  const pid_t pid_;
  const SamplerOptions options_;

  // The mutex protects everything below, except what only the reader thread uses.
  std::mutex mutex_;
  PerfEvents events_;
  DumpSize dump_size_;
  SampleSink sink_;
  PerfMerge merge_;
  uint64_t settles_ns_ = 0; // when the waits that have ended are counted next
  ProcessEnd process_end_;
  WaitLook look_{pid_};
  CpuTime cpu_time_;
  bool ended_ = false;
  bool stopping_ = false;
  ReaderProblem problem_;
  std::optional<SamplerStatus> last_status_; // after stop()

  ReaderThread thread_;
  std::vector<pollfd> polled_; // used by the reader thread only
};

Result<void> PerfSampler::start(std::span<const pid_t> tids) {
  for (const pid_t tid : tids)
    sink_.collector().name_thread(tid, thread_name(pid_, tid));
  if (!options_.enable_on_exec) {
    // Read the mappings after the clocks were opened: records report everything mapped from then
    // on.
    if (const auto maps = read_small_file(fmt::format("/proc/{}/maps", pid_)))
      for (const CodeRange &range : parse_maps(*maps))
        sink_.collector().map(range);
    sink_.collector().set_command(command_line(pid_));
    TALLY_CHECK(catch_up_with_threads({tids.begin(), tids.end()}));
  }
  process_end_.open(pid_);
  sink_.set_traced(process_end_.is_traced());
  if (!has_clock(options_.events))
    cpu_time_.measure_process(pid_);
  if (WaitSink *const waits = sink_.waits()) {
    if (!events_.samples_switches())
      waits->set_unsampled();
    if (!options_.enable_on_exec)
      begin_waits(tids);
    for (const pid_t tid : tids)
      waits->exists(tid);
  }
  if (!events_.kernel_included())
    cpu_time_.measure_kernel(pid_);
  if (options_.children)
    cpu_time_.measure_family(pid_);
  cpu_time_.follow();
  return start_reader();
}

// States what the threads do that existed before the clocks, because no record shows it.
void PerfSampler::begin_waits(std::span<const pid_t> tids) {
  const uint64_t now = now_ns();
  for (const pid_t tid : tids)
    if (const auto status = process_status(fmt::format("{}/task/{}", pid_, tid));
        status && status->state == 'R')
      sink_.waits()->clock().runs_from(tid, now);
    else if (status)
      sink_.waits()->clock().begin(tid,
                                   status->state == 'S' || status->state == 'D'
                                       ? WaitClock::Why::waits
                                   : status->state == 't' ? WaitClock::Why::held
                                                          : WaitClock::Why::unknown,
                                   now);
}

void PerfSampler::count_unsampled() {
  if (sink_.waits())
    sink_.waits()->count_unsampled();
}

// Looks at the threads that have begun to wait, until their stacks were seen, where switches have
// no stacks.
void PerfSampler::look_at_waits() {
  if (!looks_at_waits() || look_.is_refused())
    return;
  WaitClock &waits = sink_.waits()->clock();
  for (const pid_t tid : waits.unseen(now_ns() - shortest_look_ns)) {
    const auto seen = look_.at(tid, process_end_.is_traced());
    if (!seen)
      continue;
    if (seen->is_held) {
      waits.hold(tid);
      continue;
    }
    Registers registers;
    registers.processor = Processor::x86_64; // waits are measured there only
    const RegisterNumbers number = register_numbers(registers.processor);
    registers.value[number.sp] = seen->sp;
    registers.value[number.pc] = seen->pc;
    registers.only_sp_and_pc = true;
    sink_.seen_waiting(tid, now_ns(), registers, seen->stack, WaitLook::stack_bytes);
  }
}

// At a stop in the entry of a system call, a thread has the registers of one that waits inside.
void PerfSampler::hold_standing() {
  if (!sink_.waits())
    return;
  WaitClock &waits = sink_.waits()->clock();
  for (const pid_t tid : waits.open())
    if (const auto status = process_status(fmt::format("{}/task/{}", pid_, tid));
        status && status->state == 't')
      waits.hold(tid);
}

// Finds threads that were created while the clocks were being opened. If the parent already had its
// clock, the child has inherited it, and a FORK record reports the child. Otherwise the child has
// no clock yet, and one is opened for it.
Result<void> PerfSampler::catch_up_with_threads(std::vector<pid_t> attached) {
  for (int round = 0; round < 20; ++round) {
    const auto unseen = [&] {
      std::vector<pid_t> tids = thread_ids(pid_);
      drain(PerfMerge::everything);
      std::erase_if(tids, [&](pid_t tid) {
        return sink_.collector().knows_thread(tid) ||
               std::find(attached.begin(), attached.end(), tid) != attached.end();
      });
      return tids;
    };
    if (unseen().empty())
      return {};
    // A thread is listed a moment before the kernel writes its FORK record.
    sleep_ns(2 * slack_ns);
    const std::vector<pid_t> left = unseen();
    if (left.empty())
      return {};
    TALLY_CHECK(events_.add(left));
    for (const pid_t tid : left)
      sink_.collector().name_thread(tid, thread_name(pid_, tid));
    attached.insert(attached.end(), left.begin(), left.end());
  }
  return {};
}

Result<void> PerfSampler::start_reader() {
  // Outside of guarded(), the reader allocates nothing.
  polled_.reserve(events_.rings().size() + 2);
  return thread_.start("tally-reader", [this] { read_until_stopped(); });
}

void PerfSampler::read_until_stopped() {
  const int longest_ms = sink_.waits() ? longest_wait_for_delays_ms : longest_perf_wait_ms;
  // A page that a stack dump lacks is read when the reader comes, and all samples of the thread up
  // to then lack it, too.
  const int longest_busy_ms = events_.stack_bytes() != 0 ? shortest_wait_ms : longest_ms;
  int timeout_ms = looks_at_waits() ? look_interval_ms : longest_busy_ms;
  // Many processors would wake it again and again where it comes soon enough by itself.
  bool is_calm = false;
  for (;;) {
    const int failed = wait(timeout_ms, !is_calm);
    const std::lock_guard lock(mutex_);
    if (stopping_ || ended_ || !problem_.empty())
      return;
    if (failed != 0) {
      problem_.note(strerrordesc_np(failed));
      return;
    }
    problem_.guarded([&] {
      const uint64_t now = now_ns();
      const size_t most = drain(now - (looks_at_waits() ? look_slack_ns : slack_ns), true);
      // If the ring is more than a quarter full, the reader comes too late; otherwise it may wait
      // longer.
      is_calm = events_.wakes_early() && most > 0 && most < events_.ring_bytes() / 8;
      if (most > events_.ring_bytes() / 4)
        timeout_ms = std::max(timeout_ms / 2, shortest_wait_ms);
      else
        timeout_ms = std::min(timeout_ms * 2, most > 0 ? longest_busy_ms : longest_ms);
      look_at_waits();
      if (looks_at_waits())
        timeout_ms = std::min(timeout_ms, look_interval_ms);
      finish_if_ended();
    });
  }
}

// Sleeps until the kernel wakes it for a ring, if it looks at them, the process ends, another
// thread calls wake(), or the timeout expires. The descriptors do not change while the reader runs,
// so this needs no lock.
int PerfSampler::wait(int timeout_ms, bool looks_at_rings) {
  const size_t rings = events_.rings().size();
  polled_.clear();
  for (size_t i = 0; i < rings; ++i)
    polled_.push_back({looks_at_rings ? events_.wake_fd(i) : -1, POLLIN, 0}); // poll() ignores -1
  polled_.push_back({thread_.wake_fd(), POLLIN, 0});
  polled_.push_back({process_end_.pidfd(), POLLIN, 0});
  if (::poll(polled_.data(), polled_.size(), timeout_ms) < 0)
    return errno == EINTR ? 0 : errno;
  for (size_t i = 0; i < rings; ++i)
    if ((polled_[i].revents & (POLLHUP | POLLERR | POLLNVAL)) != 0)
      events_.drop_wake_fd(i);
  if ((polled_[rings + 1].revents & POLLIN) != 0) {
    const std::lock_guard lock(mutex_);
    process_end_.note_gone();
  }
  return 0;
}

size_t PerfSampler::drain(uint64_t newest_ns, bool often) {
  const size_t most =
      merge_.run(events_.rings(), events_.layout(), newest_ns,
                 [this](const PerfRecord &record) { sink_.handle(record, events_.ids()); });
  if (std::ranges::any_of(events_.rings(), &PerfRing::is_overwritten))
    problem_.note("the program has overwritten the memory in which the kernel counts its ticks; "
                  "what came before is kept");
  if (const uint64_t now = now_ns(); sink_.waits() && (!often || now >= settles_ns_)) {
    sink_.waits()->settle();
    settles_ns_ = now + settle_interval_ns;
  }
  if (sink_.take_exec())
    if (std::string command = command_line(pid_); !command.empty())
      sink_.collector().set_command(std::move(command));
  return most;
}

// Drains what was written up to this moment, in order, while the process may be running.
void PerfSampler::drain_now() {
  const uint64_t now = now_ns();
  drain(now - slack_ns);
  if (merge_.held_back()) {
    sleep_ns(slack_ns);
    drain(now);
  }
  sink_.give_up_held();
}

void PerfSampler::finish_if_ended() {
  cpu_time_.follow();
  if (process_end_.has_come())
    end();
}

void PerfSampler::end() {
  events_.disable();
  drain(PerfMerge::everything);
  sink_.finish(now_ns());
  ended_ = true;
}

void PerfSampler::end_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns) {
  bool widen = false;
  {
    const std::lock_guard lock(mutex_);
    problem_.guarded([&] {
      drain(PerfMerge::everything);
      sink_.give_up_held();
      hold_standing();
      count_unsampled();
      sink_.collector().end_part(trigger, begin_ns, end_ns);
      sink_.stopped();
      widen = dumps_are_short();
    });
  }
  if (widen)
    widen_dumps();
}

bool PerfSampler::all_stand() const {
  for (const pid_t tid : thread_ids(pid_)) {
    const auto status = process_status(fmt::format("{}/task/{}", pid_, tid));
    if (status && status->state != 't' && status->state != 'T' && status->state != 'Z')
      return false;
  }
  return true;
}

// Returns whether too many of the stacks since the last stop are truncated and larger dumps are
// possible.
bool PerfSampler::dumps_are_short() {
  return dump_size_.is_short(sink_.counters()) && !last_status_ && !ended_ && problem_.empty() &&
         events_.stack_bytes() < most_stack_bytes && all_stand();
}

// Replaces the clocks by ones with larger stack dumps. The process is stopped: no thread is
// created, nothing is mapped and nothing is sampled between the old clocks and the new ones.
void PerfSampler::widen_dumps() {
  dump_size_.may_widen = false; // there is one attempt, with the largest size
  PerfEvents wider;
  {
    const std::lock_guard lock(mutex_);
    problem_.guarded([&] {
      SamplerOptions options = options_;
      options.enable_on_exec = false; // the exec has already happened
      options.deep_stacks = true;
      const PerfEvents::Config config = config_of(pid_, options);
      if (auto opened = PerfEvents::open(config, thread_ids(pid_)))
        wider = std::move(*opened);
    });
    if (wider.stack_bytes() <= events_.stack_bytes())
      return; // keep the current clocks
    stopping_ = true;
  }
  thread_.join(); // it reads the descriptors without a lock
  stopping_ = false;
  problem_.guarded([&] {
    drain(PerfMerge::everything);
    wider.continue_from(events_);
    events_ = std::move(wider);
    if (const auto started = start_reader(); !started)
      problem_.note(started.error().text());
  });
}

void PerfSampler::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  thread_.join();
  if (last_status_)
    return;
  problem_.guarded([&] {
    if (!ended_)
      events_.disable();
    drain(PerfMerge::everything);
    sink_.finish(now_ns());
  });
  SamplerStatus last;
  last.ring_bytes = events_.ring_bytes();
  last.rings = static_cast<uint32_t>(events_.rings().size());
  last.stack_bytes = events_.stack_bytes();
  last_status_ = last;
  events_.close();
  thread_.close();
  process_end_.close();
  problem_.guarded([&] { cpu_time_.follow(); });
  cpu_time_.close();
}

SamplerStatus PerfSampler::status() {
  const std::lock_guard lock(mutex_);
  problem_.guarded([&] {
    if (!last_status_)
      drain_now();
    cpu_time_.follow();
  });
  return status_so_far();
}

SamplerStatus PerfSampler::status_so_far() {
  SamplerStatus status = last_status_.value_or(SamplerStatus{});
  if (!last_status_) {
    status.ring_bytes = events_.ring_bytes();
    status.rings = static_cast<uint32_t>(events_.rings().size());
    status.events = static_cast<uint32_t>(events_.count());
    status.stack_bytes = events_.stack_bytes();
  }
  const SampleSink::Counters &counters = sink_.counters();
  status.requested_hz = options_.frequency_hz;
  status.samples = counters.samples;
  status.outside = counters.outside;
  status.kernel_samples = counters.kernel_samples;
  status.lost = std::max(counters.lost, events_.lost());
  status.throttled = counters.throttled;
  status.truncated_stacks = counters.truncated_stacks;
  status.short_dumps = counters.short_dumps;
  status.joined_stacks = counters.joined_stacks;
  status.threads = sink_.collector().thread_count();
  status.parts = sink_.collector().part_count();
  if (options_.children) {
    status.processes = sink_.collector().process_count();
    status.processes_left = counters.processes_left;
  }
  status.cpu_ns = cpu_time_.ns(clock_ns());
  if (!options_.events.empty())
    status.counted = events_.counted();
  status.kernel_included = events_.kernel_included();
  status.unsampled_ns = cpu_time_.unsampled_ns(clock_ns());
  status.used_ns = cpu_time_.family_ns();
  if (WaitSink *const waits = sink_.waits()) {
    status.waits = waits->counters().waits;
    status.wait_ns = waits->counters().wait_ns;
    status.queued_ns = waits->counters().queued_ns;
    status.divided_ns = waits->counters().divided_ns;
    status.waits_unsampled = !events_.samples_switches();
  }
  status.memory_bytes = sink_.collector().memory_bytes();
  status.ended = ended_;
  status.problem = problem_.text();
  if (status.problem.empty() && counters.bad_records != 0)
    status.problem =
        "the rings of the kernel held " + counted(counters.bad_records, "invalid records");
  return status;
}

Result<StackProfile> PerfSampler::snapshot(std::string_view trigger, uint64_t begin_ns,
                                           uint64_t end_ns) {
  const std::lock_guard lock(mutex_);
  try {
    if (!last_status_)
      drain_now();
    count_unsampled();
    TALLY_TRY(profile, sink_.collector().snapshot(trigger, begin_ns, end_ns));
    if (sink_.collector().region_filter()) // the time outside of the region is not known
      return profile;
    cpu_time_.follow();
    return with_unsampled(std::move(profile), options_, status_so_far());
  } catch (const std::exception &error) {
    return fail(ErrorCode::limit,
                fmt::format("cannot copy the samples: {}", exception_text(error)));
  }
}

void PerfSampler::clear() {
  const std::lock_guard lock(mutex_);
  problem_.guarded([&] {
    if (!last_status_)
      drain_now();
    sink_.clear(now_ns());
    dump_size_.at_last_stop = {};
    events_.reset_counts();
    cpu_time_.clear();
  });
}

void PerfSampler::set_region_filter(std::shared_ptr<RegionFilter> region_filter) {
  const std::lock_guard lock(mutex_);
  problem_.guarded([&] {
    if (!last_status_)
      drain_now();
  });
  sink_.collector().set_region_filter(std::move(region_filter));
}

Result<void> check_options(pid_t pid, const SamplerOptions &options) {
  if (pid <= 0)
    return fail(ErrorCode::invalid_argument, fmt::format("{} is not a process id", pid));
  TALLY_CHECK(check_sampler_options(options));
  if (options.waits && unwind_register_mask() == 0)
    return fail(ErrorCode::unsupported, "waits are measured on x86-64 only");
  if (options.waits && !has_clock(options.events))
    return fail(ErrorCode::invalid_argument, "waits are measured beside the clock");
  if (options.waits && std::ranges::any_of(options.events, &SampledEvent::is_switch))
    return fail(ErrorCode::invalid_argument,
                "waits are measured by the context switches, which cannot be sampled, too");
  const std::string sysctl = "/proc/sys/kernel/perf_event_max_sample_rate";
  if (const auto most = read_sysctl(sysctl); most && options.frequency_hz > *most)
    return fail(
        ErrorCode::invalid_argument,
        fmt::format("{} Hz exceeds kernel.perf_event_max_sample_rate ({}): use a lower "
                    "frequency, or raise it (the kernel lowers it when sampling takes long)",
                    options.frequency_hz, *most));
  return {};
}

Result<std::unique_ptr<Sampler>> start(pid_t pid, const SamplerOptions &options, PerfEvents events,
                                       std::span<const pid_t> tids, bool may_reopen) {
  auto sampler = std::make_unique<PerfSampler>(pid, options, std::move(events), may_reopen);
  TALLY_CHECK(sampler->start(tids));
  return sampler;
}

} // namespace

Result<void> check_sampler_options(const SamplerOptions &options) {
  if (options.frequency_hz == 0)
    return fail(ErrorCode::invalid_argument, "the frequency must be at least 1 Hz");
  if (options.stacks == StackMode::dwarf) {
    if (!options.unwinder)
      return fail(ErrorCode::invalid_argument, "stack mode dwarf requires an unwinder");
    if (unwind_register_mask() == 0)
      return fail(ErrorCode::unsupported,
                  "stack mode dwarf is supported for x86-64 only: use frame pointers");
    if (options.stack_bytes % 8 != 0 || options.stack_bytes > most_stack_bytes)
      return fail(ErrorCode::invalid_argument,
                  fmt::format("a stack dump cannot have {} bytes: use a multiple of 8 up to {}",
                              options.stack_bytes, most_stack_bytes));
  }
  return {};
}

Result<std::unique_ptr<Sampler>> start_perf_sampler(pid_t pid, const SamplerOptions &options,
                                                    PerfEvents events,
                                                    std::span<const pid_t> tids) {
  return start(pid, options, std::move(events), tids, false);
}

Result<std::unique_ptr<Sampler>> start_perf_sampler(pid_t pid, const SamplerOptions &options) {
  try {
    TALLY_CHECK(check_options(pid, options));
    const auto status = process_status(std::to_string(pid));
    const std::vector<pid_t> tids = thread_ids(pid);
    if (!status || tids.empty())
      return no_process(pid);
    if (status->tgid != pid)
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("{} is a thread of process {}: give the process ID", pid, status->tgid));
    TALLY_TRY(events, PerfEvents::open(config_of(pid, options), tids));
    return start(pid, options, std::move(events), tids, true);
  } catch (const std::exception &error) {
    return fail(ErrorCode::limit,
                fmt::format("cannot start the sampler: {}", exception_text(error)));
  }
}

} // namespace tally
