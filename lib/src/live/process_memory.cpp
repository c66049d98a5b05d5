#include "live/memory.h"

#include <cerrno>

#include <fmt/format.h>

#include "support/no_process.h"
#include "support/process_memory.h"
#include "support/read_at.h"

namespace tally::live {

namespace {

class ProcessMemory final : public Memory {
public:
  explicit ProcessMemory(UniqueFd file) : file_(std::move(file)) {}

  bool read(uint64_t address, std::span<std::byte> to) override {
    return read_at(file_.get(), to.data(), to.size(), address).size == to.size();
  }

private:
  UniqueFd file_;
};

} // namespace

Result<std::unique_ptr<Memory>> process_memory(pid_t pid, pid_t thread) {
  UniqueFd file = open_process_memory(thread == 0 ? pid : thread);
  if (file.get() < 0 && errno == ENOENT)
    return no_process(pid);
  if (file.get() < 0)
    return fail_errno(errno, fmt::format("cannot read the memory of process {}", pid));
  // The ID of another thread may be used again after its end. The open file still refers to the
  // memory of this process.
  return std::make_unique<ProcessMemory>(std::move(file));
}

} // namespace tally::live
