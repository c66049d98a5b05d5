// What `profile …` means, in any debugger.
//
// The session never calls a debugger. A front pushes events (the process runs, stops, ends), passes
// on what the user typed, prints the reply's text, and performs what the reply requests, by one
// thread at a time: the debugger's own where the request needs the debugger. Nothing here prints or
// throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/interrupt.h>
#include <tally/report.h>
#include <tally/result.h>
#include <tally/stop_places.h>

namespace tally {

enum class TargetKind : uint8_t { none, native, remote, core };

enum class EventKind : uint8_t {
  target,     // tells only what is there now; pushed before each command
  resumed,    // about to run, or running
  breakpoint, // stopped: number, place
  watchpoint, // stopped: number, place
  catchpoint, // stopped: number, text (what was caught)
  signal,     // stopped: text (SIGSEGV)
  step,       // stopped: text (the command, or empty), place
  other,      // stopped: text, place
  exited,     // number: status
  signalled,  // ended by a signal: text
  killed,     // ended by the debugger
  detached,
};

// The program has come by where a region begins or may end, and stands.
struct RegionHit {
  enum class Kind : uint8_t {
    first,    // at the first place, or in a call of the function
    second,   // at the second place
    returned, // at an address that region_hit() has asked for
    caught,   // in __cxa_begin_catch(), called by the handler of an exception
    jumped,   // in longjmp()
  };
  Kind kind = Kind::first;
  int32_t tid = 0;
  bool at_entry = false; // first, caught: at the first instruction of the function
  // The stack pointer of the caller before its call; of `returned`, the stack pointer. 0 where a
  // debugger takes long to tell: `returned`, `caught`, or `at_entry`, which needs no return_address
  // then.
  uint64_t caller_sp = 0;
  uint64_t return_address =
      0;                    // first: of the call, 0 in an inlined copy; returned: where it stands
  uint64_t jump_buffer = 0; // jumped: its first argument
  bool holds_all = false;   // every thread stands, not this one alone
};

// Why a front cannot watch a region. Its answer to RequestKind::region is one of these as a digit,
// a blank and the place as the user has typed it; the session has the words. Other answers are
// shown as they are.
enum class RegionRefusal : uint8_t {
  unknown = 1, // there is no such function or place
  inlined = 2, // all copies of the function are inlined
  within = 3,  // of one place: it is an address within a function, where no call begins
};

struct DebugEvent {
  EventKind kind = EventKind::target;
  TargetKind target = TargetKind::none;
  int32_t pid = 0;    // of the inferior; 0: none
  int32_t number = 0; // of a breakpoint, or the exit status
  std::string text;
  std::string file; // where it stopped; may be empty
  uint32_t line = 0;
  std::string command; // the program and its arguments, where known
  std::string program; // its file, where known
  // When it happened, by CLOCK_MONOTONIC, for a front that hears of it later; 0: now.
  uint64_t at_ns = 0;
};

enum class RequestKind : uint8_t {
  none,
  progress, // show `text`, look for Ctrl-C, then answer({}) or cancel()
  symbols,  // answer with "function\tfile\tline" for each of `addresses`, "" for an unknown one;
            // where code is inlined there, with a line of text for each function, innermost first
  // What follows is answered with one text: "" when it was done, else why it could not be.
  preload,         // the next run is to load library words[0] before all others, with words[1]
                   // ("NAME=VALUE") in its environment; `signals` go to it unseen
  preload_end,     // the next run is to be as it was again; the signals stay
  load,            // the process that stands is to load words[0], and to call its function
                   // int tally_agent_start(const char *) with words[1], where it is safe
  interrupt,       // begin to interrupt the process, see tick(); by `signals`, or without them as
                   // Ctrl-C does. words[0]: "stacks", or "pcs" where callers are not wanted
  interrupt_end,   // no more; the signals stay
  signals_restore, // all signals that were changed are as they were
  // Of a place: words[0] is a file and words[1] a line; or "" and a run-time address, 0x….
  set_breakpoint, // the user's own, there
  list_source,    // show the source around it, which has a line
  region,         // the program is to tell region_hit() when it comes by: of words[0] and words[1],
                  // places; or of words[0] alone, a function: entries to it, and what leaves one
                  // (returns, exceptions that are caught, longjmp). In place of what was before,
                  // which stays where the new one cannot be
  region_end,     // no more of that
  // Answer with one text: a line "0xADDRESS\ttext" for each instruction of the ranges [low, high)
  // that `addresses` are pairs of; without one, why they cannot be had.
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
  std::string text; // to be printed; empty or whole lines
  Request request;  // to be performed and answered before anything else
};

// Name and value, as `status` shows them.
using StatusRows = std::vector<std::pair<std::string, std::string>>;

// A word that may follow a command: an option, or a setting (those have a default).
struct OptionSpec {
  std::string_view name;     // "frequency", typed as --frequency
  std::string_view values;   // "auto|perf|…", "HZ", "N", "FORMAT"; empty: a flag
  std::string_view fallback; // the default; empty: none
  std::string_view summary;
};

struct CommandSpec {
  std::string_view name;
  std::string_view arguments; // "FILE", "NAME [VALUE]"; empty: none
  std::span<const OptionSpec> options;
  std::string_view summary; // one line, as in a list of commands
  std::string_view details; // further lines; may be empty
  std::string_view example;
};

TALLY_API std::span<const CommandSpec> profile_commands();
TALLY_API std::span<const OptionSpec> profile_settings();
TALLY_API std::string command_usage(const CommandSpec &command); // "profile dump FILE [--parts]"
TALLY_API std::string
command_help(const CommandSpec &command); // all there is to know, with example
TALLY_API std::string profile_help();     // lists the commands

// What a thread of this machine stands inside of, where a call into the program could wait for
// ever; empty: that frame is no obstacle. `module`: the file that the frame lies in; `before`: of
// the innermost frame, the bytes up to its pc, by which a system call is known.
TALLY_API std::string_view why_call_is_unsafe(std::string_view module, std::string_view function,
                                              bool innermost, std::span<const std::byte> before);

class TALLY_API Session {
public:
  Session();
  Session(const Session &) = delete;
  ~Session(); // ends sampling

