// One tally_session, with C++'s types. Knows nothing of LLDB.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "library.h"
#include "passed_stops.h"

namespace tally_lldb {

using Words = std::vector<std::string>;

// What a front does for the session while a command or an event is worked on.
class Performer {
public:
  virtual ~Performer() = default;
  virtual bool progress(const std::string &text) = 0; // false: the user has interrupted
  virtual std::string symbol(uint64_t address) = 0;   // tally.h's answer for it, or ""
  // tally.h's answer for the ranges that these are pairs of
  virtual std::string instructions(const std::vector<uint64_t> &ranges) = 0;
  virtual std::string act(int request, const Words &words, const std::vector<int32_t> &signals) = 0;
};

// What came of it: whole lines, or a refusal.
struct Outcome {
  std::string text;
  std::string error; // empty: none
  bool ok() const { return error.empty(); }
};

struct Event {
  int32_t kind = TALLY_EVENT_TARGET;
  int32_t target = TALLY_TARGET_NONE;
  int32_t pid = 0;
  int32_t number = 0;
  uint32_t line = 0;
  std::string text = {}, file = {}, command = {}, program = {};
  uint64_t at_ns = 0; // 0: now
};

struct SeenThread {
  int32_t tid;
  std::string name;
  std::vector<uint64_t> pcs;
};

// Any thread; one call at a time.
class Session {
public:
  explicit Session(const Library &library);
  Session(const Session &) = delete;
  ~Session();
  void close(); // ends sampling, joins the reader; what is called later does nothing

  Outcome command(const std::string &line, Performer &performer);
  Outcome event(const Event &event, Performer &performer);
  Outcome tick(const std::vector<SeenThread> &seen, Performer &performer);
  int32_t sampled_pid();
  bool is_armed();
  void set_passed_stops(const std::vector<StopPlace> &places);
  void set_width(uint32_t columns);
  void set_disassembly_flavor(const char *flavor);   // as tally.h has it
  void set_style(const char *role, const char *sgr); // as tally.h has it

  // Tells the session of a hit in process `pid`; see tally_session_region_hit(). A command that
  // holds the session may itself wait for this stop. Therefore a hit waits for the session for a
  // tenth of a second at most. Returns nothing if the hit was not told, or if another process is
  // sampled.
  std::optional<uint64_t> region_hit(int32_t pid, const tally_hit &hit);

  // Of InterruptClock, which has a lock of its own.
  uint64_t tick_wait_ns() { return library_.tally_session_tick_wait_ns(handle_); }
  size_t tick_interrupt() { return library_.tally_session_tick_interrupt(handle_); }
  void tick_withdraw() { library_.tally_session_tick_withdraw(handle_); }
  int tick_take(int32_t tid) { return library_.tally_session_tick_take(handle_, tid); }
  // They need no session, and no lock.
  void watch_sigint(bool on) { library_.tally_sigint_watch(on ? 1 : 0); }
  bool sigint_seen() { return library_.tally_sigint_seen() != 0; }
  std::string unsafe_frame(const std::string &module, const std::string &function, bool innermost,
                           const void *before, size_t size) {
    return library_.tally_unsafe_frame(module.c_str(), function.c_str(), innermost ? 1 : 0, before,
                                       size);
  }

private:
  Outcome refusal(tally_error *error);
  Outcome perform(tally_error *error, tally_reply *reply, Performer &performer);

  const Library &library_;
  std::recursive_timed_mutex mutex_; // a performer may look at the session
  tally_session *handle_ = nullptr;
};

// The rows of `profile`'s commands: name, summary, usage, help.
std::vector<std::map<std::string, std::string>> command_table(const Library &library);

} // namespace tally_lldb
