// Writes the two kinds of pages, the index and the sources, and their common elements.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/coverage_html.h"
#include "support/text_sink.h"

namespace tally::html {

// A file of the coverage and its page in the report.
struct PageFile {
  const FileCoverage *file = nullptr;
  CoverageTotals totals;
  std::string shown;  // the path of the file relative to the root
  std::string folder; // the directory part of `shown` with its slash; "" at the top
  std::string page;   // "source/….html"
};

// Returns the page of each file, in the order of `coverage.files`.
std::vector<PageFile> page_files(const Coverage &coverage, std::string_view root);

// Writes the page up to the start of its body. `up` is the relative path of the report's directory
// ("" or "../"), and `kind` the class of the page ("index" or "source").
void put_head(TextSink &to, std::string_view title, std::string_view up, std::string_view kind);
void put_foot(TextSink &to);
// Writes a share as two cells. The first has a bar and the percentage, the second the numbers
// ("5/6").
void put_share(TextSink &to, uint64_t part, uint64_t whole, const HtmlOptions &options);
// Writes a table with a row for each metric.
void put_totals(TextSink &to, const CoverageTotals &totals, const HtmlOptions &options);

std::string index_page(const Coverage &coverage, const std::vector<PageFile> &files,
                       const HtmlOptions &options);
std::string source_page(const PageFile &page, const HtmlOptions &options, Diagnostics &diagnostics);

} // namespace tally::html
