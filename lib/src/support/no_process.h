// Why a process cannot be found in /proc.
#pragma once

#include <cerrno>
#include <string>

#include <fcntl.h>
#include <unistd.h>

#include "support/result.h"
#include "support/unique_fd.h"

namespace tally {

// Fails if /proc is not mounted, which says nothing about a process.
inline Result<void> check_proc() {
  if (::access("/proc/self/fd", F_OK) == 0)
    return {};
  return fail(ErrorCode::io, "/proc is not mounted here, and processes cannot be sampled or read "
                             "without it");
}

// Returns the error of a process of which /proc/PID/status cannot be read.
inline tl::unexpected<Error> no_process(pid_t pid) {
  if (auto mounted = check_proc(); !mounted)
    return fail(std::move(mounted.error()));
  const std::string path = "/proc/" + std::to_string(pid) + "/status";
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 && errno != ENOENT && errno != ESRCH)
    return fail_errno(errno, "cannot open", path);
  return fail(ErrorCode::not_found, "there is no process " + std::to_string(pid));
}

} // namespace tally
