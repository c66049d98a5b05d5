// Wraps a tally_session in C++ types. It does not depend on LLDB.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "library.h"
#include "passed_stops.h"

namespace tally_lldb {

using Words = std::vector<std::string>;
// The bytes of ranges of memory; nothing for a range of which some cannot be read.
using Contents = std::vector<std::optional<std::vector<unsigned char>>>;

// The requests of the session that the front end performs while it handles a command or an event.
class Performer {
public:
  virtual ~Performer() = default;
  virtual bool progress(const std::string &text) = 0; // returns false after the user's interrupt
  // Answers TALLY_REQUEST_SYMBOLS for one address.
  virtual std::string symbol(uint64_t address) = 0;
  // Answers TALLY_REQUEST_DISASSEMBLE. `ranges` holds pairs of addresses.
  virtual std::string instructions(const std::vector<uint64_t> &ranges) = 0;
  // Answers TALLY_REQUEST_STACKS. Returns nothing if the front end cannot do so now.
  virtual std::optional<std::string> stacks() = 0;
  virtual std::string modules() = 0;                                // see TALLY_REQUEST_MODULES
  virtual Contents memory(const std::vector<uint64_t> &ranges) = 0; // see TALLY_REQUEST_MEMORY
  // Answers TALLY_REQUEST_BREAK_ONCE, likewise.
  virtual std::optional<std::string> break_once(const std::vector<uint64_t> &entries) = 0;
  // Performs one of the other requests. Returns "", the reason if that failed, or nothing if the
  // front end does not support the request.
  virtual std::optional<std::string> act(int request, const Words &words,
                                         const std::vector<int32_t> &signals) = 0;
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
  void close(); // ends sampling and joins the reader thread; later calls do nothing

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
  Outcome perform(tally_error *error, tally_reply *reply, Performer &performer);
  tally_error *answer_memory(const Contents &contents, tally_reply **reply);

  const Library &library_;
  std::recursive_timed_mutex mutex_; // recursive, because a performer may call the session
  tally_session *handle_ = nullptr;
  int32_t last_sampled_ = 0; // what sampled_pid() has returned last, except 0
};

// Returns the functions by which a program leaves another one without a return, each with its
// tally_hit_kind.
std::vector<std::pair<std::string, int32_t>> region_exits(const Library &library);

// Returns a row for each command of `profile`, with the columns name, summary, usage and help.
std::vector<std::map<std::string, std::string>> command_table(const Library &library,
                                                              const std::string &group);

} // namespace tally_lldb
