#include "coverage/path_filter.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include <fmt/format.h>

#include "support/pattern.h"

namespace tally {

namespace {

Result<std::vector<Pattern>> compile_all(const std::vector<std::string> &texts,
                                         std::string_view option) {
  std::vector<Pattern> patterns;
  for (const std::string &text : texts) {
    TALLY_TRY(pattern, Pattern::compile(text, option));
    patterns.push_back(std::move(pattern));
  }
  return patterns;
}

} // namespace

struct PathFilter::Patterns {
  std::vector<Pattern> filters, excludes;
  std::mutex mutex;
  std::optional<Error> failure; // the first failure of a search

  bool found_in(const std::vector<Pattern> &patterns, std::string_view path) {
    return std::ranges::any_of(patterns,
                               [&](const Pattern &pattern) { return is_in(pattern, path); });
  }

private:
  bool is_in(const Pattern &pattern, std::string_view path) {
    const auto found = pattern.is_in(path);
    if (found)
      return *found;
    const std::scoped_lock lock(mutex);
    if (!failure)
      failure =
          Error(ErrorCode::limit,
                fmt::format("cannot search for a pattern in this path: {}", found.error().message),
                std::string(path));
    return false;
  }
};

PathFilter::PathFilter() : patterns_(std::make_unique<Patterns>()) {}
PathFilter::PathFilter(PathFilter &&) noexcept = default;
PathFilter &PathFilter::operator=(PathFilter &&) noexcept = default;
PathFilter::~PathFilter() = default;

Result<PathFilter> PathFilter::make(const std::vector<std::string> &filters,
                                    const std::vector<std::string> &excludes) {
  PathFilter out;
  TALLY_TRY(wanted, compile_all(filters, "--filter"));
  TALLY_TRY(unwanted, compile_all(excludes, "--exclude"));
  out.patterns_->filters = std::move(wanted);
  out.patterns_->excludes = std::move(unwanted);
  return out;
}

bool PathFilter::wants(std::string_view shown_path) const {
  const bool wanted = patterns_->filters.empty()
                          ? !shown_path.starts_with('/')
                          : patterns_->found_in(patterns_->filters, shown_path);
  return wanted && !excludes(shown_path);
}

bool PathFilter::excludes(std::string_view path) const {
  return patterns_->found_in(patterns_->excludes, path);
}

Result<void> PathFilter::check() const {
  const std::scoped_lock lock(patterns_->mutex);
  return patterns_->failure ? fail(*patterns_->failure) : Result<void>();
}

} // namespace tally
