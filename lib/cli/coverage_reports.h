// Writes the reports of `tally coverage --report`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tally/collect_coverage.h>
#include <tally/coverage_report.h>
#include <tally/report.h>

namespace tally::cli {

struct ReportRequest {
  std::string format;
  std::string path; // "-" is standard output
};
struct ReportSettings {
  std::string gcovr_version; // "" means that of the gcovr on PATH
  TextOptions text;
  FileOrder order = FileOrder::file; // of the text report
};

// Parses "FORMAT" or "FORMAT:FILE". Without a file, text, markdown and github go to standard
// output, and all others to a file named after the format. An unknown format is invalid_argument.
Result<ReportRequest> report_request(const std::string &word);
std::string report_names(); // "text, lcov, …"

Result<void> write_report(const CollectedCoverage &collected, const ReportRequest &request,
                          const ReportSettings &settings, Diagnostics &diagnostics);

} // namespace tally::cli
