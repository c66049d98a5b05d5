// Selects the source files that reports of coverage show.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace tally {

// Matches paths with PCRE2 patterns, which are not anchored. A path has the form that tables show:
// relative for a file below the root, otherwise absolute.
class PathFilter {
public:
  // Selects paths that match any of `filters` (default: everything under the root) and none of
  // `excludes`. A string that is not a valid pattern is invalid_argument.
  static Result<PathFilter> make(const std::vector<std::string> &filters,
                                 const std::vector<std::string> &excludes);
  PathFilter(); // selects everything under the root
  PathFilter(PathFilter &&) noexcept;
  PathFilter &operator=(PathFilter &&) noexcept;
  ~PathFilter();

  // Returns whether the path is selected. Several threads may call it at once.
  bool wants(std::string_view shown_path) const;
  // Returns whether the path matches any of `excludes`.
  bool excludes(std::string_view path) const;
  // Returns an error, ErrorCode::limit, if a pattern exceeded PCRE2's limits on some path, which
  // then counted as not matched. The error names the first such path. Call it at the end.
  Result<void> check() const;

private:
  struct Patterns;
  std::unique_ptr<Patterns> patterns_;
};

} // namespace tally
