// Implements the `profile` commands for any debugger.
//
// The session never calls a debugger. A front end reports events (the process runs, stops, ends),
// passes on the user's commands, prints the text of the replies, and performs their requests. It
// calls the session from one thread at a time, which must be the debugger's own thread if a request
// needs the debugger. Nothing here prints or throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/report.h>
#include <tally/result.h>

#include "collect/interrupt.h"
#include "collect/stop_addresses.h"

namespace tally {

enum class TargetKind : uint8_t { none, native, remote, core };

// The events of the inferior. The comments name the fields of DebugEvent that a kind uses.
enum class EventKind : uint8_t {
  target,     // nothing happened; reports the current state, before each command
  resumed,    // about to run, or running
  breakpoint, // stopped: number, file and line
  watchpoint, // stopped: number, file and line
  catchpoint, // stopped: number, text (the event that was caught), file and line
  signal,     // stopped: text (SIGSEGV)
  step,       // stopped: text (the command, or empty), file and line
  other,      // stopped: text (the reason), file and line
  exited,     // ended: number (the status)
  signalled,  // ended by a signal: text
  killed,     // ended by the debugger
  detached,
};

// The program has stopped where a region begins or may end.
struct RegionHit {
  enum class Kind : uint8_t {
    first,    // at the region's first location, or in a call of its function
    second,   // at the region's second location
    returned, // at an address that region_hit() has returned
    caught,   // in __cxa_begin_catch(), called by the handler of an exception
    jumped,   // in longjmp()
  };
  Kind kind = Kind::first;
  int32_t tid = 0;
  bool at_entry = false; // first, caught: at the first instruction of the function
  // The caller's stack pointer before its call; for `returned`, the current stack pointer. For
  // `returned`, `caught` and with at_entry it may be 0 if the debugger needs long to find it; with
  // at_entry return_address may then be 0, too.
  uint64_t caller_sp = 0;
  // first: the return address of the call, 0 in an inlined copy; returned: the current pc.
  uint64_t return_address = 0;
  uint64_t jump_buffer = 0; // jumped: the first argument of longjmp()
  bool holds_all = false;   // the debugger has stopped all threads, not only this one
};

// Why a front end cannot watch a region. It answers RequestKind::region with one of these as a
// digit, a blank, and the function or location as the user typed it; the session makes a message of
// it. It shows other answers as they are.
enum class RegionRefusal : uint8_t {
  unknown = 1, // there is no such function or location
  inlined = 2, // all copies of the function are inlined
  within = 3,  // for a single word: an address within a function, where no call begins
};

struct DebugEvent {
  EventKind kind = EventKind::target;
  TargetKind target = TargetKind::none;
  int32_t pid = 0;    // of the inferior; 0 if there is none
  int32_t number = 0; // the number of a breakpoint, or the exit status
  std::string text;
  std::string file; // where it stopped; may be empty
  uint32_t line = 0;
  std::string command; // the program and its arguments; empty if unknown
  std::string program; // the program's file; empty if unknown
  // The time of the event, in ns of CLOCK_MONOTONIC, for a front end that learns of it later; 0 for
  // now.
  uint64_t at_ns = 0;
};

// The requests to a front end, with the answer that each one needs.
enum class RequestKind : uint8_t {
  none,
  progress, // show `text`, check for Ctrl-C, then call answer({}) or cancel()
  symbols,  // answer with "function\tfile\tline" for each of `addresses`, "" for an unknown one;
            // if code is inlined there, with one such line for each function, innermost first
  // The following requests need one answer: "" for success, otherwise the reason for the failure.
  preload,         // make the next run load the library words[0] before all others, with words[1]
                   // ("NAME=VALUE") in its environment; pass `signals` to it without a stop
  preload_end,     // undo this for the next run, but keep the settings of the signals
  load,            // make the stopped process load words[0] and call the library's function
                   // int tally_agent_start(const char *) with words[1], if that is safe; `signals`
                   // as for preload
  interrupt,       // begin to interrupt the process, see tick(), with signals[0], or, without one,
                   // as Ctrl-C does. words[0] is "stacks", or "pcs" if callers are not needed
  interrupt_end,   // stop this, but keep the settings of the signals
  signals_restore, // restore the settings of all signals that were changed
  // For the next two, words[0] is a file and words[1] a line, or "" and a run-time address, 0x….
  set_breakpoint, // set a user breakpoint there
  list_source,    // show the source around it; only with a line
  region,         // begin to call region_hit() when the program reaches the locations words[0] and
                  // words[1]; or, with words[0] alone, when it enters that function, or may leave
                  // it by a return, a caught exception or longjmp(). This replaces an earlier
                  // region, which remains if the new one fails
  region_end,     // stop calling region_hit()
  // `addresses` are pairs [low, high). Answer with one text: a line "0xADDRESS\ttext" for each
  // instruction of these ranges, or a text without such a line that states the reason for the
  // failure.
  disassemble,
};

struct Request {
  RequestKind kind = RequestKind::none;
  std::string text;
  std::vector<uint64_t> addresses; // run-time
  std::vector<std::string> words = {};
  std::vector<int32_t> signals = {};
};

struct Reply {
  std::string text; // the text to print: empty, or complete lines
  Request request;  // the request to perform and to answer before anything else
};

// The names and values that `status` shows.
using StatusRows = std::vector<std::pair<std::string, std::string>>;

// Returns the code that a frame of a thread belongs to ("libc", "the allocator", "the dynamic
// loader") if a call into the program could wait forever there, because that code may hold a lock.
// Returns empty if the frame permits a call. `module` is the file of the frame. `before` is, for
// the innermost frame, the bytes before its pc, which show whether it is in a system call.
std::string_view why_call_is_unsafe(std::string_view module, std::string_view function,
                                    bool innermost, std::span<const std::byte> before);

class Session {
public:
  Session();
  Session(const Session &) = delete;
  ~Session(); // ends sampling

