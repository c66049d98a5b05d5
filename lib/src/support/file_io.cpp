#include <tally/file_io.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <optional>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "support/unique_fd.h"

namespace tally {

namespace {

// Returns the directory with its trailing slash; empty for the current directory.
std::string folder_of(const std::string &path) { return path.substr(0, path.rfind('/') + 1); }

Result<void> write_all(int fd, std::string_view bytes, const std::string &source) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(fd, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return fail_errno(errno, "cannot write", source);
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

// Returns the end of a chain of symbolic links, which need not exist yet.
std::string follow_links(std::string path) {
  std::array<char, PATH_MAX> to;
  for (int links = 0; links < 40; ++links) { // the kernel's limit
    const ssize_t size = ::readlink(path.c_str(), to.data(), to.size());
    if (size <= 0)
      break;
    const std::string_view link(to.data(), static_cast<size_t>(size));
    path = link.starts_with('/') ? std::string(link) : folder_of(path) + std::string(link);
  }
  return path;
}

} // namespace

Result<void> write_file(const std::string &path, std::string_view bytes) {
  if (path == "-")
    return write_all(STDOUT_FILENO, bytes, "<stdout>");

  const std::string target = follow_links(path);
  std::optional<struct stat> replaced;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode))
      return fail(ErrorCode::io, "is a directory", path);
    if (!S_ISREG(info.st_mode)) {
      UniqueFd device(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
      if (device.get() < 0)
        return fail_errno(errno, "cannot open for writing", path);
      return write_all(device.get(), bytes, path);
    }
    // Renaming would replace a file that its owner made read-only, so check this first.
    if (::access(path.c_str(), W_OK) != 0)
      return fail_errno(errno, "cannot write", path);
    replaced = info;
  } else if (errno != ENOENT) {
    return fail_errno(errno, "cannot write", path);
  }

  static std::atomic<unsigned> counter{0};
  std::string beside;
  UniqueFd fd;
  do {
    // The name does not include the target's name, which may already have the maximum length.
    beside = fmt::format("{}.tally-{}-{}.tmp", folder_of(target), ::getpid(), ++counter);
    // Nobody else may read a private file's bytes before it has its mode.
    fd.reset(
        ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, replaced ? 0600 : 0666));
  } while (fd.get() < 0 && errno == EEXIST);
  if (fd.get() < 0)
    return fail_errno(errno, "cannot create", path);
  auto give_up = [&](tl::unexpected<Error> error) -> Result<void> {
    ::unlink(beside.c_str());
    return error;
  };
  if (auto written = write_all(fd.get(), bytes, path); !written)
    return give_up(fail(written.error()));
  if (replaced) {
    // Only root can keep another owner, and others only the groups that they belong to. This comes
    // before the mode, because it clears the set-user-ID bit.
    if (::fstat(fd.get(), &info) == 0 &&
        (info.st_uid != replaced->st_uid || info.st_gid != replaced->st_gid))
      (void)!::fchown(fd.get(), replaced->st_uid, replaced->st_gid);
    if (::fchmod(fd.get(), replaced->st_mode & 07777) != 0)
      return give_up(fail_errno(errno, "cannot set the mode", path));
  }
  // A full disk may be reported only by close().
  if (::close(fd.release()) != 0)
    return give_up(fail_errno(errno, "cannot write", path));
  if (::rename(beside.c_str(), target.c_str()) != 0)
    return give_up(fail_errno(errno, "cannot rename into place", path));
  return {};
}

} // namespace tally
