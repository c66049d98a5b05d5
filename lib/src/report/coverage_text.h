// What the reports of coverage share.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <tally/coverage.h>

namespace tally {

struct CoverageMetric {
  std::string_view name; // as many things
  uint64_t part = 0, whole = 0;
};

// Conditions are last: where no file has any, nothing is said of them.
inline std::array<CoverageMetric, 4> metrics_of(const CoverageTotals &totals) {
  return {{{"lines", totals.lines_executed, totals.lines},
           {"functions", totals.functions_executed, totals.functions},
           {"branches", totals.branches_taken, totals.branches},
           {"conditions", totals.outcomes_covered, totals.outcomes}}};
}

// "83.3% (5/6)"; "-" of nothing.
std::string share_with_counts(const CoverageMetric &metric);

} // namespace tally
