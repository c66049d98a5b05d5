#include "support/found_file.h"

#include <cerrno>

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

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

// Returns whether a sixty-fourth of the file or less is data, and the rest holes: a few bytes on a
// disk that take gigabytes when they are read. A file system without holes says that all is data.
bool is_hollow(int fd, const struct stat &status) {
  constexpr off64_t always_read = off64_t{16} << 20, block = 512;
  if (status.st_size <= always_read || status.st_blocks * block > status.st_size / 64)
    return false;
  off64_t data = 0, end = 0;
  for (int pieces = 0; pieces < 1000 && data <= status.st_size / 64; ++pieces) {
    const off64_t begin = ::lseek64(fd, end, SEEK_DATA);
    if (begin < 0 && errno == ENXIO)
      break; // only holes are left
    end = begin < 0 ? begin : ::lseek64(fd, begin, SEEK_HOLE);
    data = end < 0 ? status.st_size : data + (end - begin);
  }
  ::lseek64(fd, 0, SEEK_SET);
  return data <= status.st_size / 64;
}

} // namespace

bool may_be_opened(const std::string &path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode);
}

Result<FoundFile> open_found(const std::string &path, Holes holes) {
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
  if (holes == Holes::few && is_hollow(file.fd.get(), file.status))
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
