// Recognizes the system calls that create a process or a thread.
#pragma once

#include <cstdint>

#include <sys/types.h>

#include "support/hash.h"

namespace tally {

// A debugger stops a thread inside of these calls, to learn about the new process or thread. The
// thread's registers then look like those of a thread that waits, but such a call never waits.
// vfork does, and is not one of them.
class CreatingCalls {
public:
  explicit CreatingCalls(pid_t pid) : pid_(pid) {}
  // Returns whether the instruction before `pc` makes such a call. Reads the process's code once
  // for each pc. Returns false on processors other than x86-64.
  bool are_before(uint64_t pc);
  void clear() { known_.clear(); } // exec

private:
  bool reads_as_call(uint64_t pc) const;

  pid_t pid_;
  SeededMap<uint64_t, bool> known_;
};

} // namespace tally
