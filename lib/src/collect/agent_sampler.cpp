// Implements the sampler that reads, in a thread of its own, what an agent inside the program
// writes.

#include <algorithm>
#include <cerrno>
#include <climits>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/agent.h"
#include "collect/agent_library.h"
#include "collect/agent_memory.h"
#include "collect/agent_process.h"
#include "collect/agent_sink.h"
#include "collect/agent_words.h"
#include "collect/perf_sampler.h"
#include "collect/proc_info.h"
#include "collect/reader_thread.h"
#include "support/clock.h"
#include "support/exception_text.h"
#include "support/no_process.h"
#include "support/text.h"
#include "support/unique_fd.h"
#include "transform/merge.h"

namespace tally {

namespace {

constexpr int longest_agent_wait_ms = 100;
constexpr uint64_t look_every_ns = 200'000'000;
constexpr uint32_t highest_hz = 20'000;
// If the process has used this much CPU time and the agent has not reported, the program will not
// load the agent any more.
constexpr uint64_t silence_ns = 200'000'000;

// The data of the processes before the followed one.
struct Earlier {
  void add_to(SamplerStatus &status) const;

  std::vector<StackProfile> profiles;
  SamplerStatus sums; // only the fields that add_to() adds
};

void Earlier::add_to(SamplerStatus &status) const {
  status.samples += sums.samples;
  status.outside += sums.outside;
  status.kernel_samples += sums.kernel_samples;
  status.lost += sums.lost;
  status.truncated_stacks += sums.truncated_stacks;
  status.joined_stacks += sums.joined_stacks;
  status.cpu_ns += sums.cpu_ns;
  status.wait_ns += sums.wait_ns;
  status.queued_ns += sums.queued_ns;
  status.unsampled_ns += sums.unsampled_ns;
  status.threads += sums.threads;
  status.parts += sums.parts;
}

// Holds what the agent's memory states when sampling is stopped, because the memory is then
// released.
struct LastState {
  uint32_t state = TALLY_STATE_EMPTY, end = TALLY_END_NOT;
  uint64_t lost = 0, cpu_ns = 0;
  AgentFacts facts;
};

class LiveAgentSampler final : public AgentSampler {
public:
  LiveAgentSampler(const SamplerOptions &options, std::string library, AgentMemory memory)
      : options_(options), memory_(std::move(memory)) {
    launch_ = {std::move(library), memory_.variable(), agent_signals()};
    sink_.emplace(0, period_ns(), options_, [this] { return may_look(); });
  }
  ~LiveAgentSampler() override { stop(); }
  Result<void> start_reader() {
    return thread_.start("tally-agent", [this] { read_until_stopped(); });
  }

  const AgentLaunch &launch() const override { return launch_; }
  void expect(pid_t pid) override;
  AgentFacts facts() override;

  void resumed(const Resume &resume) override;
  void end_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns) override;
  void stop() override;
  SamplerStatus status() override;
  Result<StackProfile> snapshot(std::string_view trigger, uint64_t begin_ns,
                                uint64_t end_ns) override;
  void clear() override;
  void set_region_filter(std::shared_ptr<RegionFilter> region_filter) override;

private:
  uint64_t period_ns() const { return sampling_period_ns(options_.frequency_hz); }
  uint32_t state() const { return last_ ? last_->state : memory_.load(&tally_wire_header::state); }
  uint32_t end_reason() const { return last_ ? last_->end : memory_.load(&tally_wire_header::end); }
  bool may_look() const { return !process_.gone && end_reason() != TALLY_END_EXEC; }

  void read_until_stopped();
  void wait(int timeout_ms);
  void follow(); // acts on the agent's state
  void take_clocks();
  Result<std::unique_ptr<Sampler>> adopt_clocks();
  size_t drain();
  void count_waits(bool held);
  void pass_resumed();
  void bank(); // keeps the data of the previous process
  std::string guess_silence();
  uint64_t lost() const;
  uint64_t cpu_ns() const;
  AgentFacts facts_now();

