// Implements the commands `profile` and `coverage` for any debugger.
//
// A front end reports events (the process runs, stops, ends), passes on the user's commands, and
// prints the texts. The session calls the functions of a Debugger meanwhile, on the same thread,
// which must be the debugger's own. The session is called from one thread at a time. Nothing here
// prints or throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "collect/interrupt.h"
#include "collect/stop_addresses.h"
#include "report/report.h"
#include "support/result.h"

namespace tally {

// tally.h describes the enumerators and fields of the following types; capi/constants.cpp checks
// that the numbers are the same.

enum class TargetKind : uint8_t { none, native, remote, core }; // tally_target_kind

// tally_event_kind
enum class EventKind : uint8_t {
  target,
  resumed,
  breakpoint,
  watchpoint,
  catchpoint,
  signal,
  step,
  other,
  exited,
  signalled,
  killed,
  detached,
};

// tally_hit
struct RegionHit {
  enum class Kind : uint8_t { first, second, returned, caught, jumped, measured }; // tally_hit_kind
  Kind kind = Kind::first;
  int32_t tid = 0;
  bool at_entry = false;
  uint64_t caller_sp = 0;
  uint64_t return_address = 0;
  uint64_t jump_buffer = 0;
  bool holds_all = false;
};

// A function by which a program leaves another function without a return, and how a front end
// reports that it is called: a row of tally_region_exits().
struct RegionExit {
  std::string_view function;
  RegionHit::Kind kind;
};
std::span<const RegionExit> region_exits();

// See tally_leads_on() in tally.h.
bool leads_on(std::string_view instruction);

// tally_display. A style is a pair of a role and an escape sequence (see Style::set()). Text of a
// role without a style is plain.
struct Display {
  uint32_t width = 80;
  std::string_view flavor = {};
  std::span<const std::pair<std::string_view, std::string_view>> styles = {};
};

// Whether an event of this kind stops the process for the user, or ends it or its debugging.
constexpr bool is_stop(EventKind kind) {
  return kind >= EventKind::breakpoint && kind <= EventKind::other;
}
constexpr bool is_end(EventKind kind) { return kind >= EventKind::exited; }

// tally_event
struct DebugEvent {
  EventKind kind = EventKind::target;
  TargetKind target = TargetKind::none;
  int32_t pid = 0;
  int32_t number = 0;
  std::string text;
  std::string file;
  uint32_t line = 0;
  std::string command;
  std::string program;
  uint64_t at_ns = 0;
  bool beside = false;
  bool unseen = false; // TALLY_EVENT_RAN, whose kind is `resumed` here
};

// The groups of commands.
enum class GroupId : uint8_t { profile, coverage };

// The names and values that `status` shows.
using StatusRows = std::vector<std::pair<std::string, std::string>>;

// Returns the code that a frame of a thread belongs to ("libc", "the allocator", "the dynamic
// loader") if a call into the program could wait forever there, because that code may hold a lock.
// Returns empty if the frame permits a call. `module` is the file of the frame. `before` is, for
// the innermost frame, the bytes before its pc, which show whether it is in a system call.
std::string_view why_call_is_unsafe(std::string_view module, std::string_view function,
                                    bool innermost, std::span<const std::byte> before);

// How long a process ran, from a resume to the next stop that the user saw.
struct RunTimes {
  uint64_t elapsed_ns = 0;
  std::optional<uint64_t> cpu_ns; // of all threads; none for a process of another machine
};

struct CommandTable;
const CommandTable &table_of(GroupId group);
std::string help_of(GroupId group); // of the group's name itself

class Debugger;

class Session {
public:
  explicit Session(Debugger &debugger); // which outlives the session
  Session(const Session &) = delete;
  ~Session(); // ends sampling

  // Both functions return the text to print: empty, or complete lines. A command fails with
  // ErrorCode::cancelled if the user interrupts the debugger meanwhile, and so does an event that
  // needs its answer.

  // Performs a command. `line` is the text after the name of the group: "start --frequency 4000"
  // for `profile`. Fails if a function of the debugger calls this.
  Result<std::string> command(std::string_view line, GroupId group = GroupId::profile);
  // Reports an event. The front end shows an error to the user (sampling could not begin), and the
  // debugger continues. If a function of the debugger reports an event, that is handled when the
  // call ends during which it is reported, and the text comes behind the text of that call or, if
  // that fails, of the next one.
  Result<std::string> event(const DebugEvent &event);

  // Returns the words that complete the last word of `line`, sorted.
  std::vector<std::string> complete(std::string_view line, GroupId group = GroupId::profile) const;
  // Returns the last word of `line` if it is the beginning of a function's or source file's name,
  // and the profile knows no name that begins so. Then the front end asks the debugger for names.
  // Otherwise it returns empty.
  std::string symbol_to_complete(std::string_view line) const;
  // Does the same as complete() with the functions and source files that the debugger knows.
  std::vector<std::string> complete(std::string_view line, std::span<const std::string> functions,
                                    std::span<const std::string> files) const;

  // Returns the first sampled process, or 0 if there is none. While it exists, a front end that
  // debugs several processes reports events of others as DebugEvent::beside.
  int32_t sampled_pid() const;
  bool is_armed() const; // whether sampling begins with the next process that runs

  std::string_view setting(std::string_view name,
                           GroupId group = GroupId::profile) const; // empty if it is unknown
  Result<void> set(std::string_view name, std::string_view value, GroupId group = GroupId::profile);

  // See tally_session_tick_wait_ns() in tally.h, and what follows it there.
  // InterruptClock::given_up is SIZE_MAX, and InterruptClock::any_thread is the tid 0 of a remote
  // process.
  uint64_t tick_wait_ns();                     // any thread
  size_t tick_interrupt();                     // any thread
  InterruptClock::Stop tick_take(int32_t tid); // on the debugger's thread
  void tick_withdraw();
  Result<void> tick(std::span<const ThreadStack> stacks);

  // See tally_session_region_hit() in tally.h. `look` and `nobody` are its special results.
  static constexpr uint64_t look = UINT64_MAX, nobody = UINT64_MAX - 1;
  uint64_t region_hit(const RegionHit &hit);
  bool region_measures() const; // see tally_session_region_measures()

  // See tally_session_limit_ns() in tally.h, and what follows it there.
  uint64_t limit_left_ns() const;
  Result<std::string> limit_reached();

  // States which of the user's breakpoints the debugger may pass without a stop for the user. Each
  // call replaces the previous set. See tally_session_set_passed_stops() in tally.h.
  void set_passed_stops(std::span<const BreakpointLocation> locations, bool steps_by_copy);

  // Sets how replies look from now on. After an error the previous display stays.
  Result<void> set_display(const Display &display);

  // Returns the rows of `report`, for front ends with tables of their own. It looks up all names
  // that have not been looked up yet.
  Result<FlatTable> table(By by, SortBy sort);
  StatusRows status() const; // the rows of `status`
  // Returns how long the process ran before its last stop.
  const std::optional<RunTimes> &last_run() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tally
