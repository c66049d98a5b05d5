#include "live/memory.h"

#include <cerrno>

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <fmt/format.h>

#include "support/no_process.h"
#include "support/unique_fd.h"

namespace tally::live {

namespace {

// process_vm_readv() needs a third of the time of /proc/PID/mem, but seccomp filters of containers
// may deny it.
class ProcessMemory final : public Memory {
public:
  ProcessMemory(pid_t pid, UniqueFd file, bool by_file)
      : pid_(pid), file_(std::move(file)), by_file_(by_file) {}

  bool read(uint64_t address, std::span<std::byte> to) override {
    while (!to.empty()) {
      const ssize_t got = read_some(address, to);
      if (got <= 0)
        return false;
      address += static_cast<uint64_t>(got);
      to = to.subspan(static_cast<size_t>(got));
    }
    return true;
  }

private:
  ssize_t read_some(uint64_t address, std::span<std::byte> to) {
    if (!by_file_) {
      const iovec here{to.data(), to.size()};
      const iovec there{reinterpret_cast<void *>(address), to.size()};
      const ssize_t got = ::process_vm_readv(pid_, &here, 1, &there, 1, 0);
      if (got >= 0 || errno == EFAULT)
        return got;
      by_file_ = true; // also if the first thread has ended
    }
    return ::pread64(file_.get(), to.data(), to.size(), static_cast<off64_t>(address));
  }

  pid_t pid_;
  UniqueFd file_;
  bool by_file_;
};

} // namespace

Result<std::unique_ptr<Memory>> process_memory(pid_t pid, pid_t thread) {
  const bool is_first = thread == 0 || thread == pid;
  const std::string path = fmt::format("/proc/{}/mem", is_first ? pid : thread);
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0 && errno == ENOENT)
    return no_process(pid);
  if (file.get() < 0)
    return fail_errno(errno, fmt::format("cannot read the memory of process {}", pid));
  // The ID of another thread may be used again after its end. The open file still refers to the
  // memory of this process.
  return std::make_unique<ProcessMemory>(pid, std::move(file), !is_first);
}

} // namespace tally::live