  SamplerOptions options_; // the region filter changes, under the mutex
  AgentLaunch launch_;

  // The mutex protects everything below, except what only the reader thread uses.
  std::mutex mutex_;
  AgentMemory memory_;
  std::optional<AgentSink> sink_;
  std::unique_ptr<Sampler> inner_; // reads the kernel's clocks, once they were taken over
  Earlier earlier_;
  struct {
    uint64_t next_ns = 0; // when to call count_waits()
    bool held = true;     // the process stands at a stop, or has not begun to run
  } waits_;
  Resume resumed_;          // what resumed() was called with last
  FollowedProcess process_; // expect() replaces it
  bool stopping_ = false;
  ReaderProblem problem_;
  std::optional<LastState> last_; // once sampling was stopped

  ReaderThread thread_;
};

void LiveAgentSampler::read_until_stopped() {
  int timeout_ms = shortest_wait_ms;
  for (;;) {
    wait(timeout_ms);
    const std::lock_guard lock(mutex_);
    if (stopping_ || !problem_.empty())
      return;
    problem_.guarded([&] {
      follow();
      if (inner_ || process_.pid == 0) {
        timeout_ms = longest_agent_wait_ms;
        return;
      }
      const size_t most = drain();
      if (most > memory_.ring_bytes() / 8)
        timeout_ms = std::max(timeout_ms / 2, shortest_wait_ms);
      else
        timeout_ms = std::min(timeout_ms * 2,
                              options_.waits ? WaitPolls::interval_ms : longest_agent_wait_ms);
    });
  }
}

// Waits until the agent changes its state, the process ends, another thread calls wake(), or the
// timeout expires.
void LiveAgentSampler::wait(int timeout_ms) {
  uint32_t *word = nullptr;
  int pidfd = -1;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_)
      return;
    const bool silent = process_.pid != 0 && !process_.gone && state() == TALLY_STATE_EMPTY;
    if (silent)
      word = memory_.futex(&tally_wire_header::state);
    else if (!process_.gone)
      pidfd = process_.pidfd.get();
  }
  if (word) {
    // If expect() exchanges the memory meanwhile, the timeout ends this wait.
    const timespec time{0, 20'000'000};
    const uint64_t begun = now_ns();
    ::syscall(SYS_futex, word, FUTEX_WAIT, TALLY_STATE_EMPTY, &time, nullptr, 0);
    // A program can wake this thread as often as it likes.
    constexpr uint64_t least_wait_ns = 1'000'000;
    if (now_ns() - begun >= least_wait_ns)
      return;
    timeout_ms = 1;
  }
  pollfd polled[2] = {{thread_.wake_fd(), POLLIN, 0}, {pidfd, POLLIN, 0}};
  ::poll(polled, 2, timeout_ms);
  uint64_t calls;
  if ((polled[0].revents & POLLIN) != 0) [[maybe_unused]]
    const ssize_t got = ::read(thread_.wake_fd(), &calls, sizeof calls);
}

void LiveAgentSampler::follow() {
  if (process_.pid == 0 || last_)
    return;
  process_.follow(state() != TALLY_STATE_ENDED);
  if (inner_)
    return;
  const uint32_t now = state();
  if (now == TALLY_STATE_OFFERED && !process_.gone)
    take_clocks();
  const bool works = now == TALLY_STATE_TICKER || now == TALLY_STATE_TIMER;
  if (process_.clock.empty() && (works || now == TALLY_STATE_ENDED))
    process_.clock = options_.frequency_hz <= memory_.load(&tally_wire_header::timer_up_to_hz)
                         ? "timer"
                         : "ticker";
  if (works && !process_.handshaken) {
    process_.handshaken = true;
    sink_->collector().set_command(command_line(process_.pid));
    process_.looked_ns = 0;
  }
  if (works && now_ns() - process_.looked_ns > look_every_ns) {
    process_.looked_ns = now_ns();
    sink_->look();
    if (memory_.store_if(&tally_wire_header::seen, 0U, 1U))
      memory_.wake(&tally_wire_header::seen);
  }
}

