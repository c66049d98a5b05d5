#include "session/session.h"

#include <deque>
#include <exception>
#include <utility>
#include <variant>

#include "collect/last_run.h"
#include "session/complete.h"
#include "session/coverage_group.h"
#include "session/coverage_table.h"
#include "session/profile_group.h"
#include "session/profile_table.h"
#include "session/stop_code.h"
#include "support/clock.h"
#include "support/text.h"

namespace tally {

namespace {

// A resume may be noticed when the debugger steps over its own breakpoint. The run begins after it.
constexpr uint64_t longest_step_ns = 10'000'000;

constexpr std::string_view is_busy_message = "another command is not done yet";

// Gives events the times at which they happened. A debugger reports a stop after it has read
// symbols, printed the frame and run the user's scripts, and a resume that nobody announced after
// it has been noticed.
class EventTimes {
public:
  DebugEvent with_time(DebugEvent event) {
    if (event.target != TargetKind::native)
      return event;
    if (is_stop(event.kind)) {
      if (const auto last = last_run_ns(event.pid);
          last && (event.at_ns == 0 || *last < event.at_ns))
        event.at_ns = *last;
      pid_ = event.pid;
      stopped_ns_ = event.at_ns;
      held_ = accounted_threads(event.pid);
    } else if (event.kind == EventKind::resumed && event.at_ns != 0 && event.pid == pid_) {
      const auto begin = run_begin_ns(event.pid, held_);
      // Only the processor time of a run that has ended is known.
      const uint64_t latest_ns = event.unseen ? event.at_ns : event.at_ns + longest_step_ns;
      if (begin && *begin >= stopped_ns_ && *begin < latest_ns)
        event.at_ns = *begin;
    }
    return event;
  }

private:
  // The last stop that was reported.
  pid_t pid_ = 0;
  uint64_t stopped_ns_ = 0;
  AccountedThreads held_;
};

} // namespace

struct Session::State {
  explicit State(Debugger &debugger) : front(debugger, target) {}

  EventTimes times;
  DebugEvent target; // the newest event
  Front front;
  ProfileGroup profile{front};
  CoverageGroup coverage{front};
  // What a function of the debugger has reported: it waits for the call that calls the function.
  bool is_busy = false;
  std::deque<DebugEvent> events;
  bool limit_waits = false;
  std::string said; // by what has waited

  Settings &settings_of(GroupId group) {
    return group == GroupId::coverage ? coverage.settings : profile.settings;
  }

  // Runs a step from beginning to end, and then what has waited for it.
  template <class Step> Result<std::string> run(bool is_event, Step step) {
    is_busy = true;
    front.in_event = is_event;
    const std::unique_ptr<bool, void (*)(bool *)> not_busy(
        &is_busy, [](bool *busy) { *busy = false; }); // even if something throws
    std::exception_ptr thrown;
    Result<std::string> text = ended(step, thrown);
    front.in_event = true;
    while (!events.empty() || limit_waits) {
      if (std::exchange(limit_waits, false)) {
        say(ended([&] { return profile.limit_reached(); }, thrown));
        continue;
      }
      const DebugEvent event = std::move(events.front());
      events.pop_front();
      say(ended([&] { return handle(event); }, thrown));
    }
    if (thrown)
      std::rethrow_exception(thrown);
    if (!text)
      return text;
    // No text from a file can control the terminal.
    return front.style.without_foreign(*text + std::exchange(said, {}));
  }

  // Runs a command or an event, and ends it. What it throws is kept, because others may wait.
  template <class Step> Result<std::string> ended(Step step, std::exception_ptr &thrown) {
    Result<std::string> text;
    try {
      text = step();
    } catch (...) {
      thrown = std::current_exception();
      text = fail(ErrorCode::internal, "an exception");
    }
    if (!text)
      profile.give_up();
    profile.region.settle();
    return text;
  }

  void say(const Result<std::string> &text) { said += text ? *text : text.error().text() + '\n'; }