  // `line` is what follows the word `profile`: "start --frequency 4000".
  Result<Reply> command(std::string_view line);
  // An error is news for the user (sampling could not begin); the debugger goes on.
  Result<Reply> event(const DebugEvent &event);
  Result<Reply> answer(std::span<const std::string> answers);
  Result<Reply> cancel();

  // What the last word of `line` may become, sorted; whole words.
  std::vector<std::string> complete(std::string_view line) const;
  // The beginning of a function's or source file's name, where the last word of `line` is one and
  // the profile knows none that begins so; empty: the debugger is not to be asked.
  std::string symbol_to_complete(std::string_view line) const;
  // complete(), of functions and source files that the debugger knows.
  std::vector<std::string> complete(std::string_view line, std::span<const std::string> functions,
                                    std::span<const std::string> files) const;

  // The process that is sampled; 0: none. While it is there, a front that holds several tells of
  // it.
  int32_t sampled_pid() const;
  bool is_armed() const; // sampling begins with the next process that runs

  std::string_view setting(std::string_view name) const; // empty: no such setting
  Result<void> set(std::string_view name, std::string_view value);

  // While RequestKind::interrupt holds. A thread of the front waits for tick_wait_ns(), calls
  // tick_interrupt(), and goes on with that; both are for any thread. Of a process of this machine
  // tick_interrupt() sends the signals itself; of another it returns whether the front is to
  // interrupt it now. InterruptClock::given_up: the program handles the signal itself, and is to
  // get it again.
  uint64_t tick_wait_ns();
  size_t tick_interrupt();
  // At a stop by the signal, on the debugger's thread; tid: that stopped (any_thread of a remote
  // process). What was not ours is the user's or the program's, and only `ours` is to be told:
  InterruptClock::Stop tick_take(int32_t tid);
  // tick_interrupt() of a remote process has said yes, and it could not be done.
  void tick_withdraw();
  // … of each thread that can be seen. Then the process runs on.
  Result<Reply> tick(std::span<const ThreadStack> stacks);

  // While RequestKind::region holds, at each hit; the program goes on afterwards. An address where
  // the front is to tell of `returned` from now on, of every thread; 0: none. After `returned`, 0
  // also means that the front need not watch that address until it is returned again. look:
  // caller_sp is needed, tell it again; nobody: no thread is inside, and `caught` and `jumped` need
  // not be told until an address is returned again. Takes microseconds.
  static constexpr uint64_t look = UINT64_MAX, nobody = UINT64_MAX - 1;
  uint64_t region_hit(const RegionHit &hit);

  // See tally_session_set_passed_stops().
  void set_passed_stops(std::span<const StopPlace> places, bool steps_by_copy);

  // Columns of the terminal that replies are shown on; 0: any. 80 when it is not told.
  void set_width(uint32_t columns);
  // How tables are coloured there; see Style::set().
  Result<void> set_style(std::string_view role, std::string_view sgr);

  // How `annotate --asm` shows x86's instructions where no debugger disassembles: "intel"; any
  // other name is AT&T's, the debuggers' default.
  void set_disassembly_flavor(std::string_view name);

  // The rows of `report`, for fronts with tables of their own. Names that are not looked up yet are
  // looked up now.
  Result<FlatTable> table(By by, SortBy sort);
  StatusRows status() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tally