// The agent waits for the answer. If the answer is negative, it continues with a clock of its own.
void LiveAgentSampler::take_clocks() {
  if (memory_.load(&tally_wire_header::handover) != TALLY_HANDOVER_OPEN || process_.answered)
    return;
  process_.answered = true;
  auto adopted = adopt_clocks();
  const uint32_t answer = adopted ? TALLY_HANDOVER_TAKEN : TALLY_HANDOVER_FAILED;
  const bool first =
      memory_.store_if(&tally_wire_header::handover, uint32_t{TALLY_HANDOVER_OPEN}, answer);
  memory_.wake(&tally_wire_header::handover);
  if (first && adopted) {
    inner_ = std::move(*adopted);
    pass_resumed();
  }
}

Result<std::unique_ptr<Sampler>> LiveAgentSampler::adopt_clocks() {
  if (options_.waits) // the agent's clocks do not record switches
    return fail(ErrorCode::unsupported, "the agent's clocks do not show waits");
  PerfEvents::Config config;
  config.pid = process_.pid;
  config.stacks = options_.stacks;
  config.frequency_hz = options_.frequency_hz;
  const size_t cpus = memory_.load(&tally_wire_header::cpus);
  const size_t count = std::min<size_t>(memory_.load(&tally_wire_header::fds), TALLY_WIRE_FDS);
  std::vector<PerfEvents::Given> given;
  for (size_t i = 0; i < count; ++i) {
    const int number = memory_.load(&tally_wire_header::fd, i);
    UniqueFd fd(static_cast<int>(::syscall(SYS_pidfd_getfd, process_.pidfd.get(), number, 0)));
    if (fd.get() < 0)
      return fail_errno(errno, "cannot take over the kernel's clocks from the program");
    given.push_back(
        {std::move(fd), static_cast<size_t>(memory_.load(&tally_wire_header::fd_cpu, i))});
  }
  if (cpus > TALLY_WIRE_CPUS)
    return fail(ErrorCode::invalid_input, "the agent's memory is damaged");
  TALLY_TRY(events,
            PerfEvents::adopt(config, std::move(given), memory_.load(&tally_wire_header::variant),
                              cpus, memory_.load(&tally_wire_header::mapped_bytes)));
  return start_perf_sampler(process_.pid, options_, std::move(events), thread_ids(process_.pid));
}

size_t LiveAgentSampler::drain() {
  if (last_ || process_.pid == 0 || inner_)
    return 0;
  if (!process_.handshaken)
    follow();
  sink_->begin_round();
  if (!waits_.held && now_ns() >= waits_.next_ns)
    count_waits(false);
  const size_t most =
      memory_.drain([this](const AgentRecord &record) { return sink_->handle(record); });
  if (memory_.is_overwritten())
    memory_.store(&tally_wire_header::command, uint32_t{TALLY_COMMAND_STOP});
  return most;
}

void LiveAgentSampler::count_waits(bool held) {
  if (inner_ || !process_.handshaken || !may_look() || state() == TALLY_STATE_ENDED)
    return;
  const uint64_t begun = now_ns();
  sink_->count_waits(held);
  const uint64_t ended = now_ns();
  constexpr uint64_t part_of_processor = 10;
  waits_.next_ns = ended + std::max(WaitPolls::interval_ms * uint64_t{1'000'000},
                                    part_of_processor * (ended - begun));
}

void LiveAgentSampler::expect(pid_t pid) {
  const std::lock_guard lock(mutex_);
  if (last_)
    return;
  problem_.guarded([&] {
    const bool used = memory_.load(&tally_wire_header::claimed_by) != 0 || inner_;
    if (used) {
      bank();
      if (const auto renewed = memory_.renew(); !renewed) {
        problem_.note(renewed.error().text());
        return;
      }
    }
    process_ = FollowedProcess(pid);
    waits_ = {};
    sink_.emplace(pid, period_ns(), options_, [this] { return may_look(); });
    pass_resumed();
    memory_.store(&tally_wire_header::expected_pid, int32_t{pid});
  });
  thread_.wake();
}

