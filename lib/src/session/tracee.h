// Reads the state of a process that a debugger holds, from /proc and its memory. A pid of 0 is a
// remote process, about which nothing is known.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "support/unique_fd.h"

namespace tally {

bool read_word(pid_t pid, uint64_t address, uint64_t &word);

// Returns an entry of the auxiliary vector (AT_…); 0 if unknown.
uint64_t auxiliary_value(pid_t pid, uint64_t type);

// Returns whether both addresses lie in one mapping of the process, and so on one stack. Returns
// true if that is unknown.
bool on_one_stack(pid_t pid, uint64_t one, uint64_t other);

// Returns whether a call may return to the address: it lies in executable memory and, on x86-64,
// follows a call instruction or begins the code that returns from a signal handler. Returns true
// for a remote process.
bool is_return_address(pid_t pid, uint64_t address);

// Returns the stack pointer that longjmp() sets, from the jump buffer in process `pid`, for glibc
// and musl on x86-64; 0 if unknown.
uint64_t stack_pointer_of_jump(pid_t pid, uint64_t jump_buffer);

// A thread that a debugger holds. Keeps its files in /proc open.
class HeldThread {
public:
  struct StackPosition {
    uint64_t sp = 0, pc = 0; // 0 if the thread runs or the kernel does not report them
  };
  StackPosition position(pid_t pid, pid_t tid);

  struct Ran {
    uint64_t cpu_ns = 0;
    uint64_t turns = 0; // how often it was scheduled; 0 if the kernel does not report it
  };
  Ran ran(pid_t pid, pid_t tid);

private:
  UniqueFd syscall_, schedstat_; // of /proc/PID/task/TID
};

} // namespace tally
