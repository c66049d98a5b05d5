#include "child.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

namespace tally::cli {

Child start_child(std::vector<std::string> command, int output, int errors, bool in_own_group) {
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  if (errors >= 0)
    ::posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  else
    ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  std::vector<char *> words;
  words.reserve(command.size() + 1);
  for (std::string &word : command)
    words.push_back(word.data());
  words.push_back(nullptr);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  if (in_own_group)
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  Child out;
  out.fault = ::posix_spawnp(&out.pid, words[0], &actions, &attributes, words.data(), environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return out;
}

} // namespace tally::cli
