// Opens files that the user does not name. A program, a mapping, a report or the listing of a
// directory names them, and an attacker can put anything in such a place: a pipe, which blocks; a
// device, whose opening has effects; a file of /proc, which has no size.
#pragma once

#include <filesystem>
#include <string>

#include <sys/stat.h>

#include "support/result.h"
#include "support/unique_fd.h"

namespace tally {

struct FoundFile {
  UniqueFd fd;
  struct stat status {};
};

// Tells whether a file may be nearly all holes, as a core may be.
enum class Holes : bool { few, many };

// Opens a regular file for reading, and never blocks. Fails with not_found, permission or io
// as open(2) does, and with invalid_input for what is not a regular file, is nearly all holes, or
// is one of the kernel's (/proc, /sys). A path in /proc may lead to a file of another file system,
// as /proc/PID/root/FILE does. Such a file does not count as the kernel's.
Result<FoundFile> open_found(const std::string &path, Holes holes = Holes::few);

// Returns false if there is something at `path` that is not a regular file, for libraries that open
// files by themselves.
bool may_be_opened(const std::string &path);

// Fails if a part of `inner`, a relative path, is a symbolic link below `folder`: what is written
// there would be written elsewhere.
Result<void> check_no_link(const std::filesystem::path &folder, const std::filesystem::path &inner);

} // namespace tally
