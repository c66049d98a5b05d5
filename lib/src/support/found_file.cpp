#include "support/found_file.h"

#include <cerrno>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>

namespace tally {

namespace {

bool is_kernels(int fd) {
  struct statfs system {};
  if (::fstatfs(fd, &system) != 0)
    return false;
  switch (static_cast<unsigned long>(system.f_type)) {
  case PROC_SUPER_MAGIC:
  case SYSFS_MAGIC:
  case TRACEFS_MAGIC:
  case DEBUGFS_MAGIC:
    return true;
  default:
    return false;
  }
}

} // namespace

Result<FoundFile> open_found(const std::string &path) {
  if (path.find('\0') != path.npos)
    return fail(ErrorCode::not_found, "there is no such file", path);
  FoundFile file;
  struct stat before {};
  // To open a device can have effects, such as to rewind a tape.
  if (::stat(path.c_str(), &before) == 0 && !S_ISREG(before.st_mode))
    return fail(ErrorCode::invalid_input, "is not a regular file", path);
  file.fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.fd.get() < 0)
    return fail_errno(errno, "cannot open", path);
  if (::fstat(file.fd.get(), &file.status) != 0)
    return fail_errno(errno, "cannot get the status of", path);
  if (!S_ISREG(file.status.st_mode))
    return fail(ErrorCode::invalid_input, "is not a regular file", path);
  if (is_kernels(file.fd.get()))
    return fail(ErrorCode::invalid_input, "is a file of the kernel, which has no fixed content",
                path);
  return file;
}

} // namespace tally
