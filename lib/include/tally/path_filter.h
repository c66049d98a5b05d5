// Which sources count.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <tally/export.h>
#include <tally/result.h>

namespace tally {

// Patterns are PCRE2, searched (not anchored) in the path as tables show it: relative to the root
// below it, else absolute.
class TALLY_API PathFilter {
public:
  // Wanted is what one of `filters` is found in, or, without any, what lies below the root; but
  // nothing that one of `excludes` is found in. What is no pattern is invalid_argument.
  static Result<PathFilter> make(const std::vector<std::string> &filters,
                                 const std::vector<std::string> &excludes);
  PathFilter(); // wants what lies below the root
  PathFilter(PathFilter &&) noexcept;
  PathFilter &operator=(PathFilter &&) noexcept;
  ~PathFilter();

  // By several threads at once.
  bool wants(std::string_view shown_path) const;
  // Is one of `excludes` found in it?
  bool excludes(std::string_view path) const;
  // A pattern may take too long on some path (PCRE2's limits): it was not found in it then. To be
  // asked at the end; tells of the first such path.
  Result<void> check() const;

private:
  struct Patterns;
  std::unique_ptr<Patterns> patterns_;
};

} // namespace tally