void LiveAgentSampler::bank() {
  follow();
  drain();
  SamplerStatus &sum = earlier_.sums;
  if (inner_) {
    inner_->stop();
    const SamplerStatus last = inner_->status();
    sum.samples += last.samples;
    sum.outside += last.outside;
    sum.kernel_samples += last.kernel_samples;
    sum.lost += last.lost;
    sum.truncated_stacks += last.truncated_stacks;
    sum.joined_stacks += last.joined_stacks;
    sum.cpu_ns += last.cpu_ns;
    sum.unsampled_ns += last.unsampled_ns;
  } else {
    sum.samples += sink_->ticks();
    sum.outside += sink_->outside();
    sum.lost += lost() + sink_->lost();
    sum.truncated_stacks += sink_->truncated_stacks();
    sum.joined_stacks += sink_->joined_stacks();
    sum.wait_ns += sink_->wait_ns();
    sum.queued_ns += sink_->queued_ns();
    sum.cpu_ns += cpu_ns();
  }
  auto profile = inner_ ? inner_->snapshot("", 0, 0) : sink_->collector().snapshot("", 0, 0);
  inner_.reset();
  if (profile && profile->sample_count() != 0) {
    sum.threads += profile->threads().size();
    sum.parts += profile->parts().size();
    earlier_.profiles.push_back(std::move(*profile));
  }
}

uint64_t LiveAgentSampler::lost() const {
  if (last_)
    return last_->lost - std::min(last_->lost, process_.cleared_lost);
  const uint64_t most = memory_.most_ticks();
  const uint64_t lost = std::min(memory_.load(&tally_wire_header::lost), most);
  // CPU time that is not in a record by the end of sampling counts as lost.
  const bool over = process_.gone || state() == TALLY_STATE_ENDED;
  const uint64_t unplaced =
      over ? memory_.load(&tally_wire_header::unplaced_ns) / period_ns() : uint64_t{0};
  const uint64_t all = lost + std::min(unplaced, most);
  return all - std::min(all, process_.cleared_lost);
}

uint64_t LiveAgentSampler::cpu_ns() const {
  if (last_)
    return last_->cpu_ns - std::min(last_->cpu_ns, process_.cleared_cpu_ns);
  const bool of_timers = process_.clock == "timer";
  const uint64_t all = of_timers ? process_.cpu_ns()
                                 : std::min(memory_.load(&tally_wire_header::cpu_ns),
                                            memory_.most_ticks() * period_ns());
  const uint64_t since_cleared = all - std::min(all, process_.cleared_cpu_ns);
  if (!of_timers || (!process_.gone && state() != TALLY_STATE_ENDED))
    return since_cleared;
  // The CPU time is no longer read, and the last reading may be a while older than the end. Each
  // tick of a timer stands for a period.
  const uint64_t ticks = sink_->ticks() + sink_->outside() + sink_->lost() + lost();
  return std::max(since_cleared, ticks * period_ns());
}

void LiveAgentSampler::resumed(const Resume &resume) {
  const std::lock_guard lock(mutex_);
  resumed_ = resume;
  problem_.guarded([&] {
    pass_resumed();
    sink_->set_held(resume.held);
    sink_->forget_time();
    waits_.held = false;
  });
}

void LiveAgentSampler::pass_resumed() {
  if (resumed_.at_ns == 0)
    return;
  if (inner_)
    inner_->resumed(resumed_);
  sink_->collector().resumed(resumed_);
}

void LiveAgentSampler::end_part(std::string_view trigger, uint64_t begin_ns, uint64_t end_ns) {
  const std::lock_guard lock(mutex_);
  problem_.guarded([&] {
    follow();
    if (inner_) {
      inner_->end_part(trigger, begin_ns, end_ns);
      return;
    }
    waits_.held = true;
    drain();
    count_waits(true);
    sink_->collector().end_part(trigger, begin_ns, end_ns);
  });
}

