// Adds functions and lines to a profile of addresses, in steps, so that a front end can show
// progress and be interrupted.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/stack_profile.h"
#include "model/symbolizer.h"
#include "support/diagnostics.h"
#include "support/result.h"

namespace tally {

class Symbolization {
public:
  // `here` means that the pids of the profile are those of this machine's processes. `gone` is for
  // a profile from a file: its pids may belong to another machine, or to other processes by now.
  enum class Processes : uint8_t { here, gone };
  // The symbolizer and the diagnostics must outlive the object.
  Symbolization(StackProfile profile, Symbolizer &symbolizer, Diagnostics &diagnostics,
                Processes processes = Processes::here);

  // Fetches debug files, see Symbolizer::begin_fetching(), those of the modules with most samples
  // first, and then looks up locations, until about `budget` has passed or all are looked up.
  // Returns true after the last location.
  bool step(std::chrono::milliseconds budget);
  // Returns the progress of the debug files, or nothing if none are being fetched.
  const std::optional<FetchProgress> &fetching() const { return fetching_; }
  // Looks up names with the debug files that are here. stop_fetching() of the symbolizer also ends
  // the transfer.
  void skip_fetching() { fetching_.reset(); }
  size_t done() const { return next_; }          // the locations looked up so far
  size_t total() const { return order_.size(); } // all locations

  // Returns the run-time addresses without a name, in ascending order. A debugger may know their
  // names, for example those of JIT code. Addresses where one mapping replaced another are left
  // out, because a debugger knows only the newest mapping.
  std::vector<uint64_t> unnamed() const;
  // A debugger's answer for one function at an address.
  struct Named {
    std::string function, file;
    uint32_t line = 0;
  };
  // Sets the names of an unnamed address, after the last step: inlined functions first, innermost
  // first, then the function that contains the code. Addresses that have a name keep it.
  void set_names(uint64_t address, std::span<const Named> frames);

  // Returns the profile with names. A location that no symbol contains is named after the symbol
  // before it: "symbol+0xoffset". Without such a symbol, the name is "module+0xoffset", and outside
  // of any module it is "0xaddress". The offset is that of the function if the unwind
  // data shows where it starts, otherwise that of the address. A sample without a stack counts in
  // "[unknown]".
  Result<StackProfile> finish();

private:
  struct Range {
    uint32_t first = 0, last = 0;
  };
  void find_modules();
  std::vector<ModuleId> modules_by_samples() const;
  void look_up(LocationId id);
  bool may_be_asked(LocationId id) const;
  void add_fallback_line(LocationId id);
  std::vector<bool> find_pieces(const StackProfile &named) const;

  StackProfileBuilder builder_;
  Symbolizer &symbolizer_;
  Diagnostics &diagnostics_;
  Processes processes_;
  std::vector<LocationId> order_; // by mapping, then address, so that a module is read once
  size_t next_ = 0;
  std::vector<ModuleId> modules_; // by MappingId
  std::optional<FetchProgress> fetching_;
  std::vector<SourceLine> lines_;                        // in order of look-up
  Column<LocationId, Range> found_;                      // half-open, into lines_
  std::vector<std::pair<uint64_t, LocationId>> unnamed_; // by address; filled by set_names()
  std::vector<SourceFrame> frames_;                      // reused by look_up()
};

} // namespace tally
