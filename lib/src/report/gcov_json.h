// Writes gcov's JSON intermediate format, as `gcov --json-format --stdout` prints it.
#pragma once

#include <string>
#include <string_view>

#include "coverage/gcov_counts.h"
#include "model/coverage_graph.h"

namespace tally {

struct GcovDocument {
  std::string_view compiler;  // the value of "gcc_version": "12.2"
  std::string_view data_file; // the value of "data_file"
  // The files are of GCC before 3.4. These files hold neither blocks, source locations of
  // functions, kinds of branches nor the compiler's working directory, so all of these are left
  // out.
  bool gcc3 = false;
  bool branches = true; // with branches and, in format "2", calls (gcov's -b)
  // If true, writes format "2" of GCC 14 and later, which needs counts made with
  // GcovOptions::blocks. If false, writes format "1" of GCC 9 to 13.
  bool format_2 = false;
  bool conditions = false; // with conditions (gcov's -g); only in format "2"
  const CoverageGraph *graph = nullptr;
  const GcovCounts *counts = nullptr;
};

// Returns one JSON document and a newline. `graph` and `counts` must not be null.
std::string to_gcov_json(const GcovDocument &document);

} // namespace tally
