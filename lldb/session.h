// Wraps a tally_session in C++ types. It does not depend on LLDB.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "library.h"
#include "passed_stops.h"

namespace tally_lldb {

using Words = std::vector<std::string>;
// The bytes of ranges of memory; nothing for a range of which some cannot be read.
using Contents = std::vector<std::optional<std::vector<unsigned char>>>;

// Why the debugger cannot do something; see tally_sink_refuse().
struct Refusal {
  std::string text = {};
  int32_t reason = 0;
  int64_t number = 0;
};
using Refused = std::optional<Refusal>; // nothing if it is done

struct Range {
  uint64_t low, high; // the addresses [low, high)
};

struct Frame {
  std::string function, file;
  uint32_t line = 0;
};

// Passes on what a performer finds; see tally_sink in tally.h.
struct Sink {
  const Library &library;
  tally_sink *to;
};

// Each act changes the debugger. The functions of tally_front with these names describe the acts.
enum class Act {
  set_breakpoint, // words: the file, and the line or address
  list_source,    // likewise
  preload,        // words: the library and the variable
  end_preload,
  load,      // words: the library and the argument
  interrupt, // words: "stacks" or "pcs"
  end_interrupt,
  restore_signals,
  halt,
  watch_region, // words: two locations, the second of which may be ""
  end_region,
};

// A performer does what the session asks for while the session handles a command or an event. The
// functions of tally_front in tally.h describe each request.
class Performer {
public:
  virtual ~Performer() = default;
  virtual void progress(const std::string &text) = 0;
  virtual bool is_interrupted() = 0; // whether the user interrupts the command
  virtual std::vector<Frame> symbol(uint64_t address) = 0;
  virtual Refused disassemble(std::span<const Range> ranges, const Sink &to) = 0;
  virtual Refused stacks(const Sink &to) = 0;
  virtual Refused modules(const Sink &to) = 0;
  virtual Contents memory(std::span<const Range> ranges) = 0;
  virtual Refused break_once(std::span<const uint64_t> entries, const Sink &to) = 0;
  virtual Refused act(Act act, const Words &words, const std::vector<int32_t> &signals) = 0;
};

// The result of a command: the text to print, in whole lines, or an error.
struct Outcome {
  std::string text;
  std::string error; // empty on success
  bool ok() const { return error.empty(); }
};

struct Event {
  int32_t kind = TALLY_EVENT_TARGET;
  int32_t target = TALLY_TARGET_NONE;
  int32_t pid = 0;
  int32_t number = 0;
  uint32_t line = 0;
  std::string text = {}, file = {}, command = {}, program = {};
  uint64_t at_ns = 0; // 0 means now
};

struct SeenThread {
  int32_t tid;
  std::string name;
  std::vector<uint64_t> pcs;
};

// Any thread may call the functions; a lock serializes the calls.
class Session {
public:
  explicit Session(const Library &library);
  Session(const Session &) = delete;
  ~Session();
  // Ends sampling and joins the reader thread. Later calls do nothing. While the library handles a
  // call of this thread, the session ends with that call.
  void close();

  // Runs a command of a group; `line` is the text after the group's name.
  Outcome command(const std::string &group, const std::string &line, Performer &performer);
  Outcome event(const Event &event, Performer &performer);
  Outcome tick(const std::vector<SeenThread> &seen, Performer &performer);
  int32_t sampled_pid();
  int32_t last_sampled_pid(); // the same, but stays when sampling has ended
  void forget_last_sampled(); // last_sampled_pid() is 0 while no process is sampled
  bool shows_stop_times();    // the setting `stop-times`
  bool is_armed();
  // Whether the process has run for the time of `profile start --for`. Does not wait: the result is
  // false while another thread uses the session.
  bool is_past_limit();
  Outcome limit_reached(Performer &performer); // see tally_session_limit_reached()
  void set_passed_stops(const std::vector<BreakpointLocation> &locations);
  void set_display(tally_display display); // sets display.size

  const Library &library() const { return library_; }
  // Returns the performer of the newest call that the library is handling. There must be one.
  Performer &performer() const { return *performer_; }

  // Reports a hit in process `pid` to the session; see tally_session_region_hit(). A command that
  // occupies the session may itself be waiting for this stop. Therefore this function waits for the
  // session for a tenth of a second at most. Returns nothing if the hit was not reported, or if
  // another process is sampled.
  std::optional<uint64_t> region_hit(int32_t pid, const tally_hit &hit);
  bool region_measures(); // see tally_session_region_measures()

  // The next four functions call the library's InterruptClock, which has its own lock.
  uint64_t tick_wait_ns() { return library_.tally_session_tick_wait_ns(handle_); }
  size_t tick_interrupt() { return library_.tally_session_tick_interrupt(handle_); }
  void tick_withdraw() { library_.tally_session_tick_withdraw(handle_); }
  int tick_take(int32_t tid) { return library_.tally_session_tick_take(handle_, tid); }
  // The next four functions need neither a session nor a lock.
  void watch_sigint(bool on) { library_.tally_sigint_watch(on ? 1 : 0); }
  bool leads_on(const char *instruction) { return library_.tally_leads_on(instruction) != 0; }
  bool sigint_seen() { return library_.tally_sigint_seen() != 0; }
  std::string unsafe_frame(const std::string &module, const std::string &function, bool innermost,
                           const void *before, size_t size) {
    return library_.tally_unsafe_frame(module.c_str(), function.c_str(), innermost ? 1 : 0, before,
                                       size);
  }

private:
  Outcome refusal(tally_error *error);
  template <class Call> Outcome performed(Performer &performer, Call call);

  const Library &library_;
  std::recursive_timed_mutex mutex_; // recursive, because a performer may call the session
  tally_session *handle_ = nullptr;
  tally_session *closing_ = nullptr; // to be freed after the calls
  unsigned calls_ = 0;               // those that the library is handling
  Performer *performer_ = nullptr;   // of the newest of them
  int32_t last_sampled_ = 0;         // what sampled_pid() has returned last, except 0
};

// Returns the functions by which a program leaves another one without a return, each with its
// tally_hit_kind.
std::vector<std::pair<std::string, int32_t>> region_exits(const Library &library);

// Returns a row for each command of `profile`, with the columns name, summary, usage and help.
std::vector<std::map<std::string, std::string>> command_table(const Library &library,
                                                              const std::string &group);

} // namespace tally_lldb
