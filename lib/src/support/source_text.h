// The text of a source file, for annotated pages and exclusion markers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/result.h"

namespace tally {

struct SourceText {
  std::string bytes;
  int64_t modified = 0; // time of the last change, in seconds since 1970; 0 if unknown
};
// Reads the file at `path`. Errors: not_found if there is none, invalid_input if it is not a
// regular file, and limit if it exceeds 64 MiB.
Result<SourceText> read_source(const std::string &path);

// Returns whether a source was changed after `built` was made of it, so that the lines of `built`
// may be others now. Returns false if either file is not there.
bool is_newer(const std::string &source, const std::string &built);
// Returns a line of text that warns that `what`, such as "counts", may be beside wrong lines.
std::string newer_source_text(const std::string &source, const std::string &built,
                              std::string_view what);

} // namespace tally
