#include "session/shown_profile.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "collect/sampled_events.h"
#include "join/named_profile.h"
#include "report/value_text.h"
#include "session/profile_commands.h"
#include "session/sampling_remarks.h"
#include "support/clock.h"
#include "support/text.h"
#include "transform/sample_filter.h"

namespace tally {

namespace {

std::string user_code_footer(const SamplerStatus &now, std::span<const SampledEvent> events) {
  if (now.kernel_included)
    return {};
  std::string others;
  if (has_others(events))
    others = fmt::format("(user code only: {} that the kernel's code caused were not sampled)",
                         names_of_others(events));
  if (now.waits_unsampled)
    return fmt::format("({}){}{}", short_waits_note, others.empty() ? "" : "\n", others);
  if (!has_clock(events))
    return others;
  return fmt::format("(user code only: the kernel's part, {} of {} of CPU time, was not sampled)",
                     seconds_text(now.unsampled_ns), seconds_text(now.cpu_ns));
}

} // namespace

std::string warnings_of(const Diagnostics &diagnostics) {
  std::string out;
  for (const Finding &finding : diagnostics.findings())
    if (finding.severity != Severity::note)
      out += finding.text() + '\n';
  return out;
}

std::string ShownProfile::why_no_samples() const {
  const uint64_t ran = sampling_.time().ran_ns(now_ns());
  if (ran == 0)
    return "no samples yet: the program has not run while it was sampled";
  if (const Region *region = sampling_.region();
      region && region->passes().count() == 0 && region->inside() == 0)
    return fmt::format("no samples yet: region {} was {}", region->name(),
                       region->unreturning() != 0
                           ? "entered only where the stack holds no return address"
                       : region->inlined() != 0 ? "entered only in inlined copies"
                                                : "not entered");
  if (const auto &events = sampling_.options().events; !events.empty())
    return fmt::format("no samples yet: the program ran for {}, and the kernel counted {}",
                       seconds_text(ran), counts_text(events, sampling_.sums().counted));
  const bool remote = sampling_.options().remote;
  const uint32_t hz =
      remote ? std::min(sampling_.options().frequency_hz, InterruptClock::most_remote_hz)
             : sampling_.options().frequency_hz;
  const double ran_seconds = static_cast<double>(ran) * 1e-9;
  if (ran_seconds * hz < 10)
    return fmt::format("no samples yet: the program ran for {}, in which a clock of {} Hz "
                       "ticks {} times: let it run longer, or choose a higher frequency",
                       duration_text(ran), hz, static_cast<uint64_t>(ran_seconds * hz));
  const SamplerStatus now = sampling_.sums();
  if (!now.problem.empty())
    return "no samples: " + now.problem;
  if (now.lost > 0) {
    const AgentFacts facts = sampling_.agent_facts();
    return fmt::format("no samples yet: {} lost, and none was kept{}{}",
                       counted(now.lost, "ticks") + (now.lost == 1 ? " was" : " were"),
                       facts.conflict.empty() ? "" : ": ", facts.conflict);
  }
  if (const Region *region = sampling_.region(); region && region->passes().count() != 0)
    return fmt::format("no samples yet: no tick fell into the {} of region {}; `profile region` "
                       "shows how long passes take",
                       counted(region->passes().count(), "passes"), region->name());
  if (remote)
    return fmt::format("no samples yet: in {} the remote target did not stop when it was asked to, "
                       "as by Ctrl-C",
                       seconds_text(ran));
  if (now.wall_clock)
    return fmt::format("no samples yet: in {} no thread could be interrupted", seconds_text(ran));
  return fmt::format("no samples yet: the program ran for {} but used only {} of CPU time, and {}",
                     seconds_text(ran), seconds_text(now.cpu_ns),
                     sampling_.options().wall ? "none of its waits has ended"
                                              : "only CPU time is counted");
}

Result<ProfilePtr> ShownProfile::collected() {
  apply_debuginfod();
  if (sampling_.has_profile())
    return sampling_.profile();
  return fail(ErrorCode::no_data,
              backends_.is_armed()
                  ? "nothing was collected yet: since `profile start` no process has run"
                  : "nothing was collected yet: `profile start`, then run the program");
}

Result<ProfilePtr> ShownProfile::sampled(const ParsedCommand &command) {
  TALLY_TRY(profile, collected());
  if (profile->sample_count() == 0)
    return fail(ErrorCode::no_data, why_no_samples(),
                fmt::format("profile {}", command.spec->name));
  return profile;
}

void ShownProfile::apply_debuginfod() {
  if (names_.set_debuginfod(settings_.value("debuginfod") == "on") && sampling_.is_active())
    profiles_.drop_named();
}

int ShownProfile::live_pid() const {
  return !loaded() && front_.target.pid == sampling_.pid() ? front_.target.pid : 0;
}

void ShownProfile::remember(FlatTable table, uint32_t limit, SampleFilter filter) {
  if (limit > 0 && table.rows.size() > limit)
    table.rows.resize(limit);
  table_ = {table.by, std::move(table.rows),          loaded() ? nullptr : profiles_.named(),
            loaded(), loaded() ? 0 : sampling_.pid(), std::move(filter)};
}

Result<Shown> ShownProfile::all(const ParsedCommand &command) {
  if (const auto file = loaded())
    return std::visit(
        [&](const auto &profile) -> Shown {
          return std::shared_ptr<const std::decay_t<decltype(profile)>>(file, &profile);
        },
        file->read.profile);
  TALLY_TRY(profile, sampled(command));
  return Shown(std::move(profile));
}

// Returns what `change` makes of the profile.
template <class Change> static Result<Shown> made_of(const Shown &shown, Change change) {
  return std::visit(
      [&](const auto &profile) -> Result<Shown> {
        TALLY_TRY(made, change(*profile));
        return Shown(std::make_shared<const std::decay_t<decltype(made)>>(std::move(made)));
      },
      shown);
}

Result<Shown> ShownProfile::selected(const ParsedCommand &command) {
  TALLY_TRY(shown, all(command));
  const auto filter = [&](const SampleFilter &wanted) -> Result<void> {
    if (wanted.takes_all())
      return {};
    TALLY_TRY(some, made_of(shown, [&](const auto &each) { return filter_samples(each, wanted); }));
    shown = std::move(some);
    return {};
  };
  const SampleFilter wanted = command.filter();
  if (!command.has("kernel")) {
    TALLY_CHECK(filter(wanted));
    return shown;
  }
  TALLY_CHECK(filter(wanted.without_patterns()));
  TALLY_TRY(whole, made_of(shown, [](const auto &each) { return unfold_kernel(each); }));
  shown = std::move(whole);
  TALLY_CHECK(filter(wanted.only_patterns())); // they apply to the kernel's functions, too
  return shown;
}

std::string ShownProfile::warnings() const { return warnings_of(names_.diagnostics()); }

std::string ShownProfile::footer() const {
  std::string out;
  const auto add_line = [&](const std::string &text) {
    if (!text.empty())
      out += front_.style.paint(Role::metadata, text) + '\n';
  };
  if (const auto &file = loaded()) {
    add_line(
        fmt::format("(loaded from {}; `profile clear` returns to what was sampled)", file->path));
    return out;
  }
  if (const Region *const region = sampling_.region())
    add_line(region_footer(*region));
  const SamplerStatus now = sampling_.sums();
  const StartOptions &options = sampling_.options();
  if (!now.problem.empty())
    add_line(fmt::format("({})", now.problem));
  add_line(user_code_footer(now, options.events));
  for (const std::string &remark : {missed_remark(now), lost_remark(now), truncation_remark(now),
                                    options.events.empty() ? share_remark(now) : ""})
    if (!remark.empty())
      add_line(fmt::format("({})", remark));
  if (now.queued != 0)
    add_line(fmt::format("(wall time; waits for a processor are left out: {})",
                         counted(now.queued, "ticks")));
  if (now.divided_ns >= now.queued_ns / 100 && now.divided_ns != 0)
    add_line(fmt::format(
        "({} of the queued time followed wake-ups; the kernel has only a total for each "
        "thread, which is divided evenly among its waits)",
        duration_text(now.divided_ns)));
  if (now.periods > now.rounds + now.rounds / 10)
    add_line(fmt::format("({} {} for {} ticks of each thread, because stops took long: shares "
                         "are less exact than so many ticks suggest)",
                         counted(now.rounds, "rounds"), now.rounds == 1 ? "stands" : "stand",
                         now.periods));
  if (now.unheld != 0)
    add_line(fmt::format("({} of {} rounds stopped the threads late: they show the ends of system "
                         "calls too often)",
                         now.unheld, now.rounds));
  return out + warnings();
}

} // namespace tally
