#include "session/profile_group.h"

#include <set>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "report/value_text.h"
#include "session/profile_commands.h"
#include "session/profile_table.h"
#include "support/clock.h"
#include "support/path.h"

namespace tally {

namespace {

std::string trigger_of(const DebugEvent &event) {
  std::string location(base_name(event.file));
  if (!location.empty() && event.line > 0)
    location += fmt::format(":{}", event.line);
  const auto at = [&](std::string text) {
    return location.empty() ? text : fmt::format("{}, {}", text, location);
  };
  switch (event.kind) {
  case EventKind::breakpoint:
    return at(fmt::format("breakpoint {}", event.number));
  case EventKind::watchpoint:
    return at(fmt::format("watchpoint {}", event.number));
  case EventKind::catchpoint:
    return event.text.empty() ? fmt::format("catchpoint {}", event.number)
                              : fmt::format("catchpoint {} ({})", event.number, event.text);
  case EventKind::signal:
    return event.text;
  case EventKind::step:
    return at(event.text.empty() ? "step" : event.text);
  case EventKind::exited:
    return fmt::format("exited, status {}", event.number);
  case EventKind::signalled:
    return fmt::format("ended by {}", event.text);
  case EventKind::killed:
    return "killed";
  case EventKind::detached:
    return "detached";
  case EventKind::other:
  case EventKind::target:
  case EventKind::resumed:
    break;
  }
  return at(event.text.empty() ? "stopped" : event.text);
}

// Returns the text with `more` behind it. An error replaces both.
Result<std::string> with_text(Result<std::string> text, std::string_view more) {
  if (text)
    *text += more;
  return text;
}

// The source files that have samples.
std::vector<std::string> source_paths(const StackProfile &profile) {
  std::set<StringId> paths;
  for (uint32_t i = 0; i < profile.location_count(); ++i)
    for (const SourceLine &line : profile.location(static_cast<LocationId>(i)).lines)
      paths.insert(line.file);
  std::vector<std::string> out;
  out.reserve(paths.size());
  for (const StringId path : paths)
    out.emplace_back(profile.strings[path]);
  return out;
}

std::vector<std::string> source_paths(const CostProfile &profile) {
  std::vector<std::string> out;
  for (const StringId path : profile.files())
    out.emplace_back(profile.strings[path]);
  return out;
}

} // namespace

Result<std::string> ProfileGroup::event(const DebugEvent &event) {
  if (is_stop(event.kind) || is_end(event.kind))
    held.watch({}); // the times of the run that ends are complete
  const uint64_t at_ns = event.at_ns == 0 ? now_ns() : event.at_ns;
  const std::optional<RunTimes> run = run_timer.event(event);
  shown.apply_debuginfod();
  Result<std::string> text = follow(event);
  watch_held(at_ns);
  if (text && run && settings.value("stop-times") == "on")
    *text += text_of(*run) + '\n';
  return text;
}

void ProfileGroup::watch_held(uint64_t since_ns) {
  std::vector<pid_t> pids;
  // Passes of a region are shorter than the interval of the looks, and a process's children run on
  // while it is held.
  if (!region.is_watched() && !sampling.options().children) {
    if (!sampling.options().remote)
      pids = sampling.running_pids();
    if (pids.empty() && settings.value("stop-times") == "on" && run_timer.running_pid() != 0 &&
        front.target.target == TargetKind::native)
      pids = {run_timer.running_pid()};
  }
  held.watch(std::move(pids), since_ns);
}

Result<std::string> ProfileGroup::event_beside(const DebugEvent &event) {
  if (is_stop(event.kind) || is_end(event.kind))
    held.watch({});
  const uint64_t at_ns = event.at_ns == 0 ? now_ns() : event.at_ns;
  Result<std::string> text = follow_beside(event);
  watch_held(at_ns);
  return text;
}

Result<std::string> ProfileGroup::follow_beside(const DebugEvent &event) {
  switch (event.kind) {
  case EventKind::target:
    return "";
  case EventKind::resumed: {
    TALLY_TRY(news, backends.other_resumed(event));
    sampling.note_resume_of(event.pid);
    return news;
  }
  case EventKind::exited:
  case EventKind::signalled:
  case EventKind::killed:
  case EventKind::detached:
    return sampling.end_other(event.pid, trigger_of(event), event.kind == EventKind::detached);
  case EventKind::breakpoint:
  case EventKind::watchpoint:
  case EventKind::catchpoint:
  case EventKind::signal:
  case EventKind::step:
  case EventKind::other:
    sampling.end_part_of(event.pid, trigger_of(event));
    return "";
  }
  return "";
}

Result<std::string> ProfileGroup::follow(const DebugEvent &event) {
  const bool another = sampling.is_active() && event.pid != sampling.pid();
  if (sampling.options().remote && event.pid != sampling.pid())
    sampling.note_gone();
  if (event.kind == EventKind::target && another) {
    // The front end does not know how the process ended.
    auto ended = sampling.end(event.text.empty() ? "gone" : event.text, true);
    return with_text(std::move(ended), backends.undo_changes(true));
  }
  if (event.kind == EventKind::resumed && another) {
    TALLY_CHECK(sampling.finish_first("gone"));
    TALLY_CHECK(sampling.name_frozen()); // the new process waits for this
  }
  switch (event.kind) {
  case EventKind::target:
    return event.pid == 0 && !sampling.is_active() ? backends.undo_changes(true) : "";
  case EventKind::resumed: {
    TALLY_TRY(news, backends.process_resumed());
    sampling.note_resume();
    return news;
  }
  case EventKind::exited:
  case EventKind::signalled:
  case EventKind::killed:
  case EventKind::detached:
    return process_ended(event);
  case EventKind::breakpoint:
  case EventKind::watchpoint:
  case EventKind::catchpoint:
  case EventKind::signal:
  case EventKind::step:
  case EventKind::other:
    sampling.end_part(trigger_of(event));
    return sampling.is_past_limit() ? end_at_limit() : backends.follow_sampler();
  }
  return "";
}

Result<std::string> ProfileGroup::process_ended(const DebugEvent &event) {
  const bool detached = event.kind == EventKind::detached;
  if (detached && sampling.is_active())
    backends.disarm();
  std::string text;
  if (sampling.agent()) {
    const AgentFacts facts = sampling.agent_facts();
    if (facts.clock.empty()) // it never worked
      text =
          fmt::format("Nothing was sampled: {}.\n",
                      facts.reason.empty() ? "the program did not load the agent" : facts.reason);
    else if (facts.phase == AgentPhase::ended && !facts.exited)
      text = fmt::format("Sampling ended before the process did: {}.\n", facts.reason);
  }
  if (!detached)
    sampling.note_gone();
  auto ended = sampling.end(trigger_of(event), detached);
  if (ended)
    ended->insert(0, text);
  return with_text(std::move(ended), backends.undo_changes(true));
}

Result<std::string> ProfileGroup::limit_reached() {
  if (sampling.limit_left_ns() != 0)
    return "";
  if (sampling.options().runs_on) {
    // The stop for a request that is on its way would be the user's if sampling had ended.
    const bool wait = sampling.options().remote && sampling.clock().awaits_stop();
    return wait ? "" : end_at_limit();
  }
  sampling.expect_last_stop();
  const auto halted = front.ask(&Debugger::halt);
  if (halted)
    return "";
  TALLY_TRY(ended, end_at_limit());
  return fmt::format("The program runs on: {}.\n{}", halted.error().message, ended);
}

Result<std::string> ProfileGroup::end_at_limit() {
  backends.disarm();
  const std::string limit = duration_text(sampling.options().limit_ns);
  TALLY_CHECK(sampling.finish_all(fmt::format("--for {}", limit)));
  backends.undo_changes(false);
  const std::string text = fmt::format("Sampling ended after {} of running time.\n", limit);
  TALLY_TRY(report, parse_line(profile_table(), "report"));
  auto reported = report_command(shown, front, report);
  if (!reported && reported.error().code == ErrorCode::no_data) // an error would replace the text
    return text + reported.error().message + "\n";
  TALLY_TRY(table, std::move(reported));
  return text + table;
}

std::vector<std::string> ProfileGroup::words_of(ValueKind kind) const {
  std::vector<std::string> out;
  const auto add = [&](const auto &profile) {
    switch (kind) {
    case ValueKind::function:
      for (const auto &function : profile.functions())
        out.emplace_back(profile.strings[function.name]);
      break;
    case ValueKind::source:
      out = source_paths(profile);
      break;
    case ValueKind::thread:
      out = thread_words(profile);
      break;
    case ValueKind::process:
      out = process_words(profile);
      break;
    case ValueKind::event:
      out = event_words(profile);
      break;
    case ValueKind::part:
      for (const auto &part : profile.parts())
        out.push_back(std::to_string(part.number));
      break;
    default:
      break;
    }
  };
  if (profiles.loaded())
    std::visit(add, profiles.loaded()->read.profile);
  else if (const ProfilePtr &known = profiles.named() ? profiles.named() : profiles.kept())
    add(*known);
  std::erase(out, "");
  return out;
}

} // namespace tally
