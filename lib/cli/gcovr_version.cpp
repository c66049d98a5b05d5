#include "gcovr_version.h"

#include <cstdlib>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace tally::cli {

namespace {

// Its output, as far as it comes within ten seconds; "" where it cannot be run.
std::string output_of(std::vector<std::string> command) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return {};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  std::vector<char *> words;
  for (std::string &word : command)
    words.push_back(word.data());
  words.push_back(nullptr);
  pid_t child = 0;
  const int fault = ::posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  std::string out;
  if (fault == 0) {
    constexpr int patience_ms = 10'000;
    constexpr size_t most = 4096;
    for (pollfd ready{ends[0], POLLIN, 0}; ::poll(&ready, 1, patience_ms) > 0;) {
      char bytes[512];
      const ssize_t got = ::read(ends[0], bytes, sizeof bytes);
      if (got <= 0 || out.size() > most)
        break;
      out.append(bytes, static_cast<size_t>(got));
    }
    ::kill(child, SIGKILL); // it has said what it has to say
    ::waitpid(child, nullptr, 0);
  }
  ::close(ends[0]);
  return out;
}

// gcovr reads no version of its JSON but its own. It tells that in a report about nothing.
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

} // namespace

std::string gcovr_version_for(const Format &format, const std::string &given) {
  return given.empty() && format.name == "gcovr" ? version_of_gcovr() : given;
}

} // namespace tally::cli
