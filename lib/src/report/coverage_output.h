// Writes coverage as a report that is chosen by name: one for people, or a format that holds
// coverage.
#pragma once

#include <cstdint>
#include <string>

#include "formats/formats.h"
#include "model/coverage.h"
#include "report/coverage_report.h"
#include "report/report.h"
#include "support/diagnostics.h"

namespace tally {

struct CoverageReport {
  std::string format; // a name of coverage_report_names()
  std::string path;   // a file, for "html" a directory; "-" is standard output
  OutputName name = OutputName::chosen;
};

// Parses "FORMAT" or "FORMAT:FILE". Without a file, a report for people goes to standard output,
// any other into a file that is named after the format. Errors: invalid_argument for an unknown
// format, an empty file name, a file name that asks for compression, and html on standard output.
Result<CoverageReport> coverage_report_of(const std::string &word);
std::string coverage_report_names(); // "text, markdown, …", with the formats

struct CoverageReportOptions {
  std::string root;     // real and absolute; paths below it are shown relative to it
  int64_t compiled = 0; // when the newest object was compiled, in seconds since 1970; 0 if unknown
  TextOptions text;     // of tables on standard output
  FileOrder order = FileOrder::file; // of tables as text
  WriteOptions write;                // of formats; its root is replaced by `root`
};

// Writes a temporary file and renames it. For html, makes the directory if it does not exist, and
// removes pages that an earlier report left in it. Adds a note for what the format cannot hold.
Result<void> write_coverage_report(const Coverage &coverage, const CoverageReport &report,
                                   const CoverageReportOptions &options, Diagnostics &diagnostics);

} // namespace tally
