// One object file's coverage, from the files that its compiler and its runs left.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/coverage_graph.h>
#include <tally/diagnostics.h>
#include <tally/export.h>
#include <tally/gcov_counts.h>

namespace tally {

// Paths; those that need not be there may be missing.
struct ObjectFiles {
  std::string notes; // .gcno, .bbg
  std::string data;  // .gcda, .da
  std::string lines; // .bb; "": not of GCC before 3.4
  bool gcc3() const { return !lines.empty(); }
};
// The files beside one of them, by its ending. `path` with any other is taken for notes or
// counters of today's GCC.
TALLY_API ObjectFiles files_of_object(std::string_view path);

struct CountedObject {
  std::string compiler; // "12.2"
  bool gcc3 = false;    // made by GCC before 3.4
  // There are counters of these notes, or nothing to count: an object without functions may leave
  // no file of counters.
  bool ran = false;
  bool foreign_counters = false; // there are counters, but of no function that the notes know
  bool has_blocks = false;       // made by GCC 14 or later, and CountOptions::blocks
  CoverageGraph graph;
  GcovCounts counts;
};

struct CountOptions {
  bool branches = true;
  bool blocks = false; // as GcovOptions::blocks, where gcov tells them
  // As GcovOptions::wants, with the folder that the compiler worked in ("": not told).
  std::function<bool(const std::string &name, std::string_view folder)> wants{};
  // As GcovOptions::is_plain_folder, with the same; empty: by looking from the working directory,
  // as gcov does.
  std::function<bool(const std::string &name, std::string_view folder)> is_plain_folder{};
  bool tell_negative = true; // as GcovOptions::tell_negative
};

// Counts as the compiler's own gcov does. A file that cannot be read, or is truncated, is an error.
TALLY_API Result<CountedObject> count_object(const ObjectFiles &files, const CountOptions &options,
                                             Diagnostics &diagnostics);

// Counters of one object from several runs, which are to be told apart; its notes are read once.
struct RunCounters {
  std::string source; // names the bytes
  std::string bytes;  // of a .gcda
};
struct CountedRuns {
  CoverageGraph graph;
  // By run; none where its counters cannot be read or are of another compilation, which is found.
  std::vector<std::optional<GcovCounts>> counts;
};
TALLY_API Result<CountedRuns> count_runs(const std::string &notes,
                                         std::span<const RunCounters> runs,
                                         const CountOptions &options, Diagnostics &diagnostics);

} // namespace tally
