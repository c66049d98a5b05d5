// Writes GitHub's workflow commands, which docs.github.com describes in "Workflow commands for
// GitHub Actions". Text is escaped as by escapeData() and escapeProperty() of actions/toolkit, in
// packages/core/src/command.ts.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "report/coverage_report.h"
#include "report/coverage_text.h"
#include "support/path.h"
#include "support/sort.h"
#include "support/text.h"

namespace tally {

namespace {

std::string escaped(std::string_view text, std::string_view what) {
  std::string out;
  while (!text.empty()) {
    const size_t plain = std::min(text.find_first_of(what), text.size());
    out += printable(std::string(text.substr(0, plain)));
    text.remove_prefix(plain);
    if (!text.empty()) {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(text[0]));
      text.remove_prefix(1);
    }
  }
  return out;
}
std::string for_message(std::string_view text) { return escaped(text, "%\r\n"); }
std::string for_property(std::string_view text) { return escaped(text, "%\r\n:,"); }

} // namespace

std::string to_github(const Coverage &coverage, std::string_view root, size_t most) {
  struct FileRange {
    const FileCoverage *file;
    MissingRange range;
  };
  std::vector<FileRange> ranges;
  for (const FileCoverage &file : coverage.files)
    for (const MissingRange &range : ranges_not_run(file))
      ranges.push_back({&file, range});
  // Ranges of equal size stay in the order of path and line.
  sort_stably(ranges, std::ranges::greater(),
              [](const FileRange &found) { return found.range.lines; });
  const size_t shown = most == 0 ? ranges.size() : std::min(most, ranges.size());

  std::string totals;
  for (const CoverageMetric &metric : metrics_of(totals_of(coverage)))
    if (metric.whole > 0)
      totals += fmt::format("{}{} {}", totals.empty() ? "" : ", ", metric.name,
                            share_with_counts(metric));
  if (totals.empty())
    totals = "no lines of code";
  if (shown < ranges.size())
    totals += fmt::format("; the {} largest of {} ranges of lines that did not run are annotated",
                          shown, ranges.size());
  std::string out = "::notice title=Coverage::" + for_message(totals) + '\n';
  for (const FileRange &found : std::span(ranges).first(shown)) {
    const MissingRange &range = found.range;
    const std::string message = range.first == range.last
                                    ? fmt::format("line {} did not run", range.first)
                                    : fmt::format("lines {}-{} did not run: {} lines of code",
                                                  range.first, range.last, range.lines);
    out += fmt::format("::warning file={},line={},endLine={},title=Not executed::{}\n",
                       for_property(relative_path(found.file->path, root)), range.first, range.last,
                       for_message(message));
  }
  return out;
}

} // namespace tally
