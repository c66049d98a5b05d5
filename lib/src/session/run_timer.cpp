#include "session/run_timer.h"

#include <algorithm>

#include <fmt/format.h>

#include "collect/proc_info.h"
#include "support/clock.h"

namespace tally {

namespace {

std::string time_text(uint64_t ns) {
  const auto ms = static_cast<double>(ns) / 1e6;
  return ms < 999.95 ? fmt::format("{:.1f} ms", ms) : fmt::format("{:.2f} s", ms / 1e3);
}

std::optional<uint64_t> cpu_of(const DebugEvent &event) {
  return event.target == TargetKind::native ? process_cpu_ns(event.pid) : std::nullopt;
}

} // namespace

std::optional<RunTimes> RunTimer::event(const DebugEvent &event) {
  if (event.kind == EventKind::target)
    return {};
  const uint64_t now = now_ns();
  const uint64_t at_ns = event.at_ns == 0 ? now : std::min(event.at_ns, now);
  if (event.kind == EventKind::resumed) {
    if (event.pid != pid_ || !cpu_ns_)
      cpu_ns_ = cpu_of(event);
    pid_ = event.pid;
    running_ = event.at_ns != 0 || !event.unseen; // otherwise it resumed at an unknown time
    resumed_ns_ = at_ns;
    return {};
  }
  if (is_end(event.kind) || event.pid != pid_) {
    pid_ = 0;
    cpu_ns_.reset();
    running_ = false;
    return {};
  }
  const std::optional<uint64_t> before = cpu_ns_;
  cpu_ns_ = cpu_of(event);
  if (!running_)
    return {};
  running_ = false;
  last_ = RunTimes{at_ns - std::min(resumed_ns_, at_ns) - held_->between(resumed_ns_, at_ns), {}};
  if (before && cpu_ns_)
    last_->cpu_ns = *cpu_ns_ - std::min(*before, *cpu_ns_);
  return last_;
}

std::string text_of(const RunTimes &run) {
  const std::string elapsed = run.elapsed_ns < 1'000'000 ? "under 1 ms" : time_text(run.elapsed_ns);
  return run.cpu_ns ? fmt::format("[{}, {} CPU]", elapsed, time_text(*run.cpu_ns))
                    : fmt::format("[{}]", elapsed);
}

} // namespace tally
