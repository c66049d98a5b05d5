// gcov's intermediate format: what `gcov --json-format --stdout` prints.
#pragma once

#include <string>
#include <string_view>

#include <tally/coverage_graph.h>
#include <tally/export.h>
#include <tally/gcov_counts.h>

namespace tally {

struct GcovDocument {
  std::string_view compiler; // "12.2"
  std::string_view data_file;
  // Of GCC before 3.4, whose files tell less: blocks, the places of functions, the kinds of
  // branches and the compiler's folder are left out.
  bool gcc3 = false;
  bool branches = true;
  // Format "2", of GCC 14 and later: counted with GcovOptions::blocks. Calls stand with branches.
  bool format_2 = false;
  bool conditions = false;
  const CoverageGraph *graph = nullptr;
  const GcovCounts *counts = nullptr;
};

// One document, and a line break. Format "1" is of GCC 9 to 13.
TALLY_API std::string to_gcov_json(const GcovDocument &document);

} // namespace tally
