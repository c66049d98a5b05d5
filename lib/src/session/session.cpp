#include "session/session.h"

#include <optional>
#include <variant>

#include "collect/last_run.h"
#include "session/complete.h"
#include "session/coverage_group.h"
#include "session/coverage_table.h"
#include "session/profile_commands.h"
#include "session/profile_table.h"
#include "session/stop_code.h"
#include "support/text.h"

namespace tally {

namespace {

// A resume may be noticed when the debugger steps over its own breakpoint. The run begins after it.
constexpr uint64_t longest_step_ns = 10'000'000;

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
      const uint64_t latest_ns =
          event.text == "unseen" ? event.at_ns : event.at_ns + longest_step_ns;
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
  EventTimes times;
  DebugEvent target; // the newest event
  Front front{target};
  ProfileGroup profile{front};
  CoverageGroup coverage{front};

  Settings &settings_of(GroupId group) {
    return group == GroupId::coverage ? coverage.settings : profile.settings;
  }

  // Cancels what was requested, because a command came in place of an answer.
  void give_up() {
    profile.sampling.give_up();
    if (front.actions.give_up())
      profile.give_up();
  }

  // Passes the event on to every group. A group other than `profile` makes its requests by actions;
  // the reply of `profile` may itself hold a request, and comes last.
  Result<Reply> event(const DebugEvent &event) {
    if (event.beside) {
      front.actions.begin_event();
      return settle(profile.event_beside(event));
    }
    target = event;
    front.actions.begin_event();
    static_cast<void>(coverage.event(event)); // its errors concern no command
    return settle(profile.event(event));
  }

  // A command or an event ends once the front end has performed all actions.
  Result<Reply> settle(Result<Reply> step) {
    if (auto request = front.actions.keep(std::move(step)))
      return shown(std::move(*request));
    // LLDB reports events while it performs an action of a command, which is not over then.
    if (front.actions.empty() && !front.actions.is_performing())
      profile.settle();
    return shown(front.actions.next());
  }

  // Every reply goes through this, so that no text from a file can control the terminal.
  Result<Reply> shown(Result<Reply> reply) const {
    if (reply) {
      reply->text = front.style.without_foreign(reply->text);
      reply->request.text = printable(std::move(reply->request.text));
    }
    return reply;
  }
};

const CommandTable &table_of(GroupId group) {
  return group == GroupId::coverage ? coverage_table() : profile_table();
}
std::string help_of(GroupId group) {
  return group == GroupId::coverage ? coverage_help() : profile_help();
}

Session::Session() : state_(std::make_unique<State>()) {}
Session::~Session() = default;

Result<Reply> Session::command(std::string_view line, GroupId group) {
  TALLY_TRY(parsed, parse_line(table_of(group), line));
  state_->give_up();
  state_->front.actions.begin_command();
  return state_->settle(group == GroupId::coverage ? run_coverage_command(state_->coverage, parsed)
                                                   : run_profile_command(state_->profile, parsed));
}

Result<Reply> Session::event(const DebugEvent &reported) {
  const DebugEvent event = state_->times.with_time(reported);
  RunClock &time = state_->profile.sampling.time();
  time.set_event_time(event.at_ns);
  const std::unique_ptr<RunClock, void (*)(RunClock *)> now_again(
      &time, [](RunClock *clock) { clock->set_event_time(0); }); // even if something throws
  return state_->event(event);
}

Result<Reply> Session::answer(std::span<const std::string> answers) {
  ActionQueue &actions = state_->front.actions;
  return state_->settle(actions.is_performing() ? actions.answer(answers)
                                                : state_->profile.sampling.answer(answers));
}

Result<Reply> Session::answer_memory(std::vector<std::optional<std::string>> contents) {
  const Request *const request = state_->front.actions.performing();
  if (request &&
      (request->kind != RequestKind::memory || request->addresses.size() != 2 * contents.size()))
    return fail(ErrorCode::invalid_argument, "the request was not for so many ranges of memory");
  if (request)
    state_->coverage.set_memory(std::move(contents));
  return answer({});
}

uint64_t Session::tick_wait_ns() { return state_->profile.sampling.clock().wait_ns(); }
size_t Session::tick_interrupt() { return state_->profile.sampling.clock().interrupt(); }
InterruptClock::Stop Session::tick_take(int32_t tid) {
  return state_->profile.sampling.clock().take(tid);
}
void Session::tick_withdraw() { state_->profile.sampling.clock().withdraw(); }
Result<Reply> Session::tick(std::span<const ThreadStack> stacks) {
  return state_->shown(state_->profile.sampling.tick(stacks));
}

uint64_t Session::region_hit(const RegionHit &hit) { return state_->profile.region_hit(hit); }
bool Session::region_measures() const { return state_->profile.region_measures(); }

uint64_t Session::limit_left_ns() const { return state_->profile.sampling.limit_left_ns(); }
Result<Reply> Session::limit_reached() {
  state_->front.actions.begin_event();
  return state_->settle(state_->profile.limit_reached());
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

Result<Reply> Session::cancel() {
  if (state_->front.actions.cancel())
    state_->profile.give_up();
  return state_->shown(state_->profile.cancel());
}

std::vector<std::string> Session::complete(std::string_view line, GroupId group) const {
  return complete_words(table_of(group), line, [&](std::string_view kind) {
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
  return complete_words(profile_table(), line,
                        [&](std::string_view kind) -> std::vector<std::string> {
                          if (kind == "FUNCTION")
                            return {functions.begin(), functions.end()};
                          if (kind == "FILE")
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
  for (StatusRow &row : status_rows(state_->profile))
    out.emplace_back(std::move(row.name), std::move(row.text));
  return out;
}

Result<FlatTable> Session::table(By by, SortBy sort) {
  if (const auto &loaded = state_->profile.profiles.loaded())
    return std::visit([&](const auto &each) { return flat_table(each, by, sort); },
                      loaded->read.profile);
  std::optional<Result<FlatTable>> table;
  const auto then = [&](const StackProfile &profile) {
    table = flat_table(profile, by, sort);
    return Result<Reply>(Reply{});
  };
  TALLY_TRY(reply, state_->profile.with_names(then));
  TALLY_CHECK(state_->profile.sampling.finish_requests(std::move(reply)));
  return std::move(*table);
}

} // namespace tally
