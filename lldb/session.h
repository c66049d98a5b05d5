// The session of a debugger, for all threads of the plug-in. It does not depend on LLDB.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "library.h"
#include "passed_stops.h"

namespace tally_lldb {

using tally::Answer;

// The result of a command: the text to print, in whole lines, or an error.
struct Outcome {
  std::string text;
  std::string error; // empty on success
  bool ok() const { return error.empty(); }
};

// A tally_event that owns its texts.
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
  Session();
  Session(const Session &) = delete;
  // Ends sampling and joins the reader thread. Later calls do nothing. While the library handles a
  // call of this thread, the session ends with that call.
  void close();

  // Runs a command of a group; `line` is the text after the group's name.
  Outcome command(const std::string &group, const std::string &line, tally::Front &front);
  Outcome event(const Event &event, tally::Front &front);
  Outcome tick(const std::vector<SeenThread> &seen, tally::Front &front);
  int32_t sampled_pid();
  int32_t last_sampled_pid(); // the same, but stays when sampling has ended
  void forget_last_sampled(); // last_sampled_pid() is 0 while no process is sampled
  bool shows_stop_times();    // the setting `stop-times`
  bool is_armed();
  // Whether the process has run for the time of `profile start --for`. Does not wait: the result is
  // false while another thread uses the session.
  bool is_past_limit();
  Outcome limit_reached(tally::Front &front); // see tally_session_limit_reached()
  void set_passed_stops(const std::vector<BreakpointLocation> &locations);
  void set_display(const tally_display &display);

  // Reports a hit in process `pid` to the session; see tally_session_region_hit(). A command that
  // occupies the session may itself be waiting for this stop. Therefore this function waits for the
  // session for a tenth of a second at most. Returns nothing if the hit was not reported, or if
  // another process is sampled.
  std::optional<uint64_t> region_hit(int32_t pid, const tally_hit &hit);
  bool region_measures(); // see tally_session_region_measures()

  // Calls the library's InterruptClock, which has its own lock, as long as the session is open.
  tally::Session &clock() { return *session_; }

private:
  template <class Call> Outcome performed(Call call);

  std::recursive_timed_mutex mutex_; // recursive, because a front may call the session
  std::optional<tally::Session> session_;
  bool is_open_ = true;
  unsigned calls_ = 0;       // those that the library is handling
  int32_t last_sampled_ = 0; // what sampled_pid() has returned last, except 0
};

// Returns the functions by which a program leaves another one without a return, each with its
// tally_hit_kind.
std::vector<std::pair<std::string, int32_t>> region_exits();

} // namespace tally_lldb
