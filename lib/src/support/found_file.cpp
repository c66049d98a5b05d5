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

// Returns whether the file is nearly all holes: a few bytes on a disk that take gigabytes when they
// are read. A file system that compresses stores less than the size, too, and some do not tell.
bool is_hollow(const struct stat &file) {
  constexpr int64_t most_compressed = 64, block = 512, always_read = int64_t{16} << 20;
  const bool may_not_tell = file.st_blocks == 0 && file.st_size <= always_read * 16;
  return !may_not_tell && file.st_size > always_read &&
         file.st_size / most_compressed > file.st_blocks * block;
}

} // namespace

bool may_be_opened(const std::string &path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

Result<FoundFile> open_found(const std::string &path) {
  if (path.find('\0') != path.npos)
    return fail(ErrorCode::not_found, "there is no such file", path);
  FoundFile file;
  // To open a device can have effects, such as to rewind a tape.
  if (!may_be_opened(path))
    return fail(ErrorCode::invalid_input, "is not a regular file", path);
  file.fd.reset(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.fd.get() < 0)
    return fail_errno(errno, "cannot open", path);
  if (::fstat(file.fd.get(), &file.status) != 0)
    return fail_errno(errno, "cannot get the status of", path);
  if (!S_ISREG(file.status.st_mode))
    return fail(ErrorCode::invalid_input, "is not a regular file", path);
  if (is_hollow(file.status))
    return fail(ErrorCode::invalid_input, "is not read: nearly all of it is holes", path);
  if (is_kernels(file.fd.get()))
    return fail(ErrorCode::invalid_input, "is a file of the kernel, which has no fixed content",
                path);
  return file;
}

Result<void> check_no_link(const std::filesystem::path &folder,
                           const std::filesystem::path &inner) {
  std::filesystem::path path = folder;
  for (const std::filesystem::path &part : inner) {
    path /= part;
    std::error_code fault;
    if (std::filesystem::is_symlink(std::filesystem::symlink_status(path, fault)))
      return fail(ErrorCode::invalid_argument,
                  "is a symbolic link: name the directory to which it leads, or remove it",
                  path.string());
  }
  return {};
}

} // namespace tally
