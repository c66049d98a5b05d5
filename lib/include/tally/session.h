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
#include <vector>

#include <tally/interrupt.h>
#include <tally/report.h>
#include <tally/result.h>

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

  // The process that is sampled; 0: none. While it is there, a front that holds several tells of
  // it.
  int32_t sampled_pid() const;

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

  // Columns of the terminal that replies are shown on; 0: any. 80 when it is not told.
  void set_width(uint32_t columns);

  // The rows of `report`, for fronts with tables of their own. Names that are not looked up yet are
  // looked up now.
  Result<FlatTable> table(By by, SortBy sort);

private:
  struct State;
  std::unique_ptr<State> state_;
};

} // namespace tally