  // Passes the event on to every group.
  Result<std::string> handle(const DebugEvent &event) {
    RunClock &time = profile.sampling.time();
    time.set_event_time(event.at_ns);
    const std::unique_ptr<RunClock, void (*)(RunClock *)> now_again(
        &time, [](RunClock *clock) { clock->set_event_time(0); }); // even if something throws
    if (event.beside)
      return profile.event_beside(event);
    target = event;
    auto text = profile.event(event);
    coverage.event(event); // it may take long to read the stacks
    return text;
  }
};

const CommandTable &table_of(GroupId group) {
  return group == GroupId::coverage ? coverage_table() : profile_table();
}
std::string help_of(GroupId group) {
  return group == GroupId::coverage ? coverage_help() : profile_help();
}

Session::Session(Debugger &debugger) : state_(std::make_unique<State>(debugger)) {}
Session::~Session() = default;

Result<std::string> Session::command(std::string_view line, GroupId group) {
  TALLY_TRY(parsed, parse_line(table_of(group), line));
  if (state_->is_busy)
    return fail(ErrorCode::bad_state, std::string(is_busy_message));
  auto text = state_->run(false, [&] {
    return group == GroupId::coverage ? state_->coverage.run(parsed) : state_->profile.run(parsed);
  });
  if (!text && is_interrupted(text.error()) && group == GroupId::coverage)
    text.error().message = "interrupted"; // nothing is collected
  return text;
}

Result<std::string> Session::event(const DebugEvent &reported) {
  DebugEvent event = state_->times.with_time(reported);
  if (!state_->is_busy)
    return state_->run(true, [&] { return state_->handle(event); });
  if (event.at_ns == 0 && !event.unseen) // it is handled later
    event.at_ns = now_ns();
  state_->events.push_back(event);
  return "";
}

uint64_t Session::tick_wait_ns() { return state_->profile.sampling.clock().wait_ns(); }
size_t Session::tick_interrupt() { return state_->profile.sampling.clock().interrupt(); }
InterruptClock::Stop Session::tick_take(int32_t tid) {
  return state_->profile.sampling.clock().take(tid);
}
void Session::tick_withdraw() { state_->profile.sampling.clock().withdraw(); }
Result<void> Session::tick(std::span<const ThreadStack> stacks) {
  Sampling &sampling = state_->profile.sampling;
  if (state_->is_busy)
    return sampling.tick(stacks);
  TALLY_TRY(text, state_->run(true, [&]() -> Result<std::string> {
    TALLY_CHECK(sampling.tick(stacks));
    return "";
  }));
  state_->said = std::move(text); // of events that came meanwhile
  return {};
}

uint64_t Session::region_hit(const RegionHit &hit) { return state_->profile.region.hit(hit); }
bool Session::region_measures() const { return state_->profile.region.measures(); }

uint64_t Session::limit_left_ns() const { return state_->profile.sampling.limit_left_ns(); }
Result<std::string> Session::limit_reached() {
  if (!state_->is_busy)
    return state_->run(true, [&] { return state_->profile.limit_reached(); });
  state_->limit_waits = true;
  return "";
}

void Session::set_passed_stops(std::span<const BreakpointLocation> locations, bool steps_by_copy) {
  const pid_t pid =
      state_->front.target.target == TargetKind::native ? state_->front.target.pid : 0;
  StopAddresses now;
  if (pid != 0 && steps_by_copy && !locations.empty())
    note_step_area(now, pid);
  add_stops(now, pid, locations);
  state_->profile.backends.passed_stops().replace(now);
}

std::vector<std::string> Session::complete(std::string_view line, GroupId group) const {
  return complete_words(table_of(group), line, [&](ValueKind kind) {
    return group == GroupId::coverage ? state_->coverage.words_of(kind)
                                      : state_->profile.words_of(kind);
  });
}

std::string Session::symbol_to_complete(std::string_view line) const {
  const auto symbol = tally::symbol_to_complete(profile_table(), line);
  return symbol && !symbol->empty() && complete(line).empty() ? *symbol : std::string();
}

std::vector<std::string> Session::complete(std::string_view line,
                                           std::span<const std::string> functions,
                                           std::span<const std::string> files) const {
  return complete_words(profile_table(), line, [&](ValueKind kind) -> std::vector<std::string> {
    if (kind == ValueKind::function)
      return {functions.begin(), functions.end()};
    if (kind == ValueKind::source)
      return {files.begin(), files.end()};
    return {};
  });
}

int32_t Session::sampled_pid() const {
  const Sampling &sampling = state_->profile.sampling;
  return sampling.is_active() ? sampling.pid() : 0;
}

bool Session::is_armed() const { return state_->profile.backends.is_armed(); }

std::string_view Session::setting(std::string_view name, GroupId group) const {
  return state_->settings_of(group).value(name);
}

Result<void> Session::set(std::string_view name, std::string_view value, GroupId group) {
  return state_->settings_of(group).set(name, value);
}

Result<void> Session::set_display(const Display &display) {
  Style style;
  for (const auto &[role, sgr] : display.styles)
    TALLY_CHECK(style.set(role, sgr));
  Front &front = state_->front;
  front.style = std::move(style);
  front.width = display.width;
  front.flavor = display.flavor == "intel" ? DisassemblyFlavor::intel : DisassemblyFlavor::att;
  return {};
}

const std::optional<RunTimes> &Session::last_run() const {
  return state_->profile.run_timer.last();
}

StatusRows Session::status() const {
  StatusRows out;
  for (StatusRow &row : status_rows(state_->profile.status_sources()))
    out.emplace_back(std::move(row.name), std::move(row.text));
  return out;
}

Result<FlatTable> Session::table(By by, SortBy sort) {
  if (const auto &loaded = state_->profile.profiles.loaded())
    return std::visit([&](const auto &each) { return flat_table(each, by, sort); },
                      loaded->read.profile);
  if (state_->is_busy)
    return fail(ErrorCode::bad_state, std::string(is_busy_message));
  FlatTable table;
  TALLY_TRY(text, state_->run(false, [&]() -> Result<std::string> {
    TALLY_TRY(profile, state_->profile.shown.collected());
    TALLY_TRY(made, flat_table(*profile, by, sort));
    table = std::move(made);
    return "";
  }));
  state_->said = std::move(text);
  return table;
}

} // namespace tally
