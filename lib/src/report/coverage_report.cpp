#include <tally/coverage_report.h>

#include <fmt/format.h>

#include "report/render.h"
#include "support/path.h"

namespace tally {

std::string missing_ranges(const FileCoverage &file) {
  std::string out;
  for (size_t i = 0; i < file.lines.size();) {
    if (file.lines[i].count != 0) {
      ++i;
      continue;
    }
    const size_t first = i;
    while (i < file.lines.size() && file.lines[i].count == 0)
      ++i;
    const uint32_t from = file.lines[first].line, to = file.lines[i - 1].line;
    out += out.empty() ? "" : ", ";
    out += from == to ? fmt::format("{}", from) : fmt::format("{}-{}", from, to);
  }
  return out;
}

namespace {
std::vector<std::string> cells_of(const CoverageTotals &totals, std::string name,
                                  std::string missing) {
  const auto share = [](uint64_t part, uint64_t whole) {
    return whole == 0 ? std::string("-") : fmt::format("{:.1f}%", percent(part, whole));
  };
  return {share(totals.lines_executed, totals.lines),
          fmt::format("{}/{}", totals.lines_executed, totals.lines),
          share(totals.functions_executed, totals.functions),
          share(totals.branches_taken, totals.branches),
          std::move(name),
          std::move(missing)};
}
} // namespace

std::string to_text(const Coverage &coverage, std::string_view root, const TextOptions &options) {
  TextTable text;
  for (const char *title : {"lines", "", "functions", "branches"})
    text.add_column(title, true);
  text.add_column("file", false);
  text.add_column("lines not run", false);
  for (const FileCoverage &file : coverage.files)
    text.add_row(cells_of(totals_of(file), std::string(relative_path(file.path, root)),
                          missing_ranges(file)));
  text.add_row(cells_of(totals_of(coverage), "all files", ""));
  return text.render(options.limit, options.width);
}

} // namespace tally
