// Writes coverage as a directory of HTML pages: an index of all files, and a page for each source.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "model/coverage.h"
#include "support/diagnostics.h"
#include "support/result.h"
#include "support/source_text.h"

namespace tally {

struct HtmlOptions {
  std::string root{}; // paths below this directory are shown relative to it
  std::string title = "Coverage";
  std::string time{}; // shown unchanged; leave it empty for reproducible output
  // In percent. A share below `low` is shown as poor, a share of at least `high` as good.
  double low = 75, high = 90;
  // Time at which the counts were written, in seconds since 1970; 0 if unknown. A source that was
  // changed later gets a warning.
  int64_t counted = 0;
  // Returns the text of a source.
  std::function<Result<SourceText>(const std::string &path)> source = read_source;
};

// Each page, and the style sheet, has this in its first 512 bytes.
inline constexpr std::string_view html_report_mark = "generator content=Tally";

// Passes each file of the report to `put`, with its path in the report's directory: "style.css",
// "report.js", "source/….html" for each source, and at last "index.html", so that a report that
// could not be completed has no index of pages that it lacks. The names of these pages consist
// of letters, digits, '-', '_' and '.', have a limited length, differ in more than case, and stay
// the same as long as the source's path relative to the root does. The pages can be read without a
// server, a network or JavaScript.
//
// Names and text may hold any bytes. A source that cannot be read, or has changed since it was
// counted, is reported in `diagnostics` and on its page, which shows the counts nevertheless. The
// page also states if the source ends before the last counted line. Returns an error only if `put`
// does.
Result<void>
write_html(const Coverage &coverage, const HtmlOptions &options, Diagnostics &diagnostics,
           const std::function<Result<void>(const std::string &path, std::string_view bytes)> &put);

} // namespace tally
