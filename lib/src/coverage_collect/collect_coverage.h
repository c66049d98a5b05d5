// Collects the coverage of all objects below some directories.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "coverage/path_filter.h"
#include "coverage_collect/build_notes.h"
#include "coverage_collect/counted_object.h"
#include "coverage_collect/source_based.h"
#include "model/coverage.h"
#include "support/diagnostics.h"
#include "support/file_io.h"
#include "support/pattern.h"
#include "transform/merge.h"

namespace tally {

// The counters that one run of a test left. Neither path needs to exist.
struct TestRun {
  std::string test;        // name of the test; several runs may share it
  std::string counters;    // a file that pack_counters() wrote
  std::string folder;      // a directory of counters that are not packed
  bool incomplete = false; // counts of the test are lost: it reached more than its counters tell
};

// Says what is counted, and how. The many data members are the options of `tally coverage`.
struct CollectOptions {
  // Directories, which are searched recursively for counters and notes; single files of counters or
  // notes; profiles of source-based coverage (.profraw, .profdata) and the objects that they belong
  // to; or reports to read back (lcov's tracefile, gcovr's JSON), where "-" is standard input.
  std::vector<std::string> paths{"."};
  // Objects to count in place of those in `paths`, if there are any.
  std::vector<ObjectFiles> given{};
  GivenSourceBased given_source_based{}; // counted in place of `paths`, too
  // Objects with a mapping of source-based coverage, beside those that `paths` names.
  std::vector<std::string> mapped{};
  // A build directory, or empty. If given, only objects that its compile_commands.json names
  // (notes_of_build()) are used, with the counters beside them; all others are remains of earlier
  // builds and runs.
  std::string build{};
  // Leaves out objects whose notes' path matches an exclude; filters have no effect here. The path
  // is relative to `build` if that is given, and begins as in `paths` otherwise.
  PathFilter objects;
  // Replace prefixes of the source paths in objects and reports, relative or absolute. The first
  // map that matches applies.
  std::vector<PathMap> substitutes{};
  // Sources below this directory are shown, and matched by `filter`, relative to it.
  std::string root = ".";
  PathFilter filter; // selects sources
  // If not empty, Coverage::tests has the coverage of each test; counters that are found in `paths`
  // belong to the test "".
  std::vector<TestRun> runs{};
  unsigned threads = 1;
  ReadOptions reading{};                 // of reports and streams of counters
  bool throw_branches = false;           // count branches that exceptions take, too
  bool markers = true;                   // obey exclusion markers in sources
  std::vector<Pattern> excluded_lines{}; // lines of sources that match do not count
  // With MergePolicy::strict, an object that cannot be used is an error, as is any warning about
  // one.
  MergePolicy policy = MergePolicy::lenient;
  // Reports how many of all objects are done; called repeatedly, by the calling thread.
  std::function<void(size_t done, size_t all)> progress{};
};

// Source paths are absolute and have no symbolic links.
struct CollectedCoverage {
  Coverage coverage;
  std::string root; // CollectOptions::root, absolute and without symbolic links
  std::vector<ObjectFiles> objects;
  size_t reports = 0;          // number of reports that were read
  size_t reports_outside = 0;  // those of them that count nothing: all their sources are elsewhere
  size_t counted = 0;          // objects with counters, and with a source that was selected
  size_t never_ran = 0;        // objects without usable counters: none of their lines ran
  size_t skipped = 0;          // objects that could not be used; each has a diagnostic
  size_t sources_left_out = 0; // sources that the filter does not select or that do not exist
  std::vector<std::string>
      tests_without_data; // tests none of whose runs left counts of these objects; sorted
};

// Returns whether a diagnostic of collect_coverage() says that a source does not exist. That does
// not change from run to run, as generated sources that the build removes do not come back.
bool is_of_missing_source(const Finding &finding);

// Collects coverage. Each object needs its notes, which are usually beside its counters. If
// GCOV_PREFIX, GCOV_PREFIX_STRIP or -fprofile-dir moved the counters, the path or name of the
// counters contains their original path, by which the notes are found (unless CollectOptions::build
// is given). Problems with single objects and sources are reported in `diagnostics`. Errors:
// no_data if there are neither counters, notes nor reports; errors from reading a path of
// `options`; and the errors that CollectOptions::policy asks for.
Result<CollectedCoverage> collect_coverage(const CollectOptions &options, Diagnostics &diagnostics);

} // namespace tally