void LiveAgentSampler::stop() {
  if (thread_.runs()) {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
      // The ticker ends at its next tick, timers end at their next signal.
      memory_.store(&tally_wire_header::command, uint32_t{TALLY_COMMAND_STOP});
      memory_.store_if(&tally_wire_header::handover, uint32_t{TALLY_HANDOVER_OPEN},
                       uint32_t{TALLY_HANDOVER_FAILED});
      memory_.wake(&tally_wire_header::handover);
    }
    thread_.join();
  }
  if (last_)
    return;
  LastState last;
  problem_.guarded([&] {
    follow();
    drain();
    if (inner_)
      inner_->stop();
    last.facts = facts_now();
  });
  last.lost = lost() + process_.cleared_lost;
  last.cpu_ns = cpu_ns() + process_.cleared_cpu_ns;
  last.end = end_reason();
  last.state = state();
  last_ = std::move(last);
  memory_.release();
  thread_.close();
  process_.pidfd.reset();
}

SamplerStatus LiveAgentSampler::status() {
  const std::lock_guard lock(mutex_);
  problem_.guarded([&] {
    follow();
    drain();
  });
  SamplerStatus status;
  if (inner_) {
    status = inner_->status();
  } else {
    status.samples = sink_->ticks();
    status.outside = sink_->outside();
    status.lost = lost() + sink_->lost();
    status.truncated_stacks = sink_->truncated_stacks();
    status.joined_stacks = sink_->joined_stacks();
    status.threads = sink_->collector().thread_count();
    status.parts = sink_->collector().part_count();
    status.cpu_ns = cpu_ns();
    status.wait_ns = sink_->wait_ns();
    status.queued_ns = sink_->queued_ns();
    status.ring_bytes = memory_.ring_bytes();
    status.stack_bytes = options_.stacks == StackMode::dwarf ? TALLY_WIRE_STACK_BYTES : 0;
    status.memory_bytes = sink_->collector().memory_bytes();
    status.ended = process_.gone || state() == TALLY_STATE_ENDED;
  }
  status.requested_hz = options_.frequency_hz;
  earlier_.add_to(status);
  if (memory_.is_overwritten())
    status.problem = "the program has overwritten the memory that its agent writes: sampling of it "
                     "ended; what came before is kept";
  if (!problem_.empty())
    status.problem = problem_.text();
  return status;
}

Result<StackProfile> LiveAgentSampler::snapshot(std::string_view trigger, uint64_t begin_ns,
                                                uint64_t end_ns) {
  const std::lock_guard lock(mutex_);
  try {
    follow();
    drain();
    auto now = inner_ ? inner_->snapshot(trigger, begin_ns, end_ns)
                      : sink_->collector().snapshot(trigger, begin_ns, end_ns);
    if (!now || earlier_.profiles.empty())
      return now;
    StackProfileBuilder all(earlier_.profiles.front());
    for (size_t i = 1; i < earlier_.profiles.size(); ++i)
      TALLY_CHECK(append_stacks(all, earlier_.profiles[i]));
    TALLY_CHECK(append_stacks(all, *now));
    return all.finish();
  } catch (const std::exception &error) {
    return fail(ErrorCode::limit,
                fmt::format("cannot copy the samples: {}", exception_text(error)));
  }
}

void LiveAgentSampler::clear() {
  const std::lock_guard lock(mutex_);
  problem_.guarded([&] {
    follow();
    drain();
    if (inner_)
      inner_->clear();
    sink_->clear();
    earlier_ = {};
    resumed_ = {};
    process_.cleared_cpu_ns += cpu_ns();
    process_.cleared_lost += lost();
  });
}

void LiveAgentSampler::set_region_filter(std::shared_ptr<RegionFilter> region_filter) {
  const std::lock_guard lock(mutex_);
  problem_.guarded([&] {
    follow();
    drain();
  });
  options_.region_filter = std::move(region_filter);
  if (sink_)
    sink_->collector().set_region_filter(options_.region_filter);
  if (inner_)
    inner_->set_region_filter(options_.region_filter);
}

