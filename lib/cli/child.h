// Another program, whose output is read.
#pragma once

#include <string>
#include <vector>

#include <sys/types.h>

namespace tally::cli {

struct Child {
  int fault = 0; // errno: it could not be started
  pid_t pid = 0;
};
// The program that PATH has under command[0], with nothing on standard input. errors: -1, to
// nowhere.
Child start_child(std::vector<std::string> command, int output, int errors, bool in_own_group);

} // namespace tally::cli
