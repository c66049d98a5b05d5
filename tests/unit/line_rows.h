// The lines of a source as rows, for the tests of readers.
#pragma once

#include <cstdint>
#include <tuple>
#include <vector>

#include "model/coverage.h"

namespace tally {

using LineRow = std::tuple<uint32_t, int64_t, std::vector<int64_t>>; // number, count, branches

inline std::vector<LineRow> line_rows_of(const FileCoverage &file) {
  std::vector<LineRow> out;
  for (const LineCoverage &line : file.lines) {
    std::vector<int64_t> branches;
    for (const BranchCoverage &branch : file.branches_of(line))
      branches.push_back(branch.count);
    out.emplace_back(line.line, line.count, branches);
  }
  return out;
}

} // namespace tally
