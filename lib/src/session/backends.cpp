#include "session/backends.h"

#include <algorithm>
#include <utility>

#include <unistd.h>

#include <fmt/format.h>

#include "collect/perf_sampler.h"
#include "collect/proc_info.h"
#include "collect/sampled_events.h"
#include "report/value_text.h"
#include "session/sampling_remarks.h"
#include "support/clock.h"
#include "support/text.h"

namespace tally {

namespace {

// Returns why the backend cannot sample this target at all, or empty if it may be tried.
std::string_view why_unfit(Backend backend, const StartOptions &options, TargetKind target) {
  if (backend != Backend::perf && !options.events.empty())
    return samples_the_clock_only;
  if (backend != Backend::perf && options.children)
    return "samples the program's own process only: --children needs the perf backend";
  if (backend == Backend::interrupt)
    return {};
  if (target == TargetKind::remote)
    return backend == Backend::perf
               ? "a remote target cannot be sampled: perf counts processes of this machine only"
               : "a remote target cannot be sampled: the agent shares memory with the debugger";
  return {};
}

Error unsupported(std::string_view why) { return {ErrorCode::unsupported, std::string(why)}; }

// Returns how much CPU time the process can have used since the event, if that was in the past.
uint64_t missed_ns(const DebugEvent &run) {
  const uint64_t now = now_ns();
  if (run.at_ns == 0 || run.at_ns >= now)
    return 0;
  return std::min(process_cpu_ns(run.pid).value_or(0),
                  (now - run.at_ns) * thread_ids(run.pid).size());
}

constexpr std::string_view only_when_asked =
    "is loaded into an existing process only if `--backend agent` is given";

std::string_view stack_words(const StartOptions &options) {
  if (options.stacks == StackMode::none)
    return "no stacks";
  if (options.backend == Backend::interrupt)
    return "stacks unwound by the debugger";
  return options.stacks == StackMode::dwarf ? "stacks by unwind data" : "stacks by frame pointers";
}

} // namespace

std::string event_words(const StartOptions &options) {
  std::vector<std::string> words;
  for (const SampledEvent &event : options.events)
    words.push_back(event.is_clock()    ? fmt::format("{} Hz of CPU time", options.frequency_hz)
                    : event.period == 1 ? fmt::format("{} (each one)", event.name)
                                        : fmt::format("{} (one in {})", event.name, event.period));
  return joined_text(words, ", ");
}

std::string_view name_of(Backend backend) {
  switch (backend) {
  case Backend::perf:
    return "perf";
  case Backend::agent:
    return "agent";
  case Backend::interrupt:
    break;
  }
  return "interrupt";
}

SamplerOptions Backends::sampler_options() const {
  SamplerOptions out;
  out.passed_stops = passed_stops_;
  if (options_.region)
    out.region_filter = options_.region->region_filter();
  out.frequency_hz = options_.frequency_hz;
  out.events = options_.events;
  out.children = options_.children;
  out.waits = options_.wall && options_.backend != Backend::interrupt;
  out.stacks = options_.stacks;
  out.stack_bytes = options_.stack_bytes;
  out.deep_stacks = sampling_.needs_deep_dumps();
  if (options_.stacks == StackMode::dwarf)
    out.unwinder = make_unwinder(); // a new one, because files are rebuilt between runs
  return out;
}

std::string Backends::passed_over_words() const { return joined_text(passed_over_, "; "); }

std::string Backends::sampling_words() const {
  std::string why;
  if (!options_.chosen)
    why = passed_over_.empty() ? " (auto: it is allowed here)"
                               : fmt::format(" (auto; {})", passed_over_words());
  const bool user_code = options_.backend == Backend::perf && user_code_only_ && !options_.wall;
  const std::string what =
      !options_.events.empty()
          ? event_words(options_)
          : fmt::format("{} Hz of {} time", options_.frequency_hz,
                        options_.backend == Backend::interrupt ? "wall" : "CPU");
  const std::string_view waits = options_.backend == Backend::interrupt || !options_.wall ? ""
                                 : options_.backend == Backend::agent
                                     ? ", waits (looked at every 10 ms)"
                                 : user_code_only_ ? ", each wait (with a stack from 1 ms on)"
                                                   : ", each wait";
  const std::string limit = options_.limit_ns == 0 ? ""
                                                   : fmt::format(", for {} of running time",
                                                                 duration_text(options_.limit_ns));
  return fmt::format("{}{}, {}{}{}, {}{}{}", name_of(options_.backend), why, what, waits,
                     user_code ? " in user code only" : "", stack_words(options_),
                     options_.children ? ", with the processes that it forks" : "", limit);
}

Result<void> Backends::check_target() const {
  if (front_.target.target == TargetKind::core)
    return fail(ErrorCode::unsupported, "a core file does not run: there is nothing to sample",
                "profile start");
  return {};
}

Result<std::string> Backends::begin(const StartOptions &wanted) {
  TALLY_CHECK(check_target());
  if (front_.target.pid != 0)
    TALLY_CHECK(sampling_.name_frozen());
  options_ = wanted;
  passed_over_.clear();
  if (wanted.chosen)
    return try_each({wanted.backend});
  if (!wanted.events.empty() || wanted.children)
    return try_each({Backend::perf});
  return try_each({Backend::perf, Backend::agent, Backend::interrupt});
}

Result<std::string> Backends::try_each(const std::vector<Backend> &backends) {
  for (const Backend backend : backends) {
    options_.backend = backend;
    auto tried = try_backend(backend);
    if (tried)
      return begun();
    if (!may_go_on(tried.error()))
      return fail(std::move(tried.error()));
    pass_over(tried.error().message);
  }
  return fail(ErrorCode::unsupported, fmt::format("no backend works here: {}", passed_over_words()),
              "profile start");
}

Result<void> Backends::try_backend(Backend backend) {
  if (const auto unfit = why_unfit(backend, options_, front_.target.target); !unfit.empty())
    return fail(unsupported(unfit));
  switch (backend) {
  case Backend::perf:
    return prepare_perf();
  case Backend::agent:
    return prepare_agent(front_.target.pid == 0);
  case Backend::interrupt:
    break;
  }
  return prepare_interrupt();
}

bool Backends::may_go_on(Error &why) const {
  if (is_interrupted(why))
    return false;
  // A wrong argument is wrong for the other backends, too, so do not try them.
  if (!options_.chosen && options_.events.empty() && why.code != ErrorCode::invalid_argument)
    return true;
  std::vector<std::string> names;
  for (const SampledEvent &event : options_.events)
    names.push_back(event.name);
  if (why.source.empty())
    why.source = options_.chosen || options_.events.empty()
                     ? fmt::format("--backend {}", name_of(options_.backend))
                     : fmt::format("--event {}", joined_text(names, ","));
  return false;
}

void Backends::set_region(std::shared_ptr<Region> region) {
  options_.region = std::move(region);
  if (preloaded_)
    preloaded_->set_region_filter(options_.region ? options_.region->region_filter() : nullptr);
}

void Backends::pass_over(std::string_view why) {
  passed_over_.push_back(fmt::format("{}: {}", name_of(options_.backend), why));
}

void Backends::begin_with(std::unique_ptr<Sampler> started, uint64_t missed_ns) {
  given_up_pid_ = 0;
  refused_others_.clear();
  sampling_.adopt(std::move(started), options_, missed_ns);
}

std::string Backends::begun() {
  armed_ = true;
  std::string text =
      front_.target.pid == 0
          ? fmt::format("Sampling begins with the next process: {}.\n", sampling_words())
          : fmt::format("Sampling process {}: {}.\n", front_.target.pid, sampling_words());
  if (const std::string remark = cost_remark(options_.frequency_hz);
      !remark.empty() && has_clock(options_.events) && options_.backend != Backend::interrupt)
    text += fmt::format("({})\n", remark);
  return text;
}

Result<void> Backends::prepare_perf() {
  if (front_.target.pid != 0) {
    // This comes before sampling_.adopt(), so that a refusal leaves what was collected in place.
    TALLY_TRY(started, start_perf_sampler(front_.target.pid, sampler_options()));
    user_code_only_ = !started->status().kernel_included;
    begin_with(std::move(started));
    return {};
  }
  // There is no program yet. Sampling this process instead shows a refusal now and not at `run`.
  TALLY_TRY(works, start_perf_sampler(::getpid(), sampler_options()));
  user_code_only_ = !works->status().kernel_included;
  works->stop();
  return {};
}

Result<void> Backends::prepare_agent(bool next_run) {
  if (!next_run && !options_.chosen)
    return fail(ErrorCode::unsupported, std::string(only_when_asked));
  if (!front_.target.program.empty())
    if (std::string why = why_agent_cannot_load(front_.target.program); !why.empty())
      return fail(ErrorCode::unsupported, std::move(why));
  TALLY_TRY(made, make_agent_sampler(sampler_options()));
  const AgentLaunch launch = made->launch();
  const std::vector<int32_t> signals(launch.signals.begin(), launch.signals.end());
  signals_changed_ = true;
  preloaded_ = std::move(made);
  if (!next_run)
    preloaded_->expect(front_.target.pid);
  auto done = next_run ? front_.ask(&Debugger::preload, launch.library, launch.variable, signals)
                       : front_.ask(&Debugger::load, launch.library,
                                    launch.variable.substr(launch.variable.find('=') + 1), signals);
  if (done && !next_run) {
    begin_with(std::move(preloaded_));
  } else if (!done && !is_interrupted(done.error())) { // what is half done is undone later
    const auto came = std::exchange(preloaded_, nullptr);
    if (const std::string reason = came->facts().reason; !next_run && !reason.empty())
      return fail(unsupported(reason));
  }
  return done;
}

Result<void> Backends::prepare_interrupt() {
  const bool remote = front_.target.target == TargetKind::remote;
  options_.remote = remote;
  if (interrupting_ != remote)
    TALLY_CHECK(interrupt_process(remote));
  // This comes last, so that a refusal leaves what was collected in place.
  if (front_.target.pid == 0)
    return {};
  auto made = make_interrupt_sampler(remote ? 0 : front_.target.pid, interrupt_signal_,
                                     sampler_options(), sampling_.clock());
  if (!made) {
    armed_ = false;
    return fail(std::move(made.error()));
  }
  begin_with(std::move(*made));
  if (front_.target.kind == EventKind::resumed)
    sampling_.note_resume();
  return {};
}

Result<void> Backends::interrupt_process(bool remote) {
  if (interrupting_)
    front_.undo(&Debugger::end_interrupt);
  interrupt_signal_ = remote ? 0 : InterruptClock::free_signal(front_.target.pid);
  interrupting_ = remote;
  signals_changed_ = true;
  auto done =
      front_.ask(&Debugger::interrupt, interrupt_signal_, options_.stacks != StackMode::none);
  if (done)
    return {};
  armed_ = false;
  if (is_interrupted(done.error())) // what is half done is undone later
    return done;
  interrupting_.reset();
  return fail(unsupported(done.error().message));
}

// --- from run to run

Result<std::string> Backends::process_resumed() {
  const int32_t pid = front_.target.pid;
  if (sampling_.is_active() || !armed_ || pid == 0 || pid == given_up_pid_)
    return "";
  auto begun = begin_armed();
  if (begun)
    return begun;
  armed_ = false;
  if (!is_interrupted(begun.error()))
    begun.error().context.push_back("starting to sample; `profile start` tries again");
  return begun;
}

std::string Backends::why_not_beside(const DebugEvent &event) const {
  if (event.target != TargetKind::native)
    return "only processes of this machine are sampled beside another";
  if (options_.backend != Backend::perf)
    return fmt::format("the {} backend samples one process, and now that is process {}",
                       name_of(options_.backend), sampling_.pid());
  if (options_.region)
    return fmt::format("a region belongs to one process, and now that is process {}",
                       sampling_.pid());
  return {};
}

Result<std::string> Backends::other_resumed(const DebugEvent &event) {
  if (!sampling_.is_active() || event.pid == 0 || event.pid == sampling_.pid() ||
      sampling_.samples_other(event.pid) || refused_others_.contains(event.pid))
    return "";
  std::string why = why_not_beside(event);
  if (why.empty()) {
    SamplerOptions options = sampler_options();
    options.passed_stops = nullptr; // those of the first process
    options.beside = true;
    auto started = start_perf_sampler(event.pid, options);
    if (started) {
      sampling_.add_other({event.pid, event.command, std::move(*started)});
      return "";
    }
    why = started.error().message;
  }
  refused_others_.insert(event.pid);
  return fmt::format("Process {} is not sampled: {}.\n", event.pid, why);
}

// Returns no text if the backend is that of the last run.
Result<std::string> Backends::begin_armed() {
  TALLY_CHECK(check_target()); // the target may be another one than at `start`
  TALLY_CHECK(sampling_.name_frozen());
  const std::string_view unfit = why_unfit(options_.backend, options_, front_.target.target);
  if (options_.backend == Backend::agent && preloaded_ && unfit.empty()) {
    preloaded_->expect(front_.target.pid);
    begin_with(std::move(preloaded_));
    front_.undo(&Debugger::end_preload);
    return "";
  }
  const bool is_remote = front_.target.target == TargetKind::remote;
  const bool as_before = options_.backend == Backend::interrupt && interrupting_ == is_remote;
  if (options_.backend != Backend::interrupt) {
    Error why = unsupported(unfit);
    if (options_.backend == Backend::perf && unfit.empty()) {
      auto started = start_perf_sampler(front_.target.pid, sampler_options());
      if (started) {
        begin_with(std::move(*started), missed_ns(front_.target));
        return "";
      }
      why = std::move(started.error());
    }
    if (!may_go_on(why))
      return fail(std::move(why));
    pass_over(why.message);
  }
  TALLY_TRY(text, try_each({Backend::interrupt}));
  return as_before ? "" : std::move(text);
}

Result<std::string> Backends::follow_sampler() {
  if (sampling_.interrupts() && !sampling_.clock().problem().empty()) {
    given_up_pid_ = sampling_.pid();
    Result<std::string> ended = sampling_.end(sampling_.clock().problem(), true);
    front_.undo(&Debugger::end_interrupt);
    interrupting_.reset();
    // The program handles the signal itself, and receives it again from now on.
    front_.undo(&Debugger::restore_signals);
    signals_changed_ = false;
    return ended;
  }
  if (!sampling_.agent())
    return "";
  const AgentFacts facts = sampling_.agent_facts();
  if (facts.phase == AgentPhase::working || facts.reason.empty())
    return "";
  given_up_pid_ = sampling_.pid();
  if (facts.phase == AgentPhase::ended)
    return sampling_.end(facts.reason, true);
  // The agent was refused, or the program did not load it.
  sampling_.abandon();
  if (options_.chosen)
    return fail(ErrorCode::unsupported, facts.reason, "agent");
  pass_over(facts.reason);
  return try_each({Backend::interrupt});
}

std::string Backends::undo_changes(bool process_gone) {
  std::string text;
  if (armed_ && process_gone && options_.backend == Backend::agent && !preloaded_)
    if (const auto again = prepare_agent(true); !again) {
      armed_ = false;
      text = fmt::format("The next run is not sampled: {}.\n", again.error().message);
    }
  if (armed_)
    return text;
  if (interrupting_ && front_.undo(&Debugger::end_interrupt))
    interrupting_.reset();
  if (preloaded_ && front_.undo(&Debugger::end_preload))
    preloaded_.reset();
  // A signal may still be on its way as long as the process lives, and must not stop the program
  // for the user.
  if (signals_changed_ && (process_gone || front_.target.pid == 0))
    signals_changed_ = !front_.undo(&Debugger::restore_signals);
  return text;
}

} // namespace tally
