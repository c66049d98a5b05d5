// Declarations that the coverage reports share.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "model/coverage.h"
#include "report/coverage_report.h"

namespace tally {

struct CoverageMetric {
  std::string_view name; // the plural of what is counted
  uint64_t part = 0, whole = 0;
};

// Returns the metrics of the totals. Those from conditions on are omitted if no file has any.
inline std::array<CoverageMetric, 7> metrics_of(const CoverageTotals &totals) {
  const RegionTotals &source_based = totals.source_based;
  return {{{"lines", totals.lines_executed, totals.lines},
           {"functions", totals.functions_executed, totals.functions},
           {"branches", totals.branches_taken, totals.branches},
           {"conditions", totals.outcomes_covered, totals.outcomes},
           {"MC/DC", totals.mcdc_covered, totals.mcdc},
           {"regions", source_based.regions_executed, source_based.regions},
           {"instantiations", source_based.instantiations_executed, source_based.instantiations}}};
}

// Returns those of a file's or a directory's metrics that are shown, given the totals of all.
inline std::vector<CoverageMetric> shown_metrics(const CoverageTotals &totals,
                                                 const CoverageTotals &all) {
  constexpr size_t always = 3;
  const auto metrics = metrics_of(totals), of_all = metrics_of(all);
  std::vector<CoverageMetric> out;
  for (size_t i = 0; i < metrics.size(); ++i)
    if (i < always || of_all[i].whole > 0)
      out.push_back(metrics[i]);
  return out;
}

// Does the same for tables with a row for each file, which have no column for instantiations.
inline std::vector<CoverageMetric> metrics_in_table(const CoverageTotals &totals,
                                                    const CoverageTotals &all) {
  std::vector<CoverageMetric> out = shown_metrics(totals, all);
  std::erase_if(out, [](const CoverageMetric &metric) { return metric.name == "instantiations"; });
  return out;
}

// Returns the metric's name as a title: "Lines".
inline std::string title_of(const CoverageMetric &metric) {
  std::string out(metric.name);
  if (out[0] >= 'a' && out[0] <= 'z')
    out[0] = static_cast<char>(out[0] - 'a' + 'A');
  return out;
}

std::vector<const FileCoverage *> in_order(const Coverage &coverage, FileOrder order);

// Returns "83.3% (5/6)", or "-" if metric.whole is 0.
std::string share_with_counts(const CoverageMetric &metric);

} // namespace tally
