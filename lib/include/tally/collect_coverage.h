// Coverage of all objects below some folders.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <tally/build_notes.h>
#include <tally/counted_object.h>
#include <tally/coverage.h>
#include <tally/diagnostics.h>
#include <tally/export.h>
#include <tally/path_filter.h>

namespace tally {

// What one run of a test has left: pack_counters().
struct TestRun {
  std::string test;     // several runs may be of one
  std::string counters; // the file; it need not be there
};

struct CollectOptions {
  // Folders, anywhere below which counters and notes are taken; such files themselves; or reports
  // that are read back (lcov's tracefile, gcovr's JSON).
  std::vector<std::string> paths{"."};
  // Not empty: of the objects, only those that this folder's compile_commands.json names
  // (notes_of_build()), with the counters beside them; all else is left from earlier builds and
  // runs.
  std::string build{};
  // Leaves out objects whose path matches an exclude. The path is relative to `build` if that is
  // given, and as in `paths` otherwise.
  PathFilter objects;
  // Applied to the names of sources as objects and reports have them, relative or absolute; the
  // first that fits holds.
  std::vector<PathMap> substitutes{};
  // Sources below it are shown relative to it.
  std::string root = ".";
  PathFilter filter;
  // Not empty: Coverage::tests tells these apart; counters that lie elsewhere are of the test "".
  std::vector<TestRun> runs{};
  unsigned threads = 1;
  bool throw_branches = false; // taken by exceptions: they count, too
  bool markers = true;         // exclusion markers in sources
  // Strict: an object that cannot be used is an error, too.
  MergePolicy policy = MergePolicy::lenient;
  // Called by the thread that called, from time to time.
  std::function<void(size_t done, size_t all)> progress{};
};

// Sources have their real, absolute paths.
struct CollectedCoverage {
  Coverage coverage;
  std::string root; // real and absolute
  std::vector<ObjectFiles> objects;
  size_t reports = 0;
  size_t counted = 0;   // objects with counters, and with sources that count
  size_t never_ran = 0; // objects without counters: no line of theirs ran
  size_t skipped = 0;   // that could not be used; each is found
  size_t sources_left_out = 0;
  std::vector<std::string>
      tests_without_data; // none of whose runs left counts of these objects; sorted
};

// Of an object the notes are needed: beside the counters or, where GCOV_PREFIX led these elsewhere,
// at the end of their path. Of the findings, at most 1000 are kept. no_data: there is no file to
// take.
TALLY_API Result<CollectedCoverage> collect_coverage(const CollectOptions &options,
                                                     Diagnostics &diagnostics);

} // namespace tally
