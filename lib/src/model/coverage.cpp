#include <tally/coverage.h>

#include <algorithm>

#include <fmt/format.h>

#include "model/coverage_findings.h"

namespace tally {

CoverageTotals &CoverageTotals::operator+=(const CoverageTotals &more) {
  lines += more.lines;
  lines_executed += more.lines_executed;
  functions += more.functions;
  functions_executed += more.functions_executed;
  branches += more.branches;
  branches_taken += more.branches_taken;
  outcomes += more.outcomes;
  outcomes_covered += more.outcomes_covered;
  return *this;
}

CoverageTotals totals_of(const FileCoverage &file) {
  const auto ran = [](const auto &rows) {
    return static_cast<uint64_t>(
        std::ranges::count_if(rows, [](const auto &row) { return row.count != 0; }));
  };
  CoverageTotals out;
  out.lines = file.lines.size();
  out.lines_executed = ran(file.lines);
  out.functions = file.functions.size();
  out.functions_executed = ran(file.functions);
  out.branches = file.branches.size();
  out.branches_taken = ran(file.branches);
  for (const ConditionCoverage &condition : file.conditions) {
    out.outcomes += condition.outcomes();
    out.outcomes_covered += condition.covered();
  }
  return out;
}

CoverageTotals totals_of(const Coverage &coverage) {
  CoverageTotals out;
  for (const FileCoverage &file : coverage.files)
    out += totals_of(file);
  return out;
}

std::optional<std::string> inexact_functions(const Coverage &coverage) {
  InexactFunctions found;
  for (const FileCoverage &file : coverage.files)
    for (const FunctionCoverage &function : file.functions)
      if (function.inexact)
        found.add(function.name, file.path, function.start_line);
  return found.empty() ? std::nullopt : std::optional(found.text());
}

} // namespace tally
