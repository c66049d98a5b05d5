// The two kinds of pages, and what they have in common.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tally/coverage_html.h>

#include "support/text_sink.h"

namespace tally::html {

// A file of the coverage, as the report knows it.
struct PageFile {
  const FileCoverage *file = nullptr;
  CoverageTotals totals;
  std::string shown;  // relative to the root
  std::string folder; // of it, with its slash; "" at the top
  std::string page;   // "source/….html"
};

// In the order of the coverage.
std::vector<PageFile> page_files(const Coverage &coverage, std::string_view root);

// Up to the body's beginning; `up` is the way to the report's folder ("../").
void put_head(TextSink &to, std::string_view title, std::string_view up, std::string_view kind);
void put_foot(TextSink &to);
// Two cells: a bar with the share, and "5/6".
void put_share(TextSink &to, uint64_t part, uint64_t whole, const HtmlOptions &options);
// A row for each thing that is counted.
void put_totals(TextSink &to, const CoverageTotals &totals, const HtmlOptions &options);

std::string index_page(const Coverage &coverage, const std::vector<PageFile> &files,
                       const HtmlOptions &options);
std::string source_page(const PageFile &page, const HtmlOptions &options, Diagnostics &diagnostics);

} // namespace tally::html