AgentFacts LiveAgentSampler::facts() {
  const std::lock_guard lock(mutex_);
  if (last_)
    return last_->facts;
  AgentFacts facts;
  problem_.guarded([&] {
    follow();
    drain();
    facts = facts_now();
  });
  return facts;
}

AgentFacts LiveAgentSampler::facts_now() {
  AgentFacts facts;
  if (process_.pid == 0)
    return facts;
  if (inner_) {
    facts.clock = "ring";
    facts.exited = inner_->status().ended;
    facts.phase = facts.exited ? AgentPhase::ended : AgentPhase::working;
    if (facts.exited)
      facts.reason = words_of_end(TALLY_END_NOT, 0);
    return facts;
  }
  const uint32_t now = state();
  if (now == TALLY_STATE_REFUSED) {
    facts.phase = AgentPhase::refused;
    facts.reason = words_of_refusal(memory_.load(&tally_wire_header::refusal),
                                    memory_.load(&tally_wire_header::error));
    return facts;
  }
  facts.clock = process_.clock;
  facts.interruptions = process_.clock == "timer" ? sink_->ticks() + sink_->outside()
                                                  : memory_.load(&tally_wire_header::signals_sent);
  facts.conflict = words_of_notes(memory_.load(&tally_wire_header::notes), process_.clock);
  if (now == TALLY_STATE_ENDED) {
    facts.phase = AgentPhase::ended;
    const uint32_t end = memory_.load(&tally_wire_header::end);
    facts.exited = end == TALLY_END_NOT;
    facts.reason = words_of_end(end, memory_.load(&tally_wire_header::signal));
  } else if (process_.gone) {
    facts.phase = AgentPhase::ended;
    facts.exited = !process_.clock.empty();
    facts.reason = facts.exited
                       ? words_of_end(TALLY_END_NOT, 0)
                       : "the process ended before the agent was loaded: " + guess_silence();
  } else if (now == TALLY_STATE_EMPTY || now == TALLY_STATE_OFFERED || now > TALLY_STATE_ENDED) {
    facts.phase = AgentPhase::waiting;
    if (now == TALLY_STATE_EMPTY && process_.cpu_ns() > silence_ns)
      facts.reason = "the agent was not loaded: " + guess_silence();
  } else {
    facts.phase = AgentPhase::working;
  }
  return facts;
}

std::string LiveAgentSampler::guess_silence() {
  const std::string executable = fmt::format("/proc/{}/exe", process_.pid);
  std::string why = process_.gone ? "" : why_agent_cannot_load(executable);
  if (!why.empty())
    return why;
  return "it is linked statically, is set-user-ID, is for another processor or C library, or "
         "cannot read " +
         launch_.library + " (the dynamic linker writes its message to standard error)";
}

} // namespace

Result<std::unique_ptr<AgentSampler>> make_agent_sampler(SamplerOptions options,
                                                         const std::string &library) {
  try {
    TALLY_CHECK(check_sampler_options(options));
    if (!options.events.empty())
      return fail(ErrorCode::unsupported, std::string(samples_the_clock_only));
    if (options.frequency_hz > highest_hz)
      return fail(
          ErrorCode::invalid_argument,
          fmt::format("{} Hz exceeds the agent's highest frequency of {} Hz: use a lower one",
                      options.frequency_hz, highest_hz));
    TALLY_CHECK(check_proc()); // by which the agent finds the memory
    TALLY_TRY(found, find_agent_library(library));
    TALLY_TRY(memory, AgentMemory::make(options));
    auto sampler = std::make_unique<LiveAgentSampler>(options, std::move(found), std::move(memory));
    TALLY_CHECK(sampler->start_reader());
    return sampler;
  } catch (const std::exception &error) {
    return fail(ErrorCode::limit,
                fmt::format("cannot start the sampler: {}", exception_text(error)));
  }
}

} // namespace tally
