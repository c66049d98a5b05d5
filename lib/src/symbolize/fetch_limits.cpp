#include "symbolize/fetch_limits.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>

#include <sys/stat.h>

namespace tally::symbolize {

namespace {

// Returns the number that a variable begins with, as the client library reads it by atoi().
std::optional<int64_t> number_in(const Environment &environment, const char *name) {
  const char *const value = environment(name);
  if (!value)
    return std::nullopt;
  const std::string_view text = value;
  int64_t number = 0;
  return std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc()
             ? std::optional(number)
             : std::nullopt;
}

} // namespace

FetchLimits FetchLimits::of(const Environment &environment) {
  FetchLimits limits;
  if (const auto most = number_in(environment, "DEBUGINFOD_MAXSIZE"); most && *most >= 0)
    limits.most_bytes = *most == 0 ? UINT64_MAX : static_cast<uint64_t>(*most);
  constexpr int64_t longest = 1'000'000'000; // as steady_clock's nanoseconds hold it
  if (const auto seconds = number_in(environment, "DEBUGINFOD_TIMEOUT"))
    limits.patience = std::chrono::seconds(*seconds <= 0 ? longest : std::min(*seconds, longest));
  return limits;
}

std::string debuginfod_cache(const Environment &environment) {
  if (const char *const path = environment("DEBUGINFOD_CACHE_PATH"); path && *path)
    return path;
  const char *const home = environment("HOME");
  if (home) {
    std::string old = std::string(home) + "/.debuginfod_client_cache";
    struct stat status {};
    if (::stat(old.c_str(), &status) == 0)
      return old;
  }
  if (const char *const caches = environment("XDG_CACHE_HOME"); caches && *caches)
    return std::string(caches) + "/debuginfod_client";
  return home ? std::string(home) + "/.cache/debuginfod_client" : std::string();
}

FetchVerdict FetchWatch::check(Time now, uint64_t received, uint64_t size, uint64_t free) {
  if (std::max(received, size) > limits_.most_bytes)
    return FetchVerdict::too_large;
  const uint64_t missing = size > received ? size - received : 0;
  if (free < limits_.kept_free || free - limits_.kept_free < missing)
    return FetchVerdict::no_space;
  if (received >= before_ + limits_.least_bytes) {
    before_ = received;
    since_ = now;
  }
  return now - since_ >= limits_.patience ? FetchVerdict::hangs : FetchVerdict::go_on;
}

} // namespace tally::symbolize
