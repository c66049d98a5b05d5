// Looks up the names of a profile of addresses: in files, then by asking the debugger.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/diagnostics.h>
#include <tally/symbolization.h>

#include "session/session.h"

namespace tally {

// A look-up takes as many requests as it needs: RequestKind::progress after each slice of time, and
// RequestKind::symbols once, if the debugger can be asked. The debugger's answers are remembered,
// because it no longer knows them when the process is gone.
class NameLookup {
public:
  // Receives the profile with its names.
  using Then = std::function<Result<Reply>(StackProfile profile)>;
  // Returns whether the debugger can be asked for names now.
  using CanAsk = std::function<bool()>;

  // Sets whether debug files are fetched from debuginfod, and returns whether that is a change,
  // after which other names may be found.
  bool set_debuginfod(bool on);
  // Forgets the tables of files, the debugger's answers and the diagnostics, because files may be
  // rebuilt between two runs.
  void begin_run();

  // Looks up all names of a profile of process `pid`, then calls `then`. The reply requests
  // something, or is what `then` returned.
  Result<Reply> begin(StackProfile profile, int32_t pid, CanAsk can_ask, Then then);
  bool is_active() const { return job_ != nullptr; }
  // Continues after the front end's answer. is_active() must hold.
  Result<Reply> answer(std::span<const std::string> answers);
  // Uses the debug files that are here, because nobody sees the progress.
  void skip_fetching();
  // Until the next run, no further debug files are fetched.
  void cancel();

  // Returns whether the debugger has already reported a name for the address of process `pid`.
  bool knows(int32_t pid, uint64_t address) const { return answers_.contains({pid, address}); }
  // Stores a name that the debugger has reported, for a later look-up.
  void remember(int32_t pid, uint64_t address, std::string answer);

  Symbolizer &symbolizer(); // made by begin_run(); before the first run, by this call
  Diagnostics &diagnostics() { return diagnostics_; } // of this run
  const Diagnostics &diagnostics() const { return diagnostics_; }

private:
  Result<Reply> pump();
  void use(uint64_t address, std::string_view answer);

  std::unique_ptr<Symbolizer> symbolizer_;
  Diagnostics diagnostics_;
  std::unique_ptr<Symbolization> job_; // null if no look-up is active
  int32_t pid_ = 0;                    // the process of the newest look-up
  bool debuginfod_ = false;
  bool asked_ = false; // whether this look-up has asked the debugger
  CanAsk can_ask_;
  Then then_;
  std::map<std::pair<int32_t, uint64_t>, std::string> answers_; // by process and address
};

} // namespace tally
