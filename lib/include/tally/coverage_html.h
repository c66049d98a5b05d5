// Coverage as a folder of HTML pages: an index of all files, and a page for each source.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <tally/coverage.h>
#include <tally/diagnostics.h>
#include <tally/export.h>
#include <tally/result.h>

namespace tally {

struct SourceText {
  std::string bytes;
  int64_t modified = 0; // when it was last changed, in seconds since 1970; 0: not known
};
// The regular file of that name.
TALLY_API Result<SourceText> read_source(const std::string &path);

struct HtmlOptions {
  std::string root{}; // paths below it are shown relative to it
  std::string title = "Coverage";
  std::string time{}; // shown as it is; "": no time, so that equal coverage gives equal bytes
  // In percent: what is below `low` is shown as poor, from `high` on as good.
  double low = 75, high = 90;
  // When the counts were written, as SourceText::modified; a source that was changed later is
  // warned of. 0: not known.
  int64_t counted = 0;
  std::function<Result<SourceText>(const std::string &path)> source = read_source;
};

// Hands the files of the report to `put` one by one, named by their path in its folder:
// "index.html", "style.css", "report.js", and "source/….html" for each source. These names consist
// of letters, digits, '-', '_' and '.', are bounded in length, differ in more than case, and stay
// the same as long as the source's path relative to the root does. The pages need neither a server
// nor a network, nor JavaScript to be read.
//
// Names and text may hold any bytes. A source that cannot be read, or is not what was counted, is a
// finding; its page has the counts nevertheless. An error is only what `put` returns.
TALLY_API Result<void>
write_html(const Coverage &coverage, const HtmlOptions &options, Diagnostics &diagnostics,
           const std::function<Result<void>(const std::string &path, std::string_view bytes)> &put);

} // namespace tally
