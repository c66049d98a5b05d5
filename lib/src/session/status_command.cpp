// `profile status`.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "collect/sampled_events.h"
#include "report/value_text.h"
#include "session/profile_commands.h"
#include "support/clock.h"
#include "support/text.h"

namespace tally {

namespace {

std::string state_words(const StatusSources &of, bool process_gone) {
  if (of.sampling.is_active()) // the debugger reports the end when it next looks at the process
    return process_gone ? "ended (the process is gone)" : "sampling";
  const DebugEvent &target = of.front.target;
  if (of.backends.is_armed() && target.target != TargetKind::core && target.pid != 0)
    return fmt::format("armed (begins when process {} runs on)", target.pid);
  if (of.backends.is_armed())
    return "armed (begins with the next process)";
  return of.profiles.has_kept() ? "stopped" : "idle";
}

std::string clock_words(const SamplerStatus &now, const AgentFacts &facts,
                        const StartOptions &options) {
  if (now.wall_clock)
    return fmt::format(
        "wall (a round of stops counts each thread that {}; at most {} rounds a second)",
        options.remote ? "is there" : "runs or sleeps",
        options.remote ? InterruptClock::most_remote_hz : InterruptClock::most_native_hz);
  if (options.wall && options.backend == Backend::agent)
    return "wall (CPU time is sampled; the time of waits is the kernel's account, with the stacks "
           "that are seen every 10 ms)";
  if (options.wall)
    return now.waits_unsampled
               ? "wall (CPU time is sampled in user code, and each wait is measured, with a stack "
                 "from 1 ms on: the kernel does not let unprivileged users sample it)"
               : "wall (CPU time is sampled, and each wait is measured)";
  if (facts.clock == "ticker")
    return "cpu (ticker: a thread of the agent interrupts the running threads)";
  if (facts.clock == "timer")
    return "cpu (timer: a CPU timer for each thread)";
  const std::string_view ring =
      facts.clock == "ring" ? "ring: the kernel's clocks, opened by the agent" : "";
  const std::string_view user =
      now.kernel_included ? ""
                          : "user code only: the kernel does not let unprivileged users sample it";
  if (ring.empty() && user.empty())
    return "cpu";
  return fmt::format("cpu ({}{}{})", ring, ring.empty() || user.empty() ? "" : "; ", user);
}

} // namespace

std::vector<StatusRow> status_rows(const StatusSources &of) {
  Sampling &sampling = of.sampling;
  const SamplerStatus now = sampling.sums();
  const RunClock &clock = sampling.time();
  const uint64_t at = now_ns();
  const uint64_t run = sampling.is_active() ? clock.ran_ns(at) : clock.ran_ns();
  const uint64_t stopped = sampling.is_active() ? clock.stopped_ns(at) : clock.stopped_ns();
  const bool collected = sampling.is_active() || of.profiles.has_kept();
  const StartOptions &shown = collected ? sampling.options() : of.backends.options();
  const AgentFacts facts = sampling.agent_facts();

  std::vector<StatusRow> rows;
  const auto line = [&](std::string_view name, const auto &value) {
    rows.emplace_back(name, value);
  };
  const auto noted = [&](std::string_view name, std::string_view text) {
    rows.push_back(StatusRow::noted(name, text));
  };
  const auto time = [&](std::string_view name, uint64_t ns) {
    rows.push_back(StatusRow::seconds(name, ns, seconds_text(ns)));
  };
  noted("state", state_words(of, now.ended));
  if (sampling.is_active())
    line("pid", static_cast<uint64_t>(sampling.pid()));
  if (const auto &others = sampling.others(); !others.empty()) {
    std::vector<std::string> pids;
    pids.reserve(others.size());
    for (const SampledProcess &other : others)
      pids.push_back(std::to_string(other.pid));
    line("other_pids", joined_text(pids, ", "));
  }
  if (!collected && !of.backends.is_armed()) { // what `start` would use
    for (std::string_view name : {"backend", "clock", "stacks"})
      line(name, std::string(of.settings.value(name)));
    line("requested_hz", number_of(of.settings.value("frequency")));
  } else {
    const std::string passed_over = of.backends.passed_over_words();
    noted("backend",
          shown.chosen ? std::string(name_of(shown.backend))
          : passed_over.empty()
              ? fmt::format("{} (auto: perf_event_open is allowed here)", name_of(shown.backend))
              : fmt::format("{} (auto; {})", name_of(shown.backend), passed_over));
    SamplerStatus clock_of = now; // set even before the first sample
    clock_of.wall_clock |= shown.backend == Backend::interrupt;
    if (!shown.events.empty())
      noted("event", event_words(shown));
    if (shown.events.empty() || shown.wall)
      noted("clock", clock_words(clock_of, facts, shown));
    noted("stacks", shown.stacks == StackMode::none       ? "none"
                    : shown.backend == Backend::interrupt ? "unwound by the debugger"
                    : shown.stacks == StackMode::dwarf
                        ? "dwarf"
                        : "fp (may be truncated where code has no frame pointers)");
    if (has_clock(shown.events))
      line("requested_hz", uint64_t{shown.frequency_hz});
  }
  if (const StartOptions &begun = sampling.is_active() ? sampling.options() : of.backends.options();
      begun.limit_ns != 0 && (sampling.is_active() || of.backends.is_armed())) {
    StatusRow row =
        StatusRow::seconds("ends_after", begun.limit_ns,
                           fmt::format("{} of running time", duration_text(begun.limit_ns)));
    rows.push_back(begun.runs_on ? std::move(row).with_note("the program runs on")
                                 : std::move(row));
  }
  const uint64_t ticks = now.wall_clock ? now.rounds : now.samples + now.outside;
  const uint64_t clock_ns = now.wall_clock ? run : now.cpu_ns - now.unsampled_ns;
  if (shown.events.size() == 1 && collected)
    line("counted", now.counted.empty() ? 0 : now.counted.front());
  for (size_t i = 0;
       shown.events.size() > 1 && i < std::min(shown.events.size(), now.counted.size()); ++i)
    if (!shown.events[i].is_clock())
      line("counted_" + shown.events[i].name, now.counted[i]);
  if (shown.events.empty())
    line("delivered_hz", clock_ns == 0
                             ? uint64_t{0}
                             : static_cast<uint64_t>(std::llround(static_cast<double>(ticks) * 1e9 /
                                                                  static_cast<double>(clock_ns))));
  line("samples", now.samples);
  line("in_kernel", now.kernel_samples);
  if (collected && (shown.region || now.outside != 0))
    line("outside", now.outside);
  line("lost", now.lost);
  if (now.wall_clock) {
    line("queued", now.queued);
    line("unheld", now.unheld);
  }
  line("throttled", now.throttled);
  if (collected && shown.stacks == StackMode::dwarf && shown.backend != Backend::interrupt)
    line("truncated_stacks", now.truncated_stacks);
  if (now.joined_stacks != 0)
    rows.push_back(StatusRow("joined_stacks", now.joined_stacks)
                       .with_note("deeper than the stack dump; their outer callers are those of "
                                  "other samples of the thread"));
  if (now.stack_bytes != 0)
    line("stack_bytes", now.stack_bytes);
  size_t threads = now.threads, parts = now.parts;
  const auto add_ended = [&](const ProfilePtr &profile) {
    if (!profile)
      return;
    parts += profile->parts().size();
    for (const Thread &thread : profile->threads())
      // The sampler counts the threads of the process that it samples.
      threads += !sampling.is_active() || thread.pid != sampling.pid();
  };
  add_ended(of.profiles.kept());
  for (const FrozenProfile &ended : of.profiles.frozen())
    add_ended(ended.profile);
  if (collected && shown.children)
    line("processes", now.processes);
  line("threads", uint64_t{threads});
  line("parts", uint64_t{parts});
  if (!now.wall_clock)
    time("cpu", now.cpu_ns);
  if (shown.wall && !now.wall_clock && collected) {
    if (shown.backend != Backend::agent) // their number is not known
      line("waits", now.waits);
    time("waiting", now.wait_ns);
    time("queued", now.queued_ns);
  }
  time("running", run);
  time("stopped", stopped);
  rows.push_back(
      StatusRow::bytes("memory", now.memory_bytes, fmt::format("{} bytes", now.memory_bytes)));
  if (Region *const region = shown.region.get()) {
    region->give_up_closed();
    add_region(*region, rows);
  }
  if (collected && shown.backend == Backend::agent) {
    line("interruptions", facts.interruptions);
    if (!facts.conflict.empty())
      line("conflict", facts.conflict);
    const bool never_came =
        facts.phase == AgentPhase::waiting || facts.phase == AgentPhase::refused;
    if (never_came && !facts.reason.empty())
      line("agent", facts.reason);
  }
  if (!now.problem.empty())
    line("problem", now.problem);
  if (const auto &loaded = of.profiles.loaded())
    line("loaded", loaded->path);
  return rows;
}

Result<std::string> status_command(const StatusSources &of, const ParsedCommand &command) {
  const std::vector<StatusRow> rows = status_rows(of);
  if (command.has("json"))
    return to_json(rows);
  return to_text(rows, of.front.style);
}

} // namespace tally
