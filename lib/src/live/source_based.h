// Reads the counters of Clang's source-based coverage from a program's memory.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "coverage_collect/source_based.h"
#include "live/counter_layout.h"
#include "live/counter_snapshot.h"
#include "live/open_functions.h"
#include "model/symbolizer.h"
#include "support/diagnostics.h"
#include "symbolize/module_file.h"

namespace tally::live {

// Reads the records of a module that has source-based counters, and adds them. Reports a version
// that is not known, and memory that cannot be read.
void add_source_based(CounterLayout &layout, const LoadedModule &module, uint32_t number,
                      Memory &memory, Diagnostics &diagnostics);

// Returns whether the program reset its counters between two readings: some is 0 that was not.
bool source_based_reset(const CounterLayout &layout, const CounterSnapshot &now,
                        const CounterSnapshot &before);

// Where a thread is in code that counts source-based.
struct SourceBasedFrame {
  std::string function, file;
  uint32_t line = 0;
};

struct CounterOfRecord {
  size_t record = 0;
  uint32_t index = 0; // of the record's counters
};

// Tells the counters of a module by their addresses.
class CounterFinder {
public:
  explicit CounterFinder(const SourceBasedModule &counted);
  std::optional<CounterOfRecord> at(uint64_t address) const;
  // Returns the counters that code of x86-64 at `begin` addresses, in the code's order.
  std::vector<CounterOfRecord> in(uint64_t begin, std::span<const std::byte> code) const;

private:
  uint64_t width_, end_;
  std::vector<std::pair<uint64_t, size_t>> in_order_; // where the counters of a record begin
};

// The counters of a program, and the mappings of its modules, which are read once.
class SourceBasedProgram {
public:
  // Both must outlive the object.
  SourceBasedProgram(const CounterLayout &layout, std::span<const LoadedModule> modules,
                     Diagnostics &diagnostics);

  // The counters at one moment, and the stacks.
  struct Moment {
    const CounterSnapshot &snapshot;
    std::span<const StoppedThread> threads;
  };
  // Returns what ran until now, or between two moments if `before` is not null.
  GivenSourceBased counters(const Moment &now, const Moment *before, Memory &memory);
  // Returns the frames of the threads, as of the last counters().
  const std::vector<SourceBasedFrame> &frames() const { return frames_; }

private:
  using Open = std::vector<llvm::CounterRecord::Open>; // by record of a module
  // What the code of the function at a pc counts. It is a constant.
  struct Code {
    bool is_known = false; // which counters it updates
    bool is_optimized = false;
    std::vector<size_t> records;           // whose counters it updates
    std::optional<SourceBasedFrame> frame; // if it has a line
    std::optional<CounterOfRecord> next;   // the counter that is updated right here
    bool is_entry = false; // it counts the function's calls, and no code before the pc does
  };
  std::vector<Open> open_functions(std::span<const StoppedThread> threads, Memory &memory);
  Code code_at(size_t index, uint64_t pc, Memory &memory); // `index` is that of its module
  static void add_open(const Code &code, bool is_innermost, Open &open);

  const CounterLayout &layout_;
  std::span<const LoadedModule> modules_;
  std::shared_ptr<const std::vector<llvm::CoverageObject>> objects_;
  // By module of the layout.
  std::vector<std::optional<size_t>> object_of_; // of objects_
  std::vector<CounterFinder> finders_;
  std::vector<symbolize::ModuleFiles> files_;
  std::unique_ptr<Symbolizer> symbolizer_;
  Diagnostics findings_; // of the symbolizer
  std::vector<ModuleId> module_ids_;
  std::map<uint64_t, Code> codes_; // by pc
  std::vector<SourceBasedFrame> frames_;
};

} // namespace tally::live
