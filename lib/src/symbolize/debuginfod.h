// Fetches debug files from debuginfod servers, by their client library, in a thread of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tally::symbolize {

// Returns why no server can be asked; empty if servers can be: the build has no client library, or
// DEBUGINFOD_URLS names no server.
std::string why_no_debuginfod();

struct FetchRequest {
  uint32_t module = 0; // the caller's number
  std::string build_id;
};

enum class FetchOutcome : uint8_t {
  found,
  missing,     // no server has the file
  wrong,       // the file that came does not have the build ID
  damaged,     // the file has the build ID, but no debug information
  too_large,   // larger than the limit
  no_space,    // the cache's file system would not keep enough free space
  broken_off,  // the transfer ended too early
  hangs,       // a server does not send; nothing further is asked
  unreachable, // no server can be asked; nothing further is asked
  stopped,     // by stop()
};

struct FetchResult {
  uint32_t module = 0;
  FetchOutcome outcome = FetchOutcome::missing;
  std::string path;      // of the file in the client library's cache
  std::string alternate; // the file of .gnu_debugaltlink, which was fetched, too; may be empty
  bool whole = true;     // false if the file of .gnu_debugaltlink was not found anywhere
  std::string detail;    // the reason of `unreachable`; the directory of `no_space`
};

struct FetchExchange;

// Only one thread may use the object.
class DebugFileFetcher {
public:
  // A file of .gnu_debugaltlink is sought in `debug_directories` before it is fetched.
  explicit DebugFileFetcher(std::vector<std::string> debug_directories);
  // Ends the transfer, which takes up to a second.
  ~DebugFileFetcher();
  DebugFileFetcher(const DebugFileFetcher &) = delete;

  // Begins to fetch the files, one after the other. The previous requests must be finished. After
  // stop(), or once a server hung or none was reachable, it does nothing.
  void begin(std::vector<FetchRequest> requests);
  bool may_ask() const;
  void stop();

  struct Progress {
    bool finished = true;
    uint32_t module = 0;      // whose file is fetched now
    uint64_t received = 0;    // of this file
    uint64_t size = 0;        // of this file; 0 if unknown
    size_t done = 0, all = 0; // files
  };
  // Waits until a file came or about `budget` has passed. Appends the new results.
  Progress wait(std::chrono::milliseconds budget, std::vector<FetchResult> &out);

private:
  std::unique_ptr<FetchExchange> shared_;
};

} // namespace tally::symbolize
