#include "child.h"

#include <algorithm>
#include <string_view>

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

namespace tally::cli {

Child start_child(std::vector<std::string> command, int output, int errors, bool in_own_group,
                  std::vector<std::string> variables) {
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
  std::vector<char *> environment;
  environment.reserve(variables.size() + 64);
  for (std::string &variable : variables)
    environment.push_back(variable.data());
  const auto is_replaced = [&](std::string_view own) {
    return std::ranges::any_of(variables, [&](std::string_view variable) {
      return own.starts_with(variable.substr(0, variable.find('=') + 1));
    });
  };
  for (char **own = environ; *own != nullptr; ++own)
    if (!is_replaced(*own))
      environment.push_back(*own);
  environment.push_back(nullptr);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  if (in_own_group)
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  Child out;
  out.fault =
      ::posix_spawnp(&out.pid, words[0], &actions, &attributes, words.data(), environment.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return out;
}

} // namespace tally::cli
