// Looks up the names of a profile of addresses: in files, then by asking the debugger.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "session/debugger.h"
#include "support/diagnostics.h"
#include "transform/symbolization.h"

namespace tally {

// The debugger's answers are remembered, because it no longer knows them when the process is gone.
class NameLookup {
public:
  // Says what a look-up asks of the debugger: nothing, to show progress, or names as well. Debug
  // files are fetched only if the progress is shown.
  enum class Asks : uint8_t { nothing, progress, names };

  explicit NameLookup(Debugger &debugger) : debugger_(debugger) {}

  // Sets whether debug files are fetched from debuginfod, and returns whether that is a change,
  // after which other names may be found.
  bool set_debuginfod(bool on);
  // Forgets the tables of files, the debugger's answers and the diagnostics, because files may be
  // rebuilt between two runs.
  void begin_run();

  // Looks up all names of a profile of process `pid`. If the user interrupts that, no further debug
  // files are fetched until the next run.
  Result<StackProfile> look_up(StackProfile profile, int32_t pid, Asks asks);

  // Returns whether the debugger has already reported a name for the address of process `pid`.
  bool knows(int32_t pid, uint64_t address) const { return answers_.contains({pid, address}); }
  // Asks the debugger for names, for this and later look-ups. Fails only if the user interrupts.
  Result<void> ask(int32_t pid, std::span<const uint64_t> addresses);

  Symbolizer &symbolizer(); // made by begin_run(); before the first run, by this call
  Diagnostics &diagnostics() { return diagnostics_; } // of this run
  const Diagnostics &diagnostics() const { return diagnostics_; }

private:
  Result<void> find_in_files(Symbolization &job, Asks asks);
  void use_answers(Symbolization &job, int32_t pid) const;

  Debugger &debugger_;
  std::unique_ptr<Symbolizer> symbolizer_;
  Diagnostics diagnostics_;
  bool debuginfod_ = false;
  std::map<std::pair<int32_t, uint64_t>, std::vector<Symbolization::Named>>
      answers_; // by process and address
};

} // namespace tally
