
#include "support/file_io.h"

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

// A new file in the directory of a target, until it has the target's name. Where the system permits
// that, it has no name before its content is complete, so that a process which is killed leaves
// nothing behind.
class FileBeside {
public:
  explicit FileBeside(const std::string &target) : folder_(folder_of(target)) {}
  ~FileBeside() {
    if (!name_.empty())
      ::unlink(name_.c_str());
  }
  FileBeside(const FileBeside &) = delete;

  // Opens the file. Returns false, with errno, if that is not possible.
  bool open(mode_t mode) {
    if (::access(own_descriptors, X_OK) == 0) // by which the file gets its name
      fd_.reset(
          ::open(folder_.empty() ? "." : folder_.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, mode));
    while (fd_.get() < 0) {
      name_ = new_name();
      fd_.reset(::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode));
      if (fd_.get() < 0 && errno != EEXIST) {
        name_.clear();
        return false;
      }
    }
    return true;
  }
  int fd() const { return fd_.get(); }

  // Gives the file a name, if it has none, and closes it. Returns false, with errno, if it fails. A
  // full disk may be reported only by close().
  bool close() {
    const std::string own = fmt::format("{}/{}", own_descriptors, fd_.get());
    while (name_.empty()) {
      const std::string name = new_name();
      if (::linkat(AT_FDCWD, own.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0)
        name_ = name;
      else if (errno != EEXIST)
        return false;
    }
    return ::close(fd_.release()) == 0;
  }
  bool rename(const std::string &target) {
    if (::rename(name_.c_str(), target.c_str()) != 0)
      return false;
    name_.clear();
    return true;
  }

private:
  static constexpr const char *own_descriptors = "/proc/self/fd";

  // The name does not include the target's name, which may already have the maximum length.
  std::string new_name() const {
    static std::atomic<unsigned> counter{0};
    return fmt::format("{}.tally-{}-{}.tmp", folder_, ::getpid(), ++counter);
  }

  std::string folder_, name_; // the name is empty while the file has none
  UniqueFd fd_;
};

} // namespace

Result<void> write_file(const std::string &path, std::string_view bytes, OutputName name) {
  const bool is_chosen = name == OutputName::chosen;
  if (is_chosen && path == "-")
    return write_all(STDOUT_FILENO, bytes, "<stdout>");

  const std::string target = is_chosen ? follow_links(path) : path;
  std::optional<struct stat> replaced;
  struct stat info {};
  if (::fstatat(AT_FDCWD, path.c_str(), &info, is_chosen ? 0 : AT_SYMLINK_NOFOLLOW) == 0 &&
      (is_chosen || S_ISREG(info.st_mode) || S_ISDIR(info.st_mode))) {
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
  } else if (is_chosen && errno != ENOENT) {
    return fail_errno(errno, "cannot write", path);
  }

  FileBeside file(target);
  // Nobody else may read a private file's bytes before it has its mode.
  if (!file.open(replaced ? 0600 : 0666))
    return fail_errno(errno, "cannot create", path);
  TALLY_CHECK(write_all(file.fd(), bytes, path));
  if (replaced) {
    // Only root can keep another owner, and others only the groups that they belong to. This comes
    // before the mode, because it clears the set-user-ID bit.
    if (::fstat(file.fd(), &info) == 0 &&
        (info.st_uid != replaced->st_uid || info.st_gid != replaced->st_gid))
      (void)!::fchown(file.fd(), replaced->st_uid, replaced->st_gid);
    if (::fchmod(file.fd(), replaced->st_mode & 07777) != 0)
      return fail_errno(errno, "cannot set the mode", path);
  }
  if (!file.close())
    return fail_errno(errno, "cannot write", path);
  if (!file.rename(target))
    return fail_errno(errno, "cannot rename into place", path);
  return {};
}

} // namespace tally
