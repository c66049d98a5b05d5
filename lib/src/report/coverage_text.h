// Declarations that the coverage reports share.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include <tally/coverage.h>

namespace tally {

struct CoverageMetric {
  std::string_view name; // the plural of what is counted
  uint64_t part = 0, whole = 0;
};

// Returns the metrics of the totals. Conditions are last, because they are omitted if no file has
// any.
inline std::array<CoverageMetric, 4> metrics_of(const CoverageTotals &totals) {
  return {{{"lines", totals.lines_executed, totals.lines},
           {"functions", totals.functions_executed, totals.functions},
           {"branches", totals.branches_taken, totals.branches},
           {"conditions", totals.outcomes_covered, totals.outcomes}}};
}

// Returns "83.3% (5/6)", or "-" if metric.whole is 0.
std::string share_with_counts(const CoverageMetric &metric);

} // namespace tally
