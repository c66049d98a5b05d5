// Takes the counters out of a program that is stopped or runs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <sys/types.h>

#include "coverage_collect/counted_object.h"
#include "live/counter_layout.h"
#include "live/counter_snapshot.h"
#include "live/open_functions.h"
#include "live/program_source.h"
#include "live/source_based.h"
#include "model/coverage.h"
#include "support/diagnostics.h"
#include "support/file_systems.h"
#include "support/result.h"

namespace tally::live {

// The notes of objects, which are read once. They are read again if a file was replaced.
class NotesCache {
public:
  // Sets the process whose notes are read; 0 if it is none of this machine.
  void set_process(pid_t pid) { pid_ = pid; }
  // Sets where notes are: a directory, or FROM=TO to replace the beginning of a path; "none" if
  // they are where the compiler left them.
  void set_place(std::string place) { place_ = std::move(place); }
  const std::string &place() const { return place_; }
  // Returns where the notes are that the compiler left at `path`.
  std::string place_of(const std::string &path) const;
  // Returns null if the notes cannot be read, or are in a file system that may not answer: this is
  // also asked at stops, about whatever path a mapped file contains.
  std::shared_ptr<const GcovNotes> notes_of(const std::string &path);

private:
  struct Entry {
    int64_t mtime_ns = 0;
    std::shared_ptr<const GcovNotes> notes;
  };
  std::string place_ = "none";
  pid_t pid_ = 0;
  FileSystems file_systems_;
  std::map<std::string, Entry> entries_;
};

// A snapshot of the present layout, and the stacks at the same moment; there are none if the
// process runs.
struct Reading {
  const CounterSnapshot &snapshot;
  std::span<const StoppedThread> threads;
};

// A program, and the places of its counters.
class LiveProgram {
public:
  explicit LiveProgram(std::unique_ptr<ProgramSource> source) : source_(std::move(source)) {}

  ProgramSource &source() { return *source_; }
  // Finds modules that were loaded since the last call, and forgets those that were unloaded. Fails
  // if the program is gone. `cache` provides the notes without which the counters of some objects
  // cannot be told apart.
  Result<void> refresh(NotesCache &cache);
  // Returns what the last complete reading of the modules reported: what is damaged or not known.
  const Diagnostics &findings() const { return findings_; }
  const CounterLayout &layout() const { return layout_; }
  const std::vector<LoadedModule> &modules() const { return modules_; }
  // Returns the paths of modules with counters that were unloaded since the program was opened.
  // When libgcov's destructor runs, it writes their files.
  const std::set<std::string> &unloaded() const { return unloaded_; }
  std::vector<ModuleIdentity> loaded() const;
  // Returns a snapshot of an earlier layout as one of the present layout. `loaded_then` are the
  // modules of that layout: the counters of others were 0.
  CounterSnapshot carried(const CounterSnapshot &snapshot,
                          std::span<const ModuleIdentity> loaded_then) const;
  // Changes when the layout does.
  uint64_t generation() const { return generation_; }

  // Copies the counters. Returns nothing if some cannot be read.
  std::optional<CounterSnapshot> snapshot() {
    return CounterSnapshot::take(layout_, source_->memory());
  }
  // Returns the notes of the layout's objects.
  Notes notes_of_objects(NotesCache &cache) const;
  // Returns OpenFunctions::frames().
  std::vector<std::vector<OpenFrame>> frames(std::span<const StoppedThread> threads,
                                             NotesCache &cache) {
    return open_functions(notes_of_objects(cache)).frames(threads, source_->memory());
  }
  // Returns whether the program reset its counters between two readings.
  bool was_reset(const Reading &now, const Reading &before, NotesCache &cache);
  // Returns the objects with the counters of a reading.
  std::vector<ObjectFiles> objects(const Reading &reading, NotesCache &cache);
  // Returns the objects whose counters differ between two readings, or that a thread was in at one
  // of them, as they were at the later and at the earlier one, in the same order. They have no
  // summary. With `only_changed`, functions that neither applies to are not wanted.
  std::pair<std::vector<ObjectFiles>, std::vector<ObjectFiles>>
  changed_objects(const Reading &now, const Reading &before, bool only_changed, NotesCache &cache);

  // Returns what modules with Clang's source-based coverage counted until a reading, or since
  // another one if that is not null.
  GivenSourceBased source_based(const Reading &now, const Reading *before);
  // Returns where threads were at the last source_based().
  std::span<const SourceBasedFrame> source_based_frames() const {
    return source_based_ ? source_based_->frames() : std::span<const SourceBasedFrame>();
  }

private:
  using Frames = std::vector<std::vector<OpenFrame>>; // by object
  struct Wanted {
    std::vector<bool> objects;
    std::vector<std::vector<bool>> functions; // by object, of its notes; empty for all
    bool has_summary = true;
  };
  std::vector<bool> wanted_functions(const CountedModuleObject &object, const GcovNotes &notes,
                                     const std::vector<bool> &changed,
                                     std::span<const OpenFrame> now,
                                     std::span<const OpenFrame> before) const;
  bool is_loaded(const ModuleIdentity &identity) const;
  OpenFunctions &open_functions(const Notes &notes);
  std::vector<ObjectFiles> wanted_objects(const Reading &reading, const Notes &notes, Frames frames,
                                          const Wanted &wanted, NotesCache &cache);

  std::unique_ptr<ProgramSource> source_;
  std::optional<std::string> state_; // of the modules, when modules_ and layout_ were read
  std::vector<LoadedModule> modules_;
  std::set<std::string> unloaded_;
  CounterLayout layout_;
  Diagnostics findings_; // of modules_ and layout_
  uint64_t generation_ = 0;
  std::unique_ptr<OpenFunctions> open_functions_; // of the newest notes
  std::unique_ptr<SourceBasedProgram> source_based_;
};

// Says how many lines of the coverage are uncertain, and in which functions of the objects, or in
// which of `frames`, the threads are for that reason; empty if none is.
std::string why_uncertain(const Coverage &coverage, std::span<const ObjectFiles> objects,
                          std::span<const SourceBasedFrame> frames);

// Returns why a program has no objects. `what` names it: "process 7", or a core file if `is_core`.
Error no_objects(LiveProgram &program, std::string_view what, bool is_core);

// Writes the counters of objects as .gcda files below a directory, where the program would write
// them with GCOV_PREFIX. Objects with one path become one file with the sums, as at the exit. Fails
// if they cannot be added up.
Result<void> write_counter_files(std::span<const ObjectFiles> objects, const std::string &folder);

struct ProgramCounters {
  std::vector<ObjectFiles> objects; // with gcov's counters
  GivenSourceBased source_based;
  std::vector<SourceBasedFrame> frames; // of code that counts source-based
};
// Returns the counters of a process, which may run. Errors are those of LiveProgram, and no_data if
// nothing in the process has counters.
Result<ProgramCounters> counters_of_process(pid_t pid, Diagnostics &diagnostics);
// Returns the counters of the program that wrote a core file. `program` is its executable, or empty
// if that is where it was.
Result<ProgramCounters> counters_of_core(const std::string &core, const std::string &program,
                                         Diagnostics &diagnostics);

} // namespace tally::live
