// Takes the counters out of a program that is stopped or runs.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include <tally/diagnostics.h>
#include <tally/result.h>

#include "coverage_collect/counted_object.h"
#include "live/counter_layout.h"
#include "live/counter_snapshot.h"
#include "live/memory.h"
#include "live/open_functions.h"

namespace tally::live {

// The notes of objects, which are read once. They are read again if a file was replaced.
class NotesCache {
public:
  // Sets where notes are: a directory, or FROM=TO to replace the beginning of a path; "none" if
  // they are where the compiler left them.
  void set_place(std::string place) { place_ = std::move(place); }
  // Returns where the notes are that the compiler left at `path`.
  std::string place_of(const std::string &path) const;
  // Returns null if the notes cannot be read.
  std::shared_ptr<const GcovNotes> notes_of(const std::string &path);

private:
  struct Entry {
    int64_t mtime_ns = 0;
    std::shared_ptr<const GcovNotes> notes;
  };
  std::string place_ = "none";
  std::map<std::string, Entry> entries_;
};

// A snapshot of the present layout, and the stacks at the same moment; there are none if the
// process runs.
struct Reading {
  const CounterSnapshot &snapshot;
  std::span<const StoppedThread> threads;
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
  // Returns the notes of the layout's objects.
  Notes notes_of_objects(NotesCache &cache) const;
  // Returns OpenFunctions::frames().
  std::vector<std::vector<OpenFrame>> frames(std::span<const StoppedThread> threads,
                                             NotesCache &cache) {
    return open_functions(notes_of_objects(cache)).frames(threads, *memory_);
  }
  // Returns the objects with the counters of a reading.
  std::vector<ObjectFiles> objects(const Reading &reading, NotesCache &cache);
  // Returns the objects whose counters differ between two readings, or that a thread was in at one
  // of them, as they were at the later and at the earlier one, in the same order.
  std::pair<std::vector<ObjectFiles>, std::vector<ObjectFiles>>
  changed_objects(const Reading &now, const Reading &before, NotesCache &cache);

private:
  LiveProgram() = default;
  using Frames = std::vector<std::vector<OpenFrame>>; // by object
  OpenFunctions &open_functions(const Notes &notes);
  std::vector<ObjectFiles> wanted_objects(const Reading &reading, const Notes &notes, Frames frames,
                                          const std::vector<bool> &wanted, NotesCache &cache);

  pid_t pid_ = 0;
  std::unique_ptr<Memory> memory_;
  std::string mapped_; // the mappings from which modules_ were read
  bool is_refreshed_ = false;
  std::vector<LoadedModule> modules_;
  CounterLayout layout_;
  uint64_t generation_ = 0;
  std::unique_ptr<OpenFunctions> open_functions_; // of the newest notes
};

// Writes the counters of objects as .gcda files below a directory, where the program would write
// them with GCOV_PREFIX.
Result<void> write_counter_files(std::span<const ObjectFiles> objects, const std::string &folder);

// Returns the objects of a process, which may run, with their counters. Errors are those of
// LiveProgram, and no_data if nothing in the process was compiled with --coverage.
Result<std::vector<ObjectFiles>> objects_of_process(pid_t pid, Diagnostics &diagnostics);

} // namespace tally::live
