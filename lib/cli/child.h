// Starts another program whose output is read.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace tally::cli {

struct Child {
  int fault = 0; // errno if the program could not be started
  pid_t pid = 0;
};
// Starts command[0], searched for in PATH, with empty standard input. `output` and `errors` are the
// descriptors for its standard output and standard error; errors = -1 discards the latter.
// `in_own_group` puts it into a new process group. `variables` are NAME=VALUE, and replace those of
// this process.
Child start_child(std::vector<std::string> command, int output, int errors, bool in_own_group,
                  std::vector<std::string> variables = {});

} // namespace tally::cli
