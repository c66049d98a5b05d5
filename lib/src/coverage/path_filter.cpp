#include "coverage/path_filter.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <fmt/format.h>

namespace tally {

namespace {

struct FreeCode {
  void operator()(pcre2_code *code) const { pcre2_code_free(code); }
};
struct FreeMatch {
  void operator()(pcre2_match_data *data) const { pcre2_match_data_free(data); }
};
using Pattern = std::unique_ptr<pcre2_code, FreeCode>;

std::string message_of(int fault) {
  std::array<PCRE2_UCHAR, 256> message{};
  pcre2_get_error_message(fault, message.data(), message.size());
  return reinterpret_cast<const char *>(message.data());
}

Result<Pattern> compile(const std::string &text, std::string_view option) {
  int fault = 0;
  size_t offset = 0;
  // Match bytes and not UTF-8, because a path may be invalid UTF-8.
  Pattern pattern(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, &fault,
                                &offset, nullptr));
  if (pattern) {
    // If this fails, matching is slower but still works.
    static_cast<void>(pcre2_jit_compile(pattern.get(), PCRE2_JIT_COMPLETE));
    return pattern;
  }
  return fail(ErrorCode::invalid_argument,
              fmt::format("'{}' is not a pattern: {}, at character {}", text, message_of(fault),
                          offset + 1),
              std::string(option));
}

Result<std::vector<Pattern>> compile_all(const std::vector<std::string> &texts,
                                         std::string_view option) {
  std::vector<Pattern> patterns;
  for (const std::string &text : texts) {
    TALLY_TRY(pattern, compile(text, option));
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
    const std::unique_ptr<pcre2_match_data, FreeMatch> match(
        pcre2_match_data_create_from_pattern(pattern.get(), nullptr));
    const auto run = [&](uint32_t options) {
      return match ? pcre2_match(pattern.get(), reinterpret_cast<PCRE2_SPTR>(path.data()),
                                 path.size(), 0, options, match.get(), nullptr)
                   : PCRE2_ERROR_NOMEMORY;
    };
    int found = run(0);
    if (found == PCRE2_ERROR_JIT_STACKLIMIT)
      found = run(PCRE2_NO_JIT);
    if (found < 0 && found != PCRE2_ERROR_NOMATCH) {
      const std::scoped_lock lock(mutex);
      if (!failure)
        failure =
            Error{ErrorCode::limit,
                  fmt::format("cannot search for a pattern in this path: {}", message_of(found)),
                  std::string(path),
                  {},
                  {}};
    }
    return found >= 0;
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
