// Takes the counters out of a program that is stopped or runs.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <sys/types.h>

#include <tally/diagnostics.h>
#include <tally/result.h>
#include <tally/symbolizer.h>

#include "coverage_collect/counted_object.h"
#include "live/counter_layout.h"
#include "live/counter_snapshot.h"
#include "live/memory.h"

namespace tally::live {

// The stack of a thread when the counters are read.
struct StoppedThread {
  int32_t tid = 0;
  std::vector<uint64_t> pcs; // run-time addresses, leaf first; a caller's is its return address - 1
};

// The notes of objects, which are read once. They are read again if a file was replaced.
class NotesCache {
public:
  // Returns null if the notes cannot be read.
  std::shared_ptr<const GcovNotes> notes_of(const std::string &path);

private:
  struct Entry {
    int64_t mtime_ns = 0;
    std::shared_ptr<const GcovNotes> notes;
  };
  std::map<std::string, Entry> entries_;
};

// A process of this machine, and the places of its counters.
class LiveProgram {
public:
  // Fails with not_found or permission, as process_memory() does.
  static Result<LiveProgram> open(pid_t pid);

  pid_t pid() const { return pid_; }
  // Finds modules that were loaded since the last call, and forgets those that were unloaded. Fails
  // if the process is gone.
  Result<void> refresh(Diagnostics &diagnostics);
  const CounterLayout &layout() const { return layout_; }
  const std::vector<LoadedModule> &modules() const { return modules_; }
  // Changes when the layout does.
  uint64_t generation() const { return generation_; }

  // Copies the counters. Returns nothing if some cannot be read.
  std::optional<CounterSnapshot> snapshot() { return CounterSnapshot::take(layout_, *memory_); }
  // Returns the objects with the counters of a snapshot of the present layout. `threads` are the
  // stacks at the moment of the snapshot; they may be empty if the process runs.
  std::vector<ObjectFiles> objects(const CounterSnapshot &snapshot,
                                   std::span<const StoppedThread> threads, NotesCache &cache);

  // How the code at an address was compiled, as far as it concerns the counters.
  struct Compilation {
    bool is_known = false;
    bool optimized = false;    // other than by -Og
    bool in_registers = false; // counters may be in registers
  };

private:
  LiveProgram() = default;
  Compilation compilation_at(uint64_t pc);
  std::vector<std::vector<OpenFrame>>
  open_frames(std::span<const StoppedThread> threads,
              std::span<const std::shared_ptr<const GcovNotes>> notes);

  pid_t pid_ = 0;
  std::unique_ptr<Memory> memory_;
  std::string maps_; // the text of /proc/PID/maps, from which modules_ were read
  std::vector<LoadedModule> modules_;
  CounterLayout layout_;
  uint64_t generation_ = 0;
  std::unordered_map<uint64_t, Compilation> compilations_; // by pc
  std::unique_ptr<Symbolizer> symbolizer_;                 // of the program's modules
  Diagnostics of_names_;                                   // what the symbolizer reports
};

// Returns the objects of a process, which may run, with their counters. Errors are those of
// LiveProgram, and no_data if nothing in the process was compiled with --coverage.
Result<std::vector<ObjectFiles>> objects_of_process(pid_t pid, Diagnostics &diagnostics);

} // namespace tally::live
