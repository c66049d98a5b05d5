// Keeps the files of a sampled program readable after the program has ended, after the namespaces
// that it ran in have, and after the files are removed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <sys/stat.h>
#include <sys/types.h>

#include "support/file_systems.h"
#include "support/unique_fd.h"

namespace tally {

// A mapped file, as the kernel names it for the process. The device and inode are 0 if unknown.
struct SampledFile {
  pid_t pid = 0;
  std::string path;
  uint64_t device = 0, inode = 0;
};

// An open descriptor of a mapped file, or of a copy in memory.
class KeptFile {
public:
  KeptFile(UniqueFd fd, const struct stat &of) : fd_(std::move(fd)), of_(of) {}
  std::string path() const; // below /proc/self/fd
  // Returns whether it is this state of a file: the numbers of a device and an inode are used
  // again.
  bool is_of(const struct stat &file) const;

private:
  UniqueFd fd_;
  struct stat of_;
};

// Returns whether two numbers are of one device. On file systems with an anonymous device (major
// number 0: btrfs, overlayfs, NFS), stat() reports another number than /proc/PID/maps.
bool is_same_device(uint64_t mapped, uint64_t found);

// Returns what any KeptFiles keeps of a file; null if none does. Any thread may call this.
std::shared_ptr<const KeptFile> kept_file(uint64_t device, uint64_t inode);

// Returns the pid that a process has in its own pid namespace, by which it names its perf map.
pid_t inner_pid(pid_t pid);

using KeptId = std::pair<uint64_t, uint64_t>; // device and inode

class KeptFiles {
public:
  KeptFiles();
  // Call this when a file, or memory without a file, is sampled first. Does nothing if the process
  // is gone, or if too much is kept already.
  void keep(const SampledFile &file);
  // Returns the path of the perf map of a process that has memory without a file.
  std::string perf_map_of(pid_t pid) const;
  // Returns whether perf_map_of() differs from perf_map_path(): the process has a pid namespace or
  // a /tmp of its own.
  bool has_perf_map_of(pid_t pid) const { return perf_maps_.contains(pid); }

private:
  struct PerfMap {
    UniqueFd folder; // its own /tmp; none: that of this process
    pid_t inner = 0;
  };
  void keep_as(const KeptId &id, UniqueFd fd, const struct stat &found);
  void keep_perf_map(pid_t pid);
  bool is_full() const { return files_.size() + perf_maps_.size() >= most_descriptors_; }

  FileSystems file_systems_;
  size_t most_descriptors_;
  uint64_t copied_ = 0; // bytes
  std::map<KeptId, std::shared_ptr<const KeptFile>> files_;
  std::map<pid_t, PerfMap> perf_maps_;
};

} // namespace tally
