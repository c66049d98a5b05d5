// Selects a sampling backend, and requests from the debugger what the backend needs.
#include <algorithm>

#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "session/state.h"
#include "support/clock.h"

namespace tally {

namespace {

SamplerOptions sampler_options(const StartOptions &options,
                               std::shared_ptr<const StopPlaces> passed_stops) {
  SamplerOptions out;
  out.passed_stops = std::move(passed_stops);
  out.frequency_hz = options.frequency_hz;
  out.stacks = options.stacks;
  if (options.stacks == StackMode::dwarf)
    out.unwinder = make_unwinder(); // one per sampler, because a build may replace the files
  return out;
}

// Returns why a backend cannot sample the target with these options, before anything is tried;
// empty if it may work.
std::string_view why_unfit(Backend backend, const StartOptions &options, TargetKind target) {
  if (backend == Backend::interrupt)
    return {};
  if (target == TargetKind::remote)
    return backend == Backend::perf
               ? "a remote target cannot be sampled: perf counts processes of this machine only"
               : "a remote target cannot be sampled: the agent shares memory with the debugger";
  if (options.wall)
    return "counts CPU time, not wall time";
  return {};
}

Error unsupported(std::string_view why) {
  return {ErrorCode::unsupported, std::string(why), {}, {}, {}};
}

constexpr std::string_view only_when_asked =
    "is loaded into an existing process only if `--backend agent` is given";

} // namespace

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

Result<void> Session::State::check_target() const {
  if (target.target == TargetKind::core)
    return fail(ErrorCode::unsupported, "a core file does not run: there is nothing to sample",
                "profile start");
  return {};
}

Result<Reply> Session::State::begin(StartOptions wanted) {
  TALLY_CHECK(check_target());
  if (target.pid != 0)
    TALLY_CHECK(name_frozen());
  options = wanted;
  passed.clear();
  to_try = {wanted.backend};
  if (!wanted.chosen)
    to_try = {Backend::perf, Backend::agent, Backend::interrupt};
  return try_next();
}

Result<Reply> Session::State::try_next() {
  if (to_try.empty())
    return fail(ErrorCode::unsupported,
                fmt::format("no backend works here: {}", fmt::join(passed, "; ")), "profile start");
  options.backend = to_try.front();
  const std::string_view unfit = why_unfit(options.backend, options, target.target);
  Result<Reply> tried = Reply{};
  if (!unfit.empty()) {
    tried = fail(ErrorCode::unsupported, std::string(unfit));
  } else if (options.backend == Backend::perf) {
    const Result<void> works = prepare_perf();
    tried = works ? begun() : Result<Reply>(fail(works.error()));
  } else {
    tried = options.backend == Backend::agent ? prepare_agent() : prepare_interrupt();
  }
  return tried ? std::move(tried) : refused(std::move(tried.error()));
}

Result<Reply> Session::State::refused(Error why) {
  // An invalid argument is an error with every backend.
  if (options.chosen || why.code == ErrorCode::invalid_argument) {
    if (why.source.empty())
      why.source = fmt::format("--backend {}", name_of(options.backend));
    return fail(std::move(why));
  }
  pass_over(why.message);
  to_try.erase(to_try.begin());
  return try_next();
}

void Session::State::pass_over(std::string_view why) {
  passed.push_back(fmt::format("{}: {}", name_of(options.backend), why));
}

void Session::State::ask(RequestKind kind) { todo.push_back({Request{kind, {}, {}}, nullptr}); }

Result<Reply> Session::State::begun() {
  armed = true;
  to_try.clear();
  return Reply{target.pid == 0
                   ? fmt::format("Sampling begins with the next process: {}.\n", sampling_words())
                   : fmt::format("Sampling process {}: {}.\n", target.pid, sampling_words()),
               {}};
}

Result<void> Session::State::prepare_perf() {
  if (target.pid != 0) {
    // Start before adopt() puts the old profile away, so that a refusal leaves it intact.
    TALLY_TRY(started, start_perf_sampler(target.pid, sampler_options(options, passed_stops)));
    user_code_only = !started->status().kernel_included;
    adopt(std::move(started));
    return {};
  }
  // There is no process yet: try our own, so that a refusal is reported now and not at `run`.
  TALLY_TRY(works, start_perf_sampler(::getpid(), sampler_options(options, passed_stops)));
  user_code_only = !works->status().kernel_included;
  works->stop();
  return {};
}

Result<Reply> Session::State::prepare_agent() {
  if (target.pid != 0 && !options.chosen)
    return fail(ErrorCode::unsupported, std::string(only_when_asked));
  if (!target.program.empty())
    if (std::string why = why_agent_cannot_load(target.program); !why.empty())
      return fail(ErrorCode::unsupported, std::move(why));
  TALLY_TRY(made, make_agent_sampler(sampler_options(options, passed_stops)));
  const AgentLaunch &launch = made->launch();
  Request request;
  request.words = {launch.library, launch.variable};
  request.signals.assign(launch.signals.begin(), launch.signals.end());
  signals_changed = true;
  preloaded = std::move(made);
  if (target.pid == 0) {
    request.kind = RequestKind::preload;
    todo.push_back({std::move(request), [this](std::string_view answer) -> Result<Reply> {
                      if (answer.empty())
                        return begun();
                      preloaded.reset();
                      return refused(unsupported(answer));
                    }});
    return Reply{};
  }
  request.kind = RequestKind::load;
  request.words[1].erase(0, request.words[1].find('=') + 1);
  preloaded->expect(target.pid);
  todo.push_back({std::move(request), [this](std::string_view answer) -> Result<Reply> {
                    auto came = std::exchange(preloaded, nullptr);
                    if (!answer.empty()) {
                      const std::string reason = came->facts().reason;
                      return refused(unsupported(reason.empty() ? answer : reason));
                    }
                    agent = came.get();
                    adopt(std::move(came));
                    return begun();
                  }});
  return Reply{};
}

Result<Reply> Session::State::prepare_interrupt() {
  const bool remote = target.target == TargetKind::remote;
  options.remote = remote;
  // Runs after the front end has agreed, because adopt() puts the old profile away.
  const auto follow = [this, remote]() -> Result<void> {
    if (target.pid == 0)
      return {};
    TALLY_TRY(made, make_interrupt_sampler(remote ? 0 : target.pid, interrupt_signal,
                                           sampler_options(options, passed_stops), clock));
    InterruptSampler *const counts = made.get();
    adopt(std::move(made));
    interrupts = counts;
    if (target.kind == EventKind::resumed)
      note_resume();
    return {};
  };
  if (interrupting == remote) {
    TALLY_CHECK(follow());
    return begun();
  }
  if (interrupting)
    ask(RequestKind::interrupt_end);
  Request request;
  request.kind = RequestKind::interrupt;
  request.words = {options.stacks == StackMode::none ? "pcs" : "stacks"};
  interrupt_signal = remote ? 0 : InterruptClock::free_signal(target.pid);
  if (!remote)
    request.signals = {interrupt_signal};
  interrupting = remote;
  signals_changed = true;
  todo.push_back({std::move(request), [this, follow](std::string_view answer) -> Result<Reply> {
                    Result<void> begins = {};
                    if (answer.empty())
                      begins = follow();
                    if (answer.empty() && begins)
                      return begun();
                    interrupting.reset();
                    armed = false;
                    return refused(unsupported(answer.empty() ? begins.error().message : answer));
                  }});
  return Reply{};
}

// --- across runs

Result<Reply> Session::State::begin_armed() {
  TALLY_CHECK(check_target()); // the target may have changed since `start`
  TALLY_CHECK(name_frozen());
  const std::string_view unfit = why_unfit(options.backend, options, target.target);
  if (options.backend == Backend::agent && preloaded && unfit.empty()) {
    preloaded->expect(target.pid);
    agent = preloaded.get();
    adopt(std::move(preloaded));
    ask(RequestKind::preload_end);
    return Reply{};
  }
  if (options.backend == Backend::perf && unfit.empty()) {
    auto started = start_perf_sampler(target.pid, sampler_options(options, passed_stops));
    if (started) {
      adopt(std::move(*started));
      return Reply{};
    }
    if (options.chosen)
      return fail(std::move(started.error()));
    pass_over(started.error().message);
  } else if (options.backend != Backend::interrupt) {
    if (options.chosen)
      return refused(unsupported(unfit));
    pass_over(unfit);
  }
  const bool as_before = options.backend == Backend::interrupt;
  options.backend = Backend::interrupt;
  to_try = {Backend::interrupt};
  TALLY_TRY(reply, try_next());
  return as_before ? Reply{{}, std::move(reply.request)} : std::move(reply);
}

Result<Reply> Session::State::follow_sampler() {
  if (interrupts && !clock.problem().empty()) {
    // Restore the signals, so that the program receives its own one again.
    given_up_pid = sampled_pid;
    Result<Reply> ended = end_sampling(clock.problem(), true);
    ask(RequestKind::interrupt_end);
    interrupting.reset();
    ask(RequestKind::signals_restore);
    signals_changed = false;
    return ended;
  }
  if (!agent)
    return Reply{};
  const AgentFacts facts = agent->facts();
  if (facts.phase == AgentPhase::working || facts.reason.empty())
    return Reply{};
  if (facts.phase == AgentPhase::ended) {
    given_up_pid = sampled_pid;
    return end_sampling(facts.reason, true);
  }
  // The agent was refused, or did not start.
  sampler->stop();
  sampler.reset();
  agent = nullptr;
  running = false;
  given_up_pid = sampled_pid;
  if (options.chosen)
    return fail(ErrorCode::unsupported, facts.reason, "agent");
  pass_over(facts.reason);
  to_try = {Backend::interrupt};
  return try_next();
}

void Session::State::end_requests(bool process_gone) {
  if (armed && process_gone && options.backend == Backend::agent && !preloaded) {
    target.pid = 0;
    const auto not_again = [this](std::string_view why) {
      preloaded.reset();
      armed = false;
      said += fmt::format("The next run is not sampled: {}.\n", why);
    };
    if (auto again = prepare_agent(); !again)
      not_again(again.error().message);
    else if (!todo.empty())
      todo.back().then = [this, not_again](std::string_view answer) -> Result<Reply> {
        if (!answer.empty()) {
          not_again(answer);
          end_requests(true);
        }
        return Reply{};
      };
  }
  if (armed)
    return;
  if (interrupting)
    ask(RequestKind::interrupt_end);
  interrupting.reset();
  if (preloaded)
    ask(RequestKind::preload_end);
  preloaded.reset();
  // The debugger must not report a signal of ours that is still pending; it may arrive as long as
  // the process lives.
  if (signals_changed && (process_gone || target.pid == 0)) {
    ask(RequestKind::signals_restore);
    signals_changed = false;
  }
}

Result<Reply> Session::State::tick(std::span<const ThreadStack> stacks) {
  if (!interrupts)
    return Reply{};
  for (const ThreadStack &stack : stacks)
    interrupts->add(stack);
  clock.done();
  Reply reply;
  if (!interrupting.value_or(false))
    return reply;
  // Only the debugger knows the names of a remote program, and only while the program exists.
  for (const ThreadStack &stack : stacks)
    for (const uint64_t pc : stack.pcs)
      if (!told.contains(pc) && std::ranges::find(naming, pc) == naming.end())
        naming.push_back(pc);
  if (!naming.empty()) {
    reply.request.kind = RequestKind::symbols;
    reply.request.addresses = naming;
  }
  return reply;
}

} // namespace tally
