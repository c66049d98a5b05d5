// Reads the memory of other processes, through /proc/PID/mem. process_vm_readv(2) is faster, but
// where the program handles page faults itself (userfaultfd(2)), it waits for the program, whose
// handler does not run while a debugger holds it; /proc/PID/mem fails there. Both wait for a page
// of a file that its file system has to provide. Memory without rights reads as its content, or
// zeros.
#pragma once

#include <cstddef>
#include <cstdint>

#include <sys/types.h>

#include "support/unique_fd.h"

namespace tally {

// Opens the memory of the process of a task. Returns an invalid descriptor, with errno, if there is
// no such task, or if it may not be traced (ptrace(2)).
UniqueFd open_process_memory(pid_t task);

// Returns how many bytes it read: fewer than `size` if not all of the memory is readable.
size_t read_process_memory(pid_t task, uint64_t address, void *to, size_t size);

} // namespace tally
