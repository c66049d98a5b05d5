// Gives a profile of addresses its functions and lines, in slices, so that a front can show
// progress and be interrupted.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/diagnostics.h>
#include <tally/result.h>
#include <tally/stack_profile.h>
#include <tally/symbolizer.h>

namespace tally {

class TALLY_API Symbolization {
public:
  // The symbolizer and the diagnostics outlive it. Processes: of a profile from a file the pids may
  // be those of others, or of another machine, by now.
  enum class Processes : uint8_t { here, gone };
  Symbolization(StackProfile profile, Symbolizer &symbolizer, Diagnostics &diagnostics,
                Processes processes = Processes::here);

  // Works for about `budget`, or to the end; true when every location has been looked up.
  bool step(std::chrono::milliseconds budget);
  size_t done() const { return next_; }
  size_t total() const { return order_.size(); }

  // Run-time addresses for which nothing was found, ascending: a debugger may know them (JIT code).
  // Not those where mappings replaced each other: it knows only the newest.
  std::vector<uint64_t> unnamed() const;
  // After the last step.
  struct Named {
    std::string_view function, file;
    uint32_t line = 0;
  };
  // Innermost first, the function that has code of its own last.
  void set_names(uint64_t address, std::span<const Named> frames);

  // The profile with names. Where none was found the function is "module+0xoffset" (of the function
  // where unwind data tells its start, else of the address), or "0xaddress" outside of any module.
  // A sample without a stack is booked on "[unknown]".
  Result<StackProfile> finish();

private:
  struct Range {
    uint32_t first = 0, last = 0;
  };
  void find_modules();
  void look_up(LocationId id);
  bool may_be_asked(LocationId id) const;
  void add_fallback_line(LocationId id);

  StackProfileBuilder builder_;
  Symbolizer &symbolizer_;
  Diagnostics &diagnostics_;
  Processes processes_;
  std::vector<LocationId> order_; // by mapping, then address: a module's data is read once
  size_t next_ = 0;
  std::vector<ModuleId> modules_;                        // by MappingId
  std::vector<SourceLine> lines_;                        // in order of look-up
  Column<LocationId, Range> found_;                      // into lines_
  std::vector<std::pair<uint64_t, LocationId>> unnamed_; // by address, once one is given a name
  std::vector<SourceFrame> frames_;                      // scratch
};

} // namespace tally
