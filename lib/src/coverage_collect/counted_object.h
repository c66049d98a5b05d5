// Counts one object file's coverage, from the files that the compiler and the runs wrote.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "coverage/gcov_counts.h"
#include "formats/gcov.h"
#include "model/coverage_graph.h"
#include "support/diagnostics.h"

namespace tally {

// What was read from the memory of a program, in place of files.
struct LiveCounters {
  std::shared_ptr<const GcovNotes> notes; // null if they cannot be read
  GcovData data;
  std::vector<OpenFrame> frames; // the functions of the notes that threads are in
  std::vector<bool> wanted{};    // by function of the notes: whether to count it; empty for all
  std::string module{};          // the path of the program or library that contains the object
};

// The counters of one object in a stream. They are added to those of the object's file, if there is
// one.
struct StreamedCounters {
  GcovData data;
  std::string stream; // the path of the stream
};

// Paths of one object's files. Only the notes must exist.
struct ObjectFiles {
  std::string notes; // .gcno, .bbg
  std::string data;  // .gcda, .da: the counters
  std::string lines; // .bb; empty unless the compiler is GCC before 3.4
  // If not null, it replaces the files, and the paths only name them.
  std::shared_ptr<const LiveCounters> live = nullptr;
  std::shared_ptr<const StreamedCounters> streamed = nullptr; // are added to the file of counters
  bool gcc3() const { return !lines.empty(); }
};
// Returns the paths of an object's files, given one of them. A path with an ending other than .da,
// .bbg or .bb is taken for a file of GCC 3.4 or later.
ObjectFiles files_of_object(std::string_view path);

struct CountedObject {
  std::string compiler; // version of the file format: "12.2"; "3.3" or "3.2" if gcc3
  bool gcc3 = false;    // compiled by GCC before 3.4
  // True if counters match the notes, or if the object has no functions. A run may leave no
  // counters for such an object.
  bool ran = false;
  bool foreign_counters = false; // the counters are of another compilation or other functions
  bool has_blocks = false;       // compiled by GCC 14 or later, and GcovOptions::blocks is set
  std::shared_ptr<const CoverageGraph> graph;
  GcovCounts counts;
};

// Counts as the compiler's own gcov does. GcovOptions::blocks is ignored for compilers before GCC
// 14, because their gcov lists no blocks. If GcovOptions::is_plain_directory is empty, the file
// system is checked from the current working directory, as gcov does. Fails if the notes do not
// exist, or if a file cannot be read or is truncated.
Result<CountedObject> count_object(const ObjectFiles &files, GcovOptions options,
                                   Diagnostics &diagnostics);

// The counters that one run left for an object.
struct RunCounters {
  std::string source; // name of the bytes, for diagnostics
  std::string bytes;  // content of a .gcda file
};
struct CountedRuns {
  CoverageGraph graph;
  // An element for each run. It is empty if the run's counters cannot be read or belong to another
  // compilation; a diagnostic then reports the reason.
  std::vector<std::optional<GcovCounts>> counts;
};
// Counts several runs of one object separately. `notes` is the path of its .gcno file, which is
// read once. Fails if the notes cannot be read.
Result<CountedRuns> count_runs(const std::string &notes, std::span<const RunCounters> runs,
                               GcovOptions options, Diagnostics &diagnostics);

} // namespace tally
