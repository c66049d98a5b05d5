// What /proc tells of a process that a debugger holds. A pid of 0 is a remote process: nothing is
// known of it.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "support/unique_fd.h"

namespace tally {

bool read_word(pid_t pid, uint64_t address, uint64_t &word);

// What the kernel passed to the program at its start; 0: not known.
uint64_t auxiliary_value(pid_t pid, uint64_t type);

// Whether both addresses lie in one mapping of the process: a stack. True where that is not known.
bool on_one_stack(pid_t pid, uint64_t one, uint64_t other);

// Whether a call may return to that address: it lies in executable memory and, on x86-64, behind a
// call instruction, or it is the code that returns from a signal handler. True for a remote
// process.
bool is_return_address(pid_t pid, uint64_t address);

// Where longjmp() of this machine's C libraries sets the stack pointer, from the jump buffer in
// process `pid`. 0: not known.
uint64_t stack_pointer_of_jump(pid_t pid, uint64_t jump_buffer);

// A thread that a debugger holds, by files that stay open.
class HeldThread {
public:
  struct Place {
    uint64_t sp = 0, pc = 0; // 0: the thread does not stand, or the kernel does not tell
  };
  Place place(pid_t pid, pid_t tid);

  struct Ran {
    uint64_t cpu_ns = 0;
    uint64_t turns = 0; // how often a processor was given to it; 0: the kernel does not tell
  };
  Ran ran(pid_t pid, pid_t tid);

private:
  UniqueFd syscall_, schedstat_; // of /proc/PID/task/TID
};

} // namespace tally
