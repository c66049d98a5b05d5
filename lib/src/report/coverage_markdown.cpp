#include <algorithm>

#include <fmt/format.h>

#include "report/coverage_report.h"
#include "report/coverage_text.h"
#include "report/markdown.h"
#include "support/path.h"
#include "support/sort.h"

namespace tally {

namespace {

std::string row_of(const FileCoverage &file, const CoverageTotals &totals, std::string_view root,
                   const CoverageTotals &all) {
  constexpr size_t most_ranges = 8;
  std::string row = "| " + markdown_name(relative_path(file.path, root)) + " |";
  for (const CoverageMetric &metric : metrics_in_table(totals, all))
    row += ' ' + share_with_counts(metric) + " |";
  return row + ' ' + missing_ranges(file, most_ranges) + " |\n";
}

} // namespace

std::string to_markdown(const Coverage &coverage, std::string_view root) {
  const CoverageTotals all = totals_of(coverage);
  std::string out = "### Coverage\n\n|  | executed | of | percent |\n|:--|--:|--:|--:|\n";
  for (const CoverageMetric &metric : metrics_of(all))
    if (metric.whole > 0 || metric.name == "lines")
      out += fmt::format("| {} | {} | {} | {} |\n", metric.name, metric.part, metric.whole,
                         share_text(metric.part, metric.whole));
  if (coverage.files.empty())
    return out;

  struct Row {
    const FileCoverage *file;
    CoverageTotals totals;
  };
  std::vector<Row> rows;
  for (const FileCoverage &file : coverage.files)
    rows.push_back({&file, totals_of(file)});
  sort_stably(rows, std::ranges::greater(),
              [](const Row &row) { return row.totals.lines - row.totals.lines_executed; });

  // A long table is folded, because it would hide the rest of the build's summary.
  constexpr size_t most_open = 30;
  const bool folded = rows.size() > most_open;
  if (folded)
    out += fmt::format("\n<details><summary>{} files</summary>\n", rows.size());
  out += "\n| file |";
  std::string line_below = "|:--|";
  for (const CoverageMetric &metric : metrics_in_table(all, all)) {
    out += fmt::format(" {} |", metric.name);
    line_below += "--:|";
  }
  out += " lines not run |\n" + line_below + ":--|\n";
  // GitHub accepts 1 MiB. The remainder is left for other output of the same step.
  constexpr size_t most_bytes = 1'000'000;
  size_t shown = 0;
  for (const Row &row : rows) {
    std::string line = row_of(*row.file, row.totals, root, all);
    if (out.size() + line.size() > most_bytes)
      break;
    out += line;
    ++shown;
  }
  if (shown < rows.size())
    out += fmt::format("\n{} more files are left out: the summary would be too large.\n",
                       rows.size() - shown);
  if (folded)
    out += "\n</details>\n";
  return out;
}

} // namespace tally