  // Performs a command. `line` is the text after the word `profile`: "start --frequency 4000".
  Result<Reply> command(std::string_view line);
  // Reports an event. The front end shows an error to the user (sampling could not begin), and the
  // debugger continues.
  Result<Reply> event(const DebugEvent &event);
  // Answers the request of the last reply. The new reply may have a request of its own.
  Result<Reply> answer(std::span<const std::string> answers);
  // Reports, in place of an answer, that the user interrupted. Returns the error to show.
  Result<Reply> cancel();

  // Returns the words that complete the last word of `line`, sorted.
  std::vector<std::string> complete(std::string_view line) const;
  // Returns the last word of `line` if it is the beginning of a function's or source file's name,
  // and the profile knows no name that begins so. Then the front end asks the debugger for names.
  // Otherwise it returns empty.
  std::string symbol_to_complete(std::string_view line) const;
  // Does the same as complete() with the functions and source files that the debugger knows.
  std::vector<std::string> complete(std::string_view line, std::span<const std::string> functions,
                                    std::span<const std::string> files) const;

  // Returns the sampled process, or 0 if there is none. While it exists, a front end with several
  // processes reports events of this one.
  int32_t sampled_pid() const;
  bool is_armed() const; // whether sampling begins with the next process that runs

  std::string_view setting(std::string_view name) const; // empty for an unknown setting
  Result<void> set(std::string_view name, std::string_view value);

  // These are used between RequestKind::interrupt and interrupt_end. A thread of the front end
  // waits for tick_wait_ns(), calls tick_interrupt(), and repeats this; both may be called from any
  // thread. For a process of this machine tick_interrupt() sends the signals itself. For a remote
  // process it returns 1 if the front end must interrupt the process now, otherwise 0. It returns
  // InterruptClock::given_up if the program handles the signal itself; then the program must get
  // the signal again.
  uint64_t tick_wait_ns();
  size_t tick_interrupt();
  // Classifies a stop by the signal, on the debugger's thread. `tid` is the thread that stopped, or
  // InterruptClock::any_thread for a remote process. After Stop::ours the front end calls tick().
  // It ignores Stop::stale, and Stop::theirs is the user's or the program's own.
  InterruptClock::Stop tick_take(int32_t tid);
  // Reports that the interrupt that tick_interrupt() requested was not possible.
  void tick_withdraw();
  // Counts the stacks of the threads that are visible at this stop. After the reply the front end
  // resumes the process.
  Result<Reply> tick(std::span<const ThreadStack> stacks);

  // Reports a hit of the region, between RequestKind::region and region_end. The front end resumes
  // the program afterwards. Returns an address at which the front end must from now on report
  // `returned` for every thread, or 0 if there is none. After `returned`, 0 also means that the
  // front end need not watch that address until it is returned again. `look` means that the session
  // needs caller_sp: the front end reports the hit again with it. `nobody` means that no thread is
  // inside the region, so that `caught` and `jumped` need not be reported until an address is
  // returned again. A call takes microseconds.
  static constexpr uint64_t look = UINT64_MAX, nobody = UINT64_MAX - 1;
  uint64_t region_hit(const RegionHit &hit);

  // Replaces the user's breakpoints that the debugger may pass without a stop for the user, see
  // tally_session_set_passed_stops() in tally.h.
  void set_passed_stops(std::span<const BreakpointLocation> places, bool steps_by_copy);

  // Sets the columns of the terminal that shows the replies; 0 means no limit. The default is 80.
  void set_width(uint32_t columns);
  // Sets a colour of the tables, see Style::set().
  Result<void> set_style(std::string_view role, std::string_view sgr);

  // Sets the syntax of x86 instructions in `annotate --asm`, for code that Tally disassembles
  // itself: "intel"; any other name means AT&T's, the debuggers' default.
  void set_disassembly_flavor(std::string_view name);

  // Returns the rows of `report`, for front ends with tables of their own. It looks up all names
  // that have not been looked up yet.
  Result<FlatTable> table(By by, SortBy sort);
  StatusRows status() const; // the rows of `status`

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tally
