#include "gcovr_version.h"

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "child.h"

namespace tally::cli {

namespace {

// Returns the output that the command writes within ten seconds, at most about 4 KiB; "" if it
// cannot be run.
std::string output_of(std::vector<std::string> command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return {};
  const Child child = start_child(std::move(command), ends[1], -1, true);
  ::close(ends[1]);
  std::string out;
  if (child.fault == 0) {
    using Clock = std::chrono::steady_clock;
    const auto deadline = Clock::now() + std::chrono::seconds(10);
    constexpr size_t most = 4096;
    for (pollfd ready{ends[0], POLLIN, 0}; out.size() <= most;) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
      const int come = left > 0 ? ::poll(&ready, 1, static_cast<int>(left)) : 0;
      if (come < 0 && errno == EINTR)
        continue;
      char bytes[512];
      const ssize_t got = come > 0 ? ::read(ends[0], bytes, sizeof bytes) : 0;
      if (got <= 0)
        break;
      out.append(bytes, static_cast<size_t>(got));
    }
    ::kill(-child.pid, SIGKILL); // and all its children; the output is complete, or too late
    ::waitpid(child.pid, nullptr, 0);
  }
  ::close(ends[0]);
  return out;
}

} // namespace

// gcovr writes the version into the report of an empty directory.
std::string version_of_gcovr() {
  std::string empty = std::filesystem::temp_directory_path() / "tally-XXXXXX";
  if (!::mkdtemp(empty.data()))
    return {};
  const std::string json = output_of({"gcovr", "--root", empty, "--json", "-"});
  ::rmdir(empty.c_str());
  static constexpr std::string_view key = "\"gcovr/format_version\":";
  size_t at = json.find(key);
  if (at == json.npos)
    return {};
  at = json.find('"', at + key.size());
  const size_t end = at == json.npos ? at : json.find('"', at + 1);
  return end == json.npos ? std::string() : json.substr(at + 1, end - at - 1);
}

} // namespace tally::cli
