// The limits of what is fetched from debuginfod: size, free space and time.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

namespace tally::symbolize {

// Returns the value of an environment variable, or null.
using Environment = std::function<const char *(const char *name)>;

struct FetchLimits {
  uint64_t most_bytes = uint64_t{2} << 30; // of one file; DEBUGINFOD_MAXSIZE, where 0 is unlimited
  // How long a server may take to send `least_bytes`, before it counts as one that hangs;
  // DEBUGINFOD_TIMEOUT, where 0 and less are unlimited. The client library itself waits 90 s by
  // default, and tries three times.
  std::chrono::seconds patience{30};
  uint64_t least_bytes = 100 << 10; // as in the client library
  uint64_t kept_free = 256 << 20;   // of the file system that the cache is on

  static FetchLimits of(const Environment &environment);
};

// Returns the directory in which the client library keeps files; see debuginfod-client-config(7).
// Empty if there is none.
std::string debuginfod_cache(const Environment &environment);

enum class FetchVerdict : uint8_t { go_on, too_large, no_space, hangs };

// Decides whether the transfer of one file may go on.
class FetchWatch {
public:
  using Time = std::chrono::steady_clock::time_point;
  FetchWatch(const FetchLimits &limits, Time begin) : limits_(limits), since_(begin) {}

  // `size` is 0 if the server did not say it. `free` are the bytes that the cache's file system has
  // left.
  FetchVerdict check(Time now, uint64_t received, uint64_t size, uint64_t free);

private:
  FetchLimits limits_;
  Time since_;          // the begin of the interval in which `least_bytes` must arrive
  uint64_t before_ = 0; // the bytes that arrived before it
};

} // namespace tally::symbolize
