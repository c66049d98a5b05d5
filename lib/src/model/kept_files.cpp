#include "model/kept_files.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/sysmacros.h>

#include <fmt/format.h>

#include "model/jit_code.h"
#include "support/found_file.h"

namespace tally {

namespace {

constexpr uint64_t most_copied = uint64_t{128} << 20; // bytes
constexpr uint64_t largest_copy = uint64_t{32} << 20;

// The files that are kept by all KeptFiles of this process.
struct Kept {
  std::mutex mutex;
  std::map<KeptId, std::weak_ptr<const KeptFile>> files;
};

Kept &all_kept() {
  static Kept *const all = new Kept; // never destroyed, because any thread may use it at exit
  return *all;
}

// An open file keeps its file system from being unmounted. This one cannot be unmounted anyway.
bool is_always_mounted(uint64_t device) {
  for (const char *path : {"/", "."})
    if (struct stat here{}; ::stat(path, &here) == 0 && here.st_dev == device)
      return true;
  return false;
}

UniqueFd copy_of(const UniqueFd &file, uint64_t size) {
  UniqueFd copy(::memfd_create("tally-file", MFD_CLOEXEC));
  off_t at = 0;
  while (copy.get() >= 0 && static_cast<uint64_t>(at) < size)
    if (::sendfile(copy.get(), file.get(), &at, size - static_cast<uint64_t>(at)) <= 0)
      return UniqueFd();
  return copy;
}

} // namespace

std::string KeptFile::path() const { return fmt::format("/proc/self/fd/{}", fd_.get()); }

bool KeptFile::is_of(const struct stat &file) const {
  return of_.st_dev == file.st_dev && of_.st_ino == file.st_ino && of_.st_size == file.st_size &&
         of_.st_ctim.tv_sec == file.st_ctim.tv_sec && of_.st_ctim.tv_nsec == file.st_ctim.tv_nsec;
}

bool is_same_device(uint64_t mapped, uint64_t found) {
  return mapped == found ||
         (major(static_cast<dev_t>(mapped)) == 0 && major(static_cast<dev_t>(found)) == 0);
}

std::shared_ptr<const KeptFile> kept_file(uint64_t device, uint64_t inode) {
  const std::lock_guard lock(all_kept().mutex);
  const auto at = all_kept().files.find({device, inode});
  return at == all_kept().files.end() ? nullptr : at->second.lock();
}

pid_t inner_pid(pid_t pid) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  int inner = pid;
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("NSpid:"))
      if (const size_t last = line.find_last_of(" \t"); last != line.npos)
        std::from_chars(line.data() + last + 1, line.data() + line.size(), inner);
  return inner;
}

KeptFiles::KeptFiles() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  most_descriptors_ = std::min<size_t>(256, static_cast<size_t>(limit.rlim_cur / 4));
}

void KeptFiles::keep(const SampledFile &file) {
  if (is_anonymous_memory(file.path))
    return keep_perf_map(file.pid);
  if (file.inode == 0 || !file.path.starts_with('/') || is_full() ||
      file_systems_.may_not_answer(file.pid, file.device, file.path))
    return;
  // The process's own root directory first: the same path may name another file here.
  for (const std::string &path : {fmt::format("/proc/{}/root{}", file.pid, file.path),
                                  fmt::format("/proc/{}/exe", file.pid), file.path}) {
    auto found = open_found(path);
    if (found && found->status.st_ino == file.inode &&
        is_same_device(file.device, found->status.st_dev))
      return keep_as({file.device, file.inode}, std::move(found->fd), found->status);
  }
}

void KeptFiles::keep_as(const KeptId &id, UniqueFd fd, const struct stat &found) {
  std::shared_ptr<const KeptFile> kept = kept_file(id.first, id.second);
  if (!kept || !kept->is_of(found)) {
    if (!is_always_mounted(found.st_dev)) {
      const auto size = static_cast<uint64_t>(found.st_size);
      if (size > std::min(largest_copy, most_copied - copied_))
        return;
      fd = copy_of(fd, size);
      copied_ += size;
    }
    if (fd.get() < 0)
      return;
    kept = std::make_shared<const KeptFile>(std::move(fd), found);
    const std::lock_guard lock(all_kept().mutex);
    std::erase_if(all_kept().files, [](const auto &each) { return each.second.expired(); });
    all_kept().files[id] = kept;
  }
  files_[id] = std::move(kept);
}

void KeptFiles::keep_perf_map(pid_t pid) {
  if (perf_maps_.contains(pid) || is_full() || file_systems_.may_not_answer(pid, 0, "/tmp"))
    return;
  PerfMap map{UniqueFd(), inner_pid(pid)};
  // The root directory alone would not do: what is mounted below it is gone with the namespace.
  const std::string folder = fmt::format("/proc/{}/root/tmp", pid);
  struct stat here {
  }, there{};
  if (::stat("/tmp", &here) == 0 && ::stat(folder.c_str(), &there) == 0 &&
      (here.st_dev != there.st_dev || here.st_ino != there.st_ino))
    map.folder.reset(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (map.folder.get() >= 0 || map.inner != pid)
    perf_maps_.emplace(pid, std::move(map));
}

std::string KeptFiles::perf_map_of(pid_t pid) const {
  const auto at = perf_maps_.find(pid);
  if (at == perf_maps_.end())
    return perf_map_path(pid);
  const PerfMap &map = at->second;
  const std::string path = perf_map_path(map.inner);
  return map.folder.get() < 0
             ? path
             : fmt::format("/proc/self/fd/{}/{}", map.folder.get(), jit_file_name(path));
}

} // namespace tally
