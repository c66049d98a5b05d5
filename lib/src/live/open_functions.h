// Finds the functions with counters that the threads of a stopped program are in.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "coverage/gcov_counts.h"
#include "formats/gcov.h"
#include "live/counter_layout.h"
#include "live/memory.h"
#include "model/symbolizer.h"
#include "support/diagnostics.h"
#include "support/hash.h"
#include "symbolize/mapped_files.h"

namespace tally::live {

// The debuggers pass this many frames of a thread at most (TALLY_LIMIT_STACK_FRAMES).
inline constexpr size_t most_frames = 128;

// The stack of a thread when the counters are read.
struct StoppedThread {
  int32_t tid = 0;
  std::vector<uint64_t> pcs; // run-time addresses, leaf first; a caller's is its return address - 1
};

using Notes = std::vector<std::shared_ptr<const GcovNotes>>; // by object; null if not readable

class OpenFunctions {
public:
  // `layout` and `modules` must outlive the object.
  OpenFunctions(const CounterLayout &layout, std::span<const LoadedModule> modules, Notes notes);

  const Notes &notes() const { return notes_; }
  // Returns the frames by object. Of each thread, it is the innermost function that has counters,
  // with the functions that it is inlined into: those outside of it are exact, because their calls
  // end blocks (see coverage/open_frames.h). In optimized code, these are also the functions that
  // may be inlined near the pc (OpenFrame::perhaps). Of code by Clang, it is all functions that
  // have counters. If the code has no name, as in a stripped file, any function of the module may
  // be the one.
  std::vector<std::vector<OpenFrame>> frames(std::span<const StoppedThread> threads,
                                             Memory &memory);

private:
  struct Place {
    size_t object;
    GraphFunctionId function;
  };
  // How code was compiled, as far as it concerns the counters.
  struct Compilation {
    bool optimized = true;    // other than by -Og
    bool in_registers = true; // counters may be in registers
  };
  using Frames = std::vector<std::vector<OpenFrame>>;

  const LoadedModule *module_at(uint64_t pc) const;
  std::vector<SourceFrame> source_frames(uint64_t pc);
  std::vector<Place> places_of(const SourceFrame &frame) const;
  AddressRange code_around(uint64_t pc, const LoadedModule &module, size_t frames);
  const Compilation &compilation_at(uint64_t pc, const LoadedModule &module);
  static Compilation how_compiled(std::string_view producer);
  // Whether a pc is in a function with counters, and whether its callers are open, too.
  enum class Found { none, enough, more };
  Found add_frames(uint64_t pc, bool in_call, Memory &memory, Frames &out);
  // Objects and functions that a thread has frames of at one pc.
  using Opened = std::set<std::pair<size_t, GraphFunctionId>>;
  void add_counted_near(std::span<const uint64_t> operands, const OpenFrame &at_pc, Opened &opened,
                        Frames &out);
  void add_inlined_near(const AddressRange &near, const OpenFrame &at_pc, Opened &opened,
                        Frames &out);
  static void add_perhaps(const Place &place, std::vector<uint32_t> near_counters,
                          const OpenFrame &at_pc, Opened &opened, Frames &out);
  bool add_all(const LoadedModule &module, bool in_call, Frames &out) const;
  const CounterArray *arcs_of(const Place &place) const;
  bool has_line(const Place &place, uint32_t line) const;
  const GraphFunction &function_of(const Place &place) const {
    return notes_[place.object]->graph.functions[place.function];
  }

  const CounterLayout &layout_;
  std::span<const LoadedModule> modules_;
  Notes notes_;
  SeededMultimap<std::string_view, Place> functions_;                      // by linkage name
  std::map<uint64_t, std::pair<Place, const CounterArray *>> by_counters_; // by address
  std::unique_ptr<Symbolizer> symbolizer_;
  Diagnostics findings_; // of the symbolizer
  symbolize::MappedFiles mapped_;
  std::vector<ModuleId> module_ids_;              // by module
  SeededMap<uint64_t, Compilation> compilations_; // by pc
};

} // namespace tally::live
