#include "support/process_memory.h"

#include <fcntl.h>

#include <fmt/format.h>

#include "support/read_at.h"

namespace tally {

UniqueFd open_process_memory(pid_t task) {
  return UniqueFd(::open(fmt::format("/proc/{}/mem", task).c_str(), O_RDONLY | O_CLOEXEC));
}

size_t read_process_memory(pid_t task, uint64_t address, void *to, size_t size) {
  const UniqueFd memory = open_process_memory(task);
  return memory.get() < 0 ? 0 : read_at(memory.get(), to, size, address).size;
}

} // namespace tally
