// The code that a process's JIT compilers made, by the time when they made it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "stacks/address_space.h"
#include "support/file_systems.h"
#include "support/jit_dump.h"

namespace tally {

class JitDumps {
public:
  // Opens the jitdump that a process has mapped, if it is the process's own. `mapping` is that of
  // the file, whose path is one in the process's mount namespace.
  void open(int pid, const CodeRange &mapping);

  bool empty() const { return dumps_.empty(); }
  // Maps the code that was made until `time`, of CLOCK_MONOTONIC. Times must ascend, but for
  // UINT64_MAX, which maps all code that is in the files now. Code of a file with times of another
  // clock is mapped as soon as it is read.
  void advance(uint64_t time, AddressSpace &space) {
    if (!dumps_.empty())
      advance_all(time, space);
  }

private:
  struct Dump {
    JitDump file;
    CodeRange mapping;
    uint64_t read_at; // the time when the file was read last
    std::deque<JitCode> pending;
  };
  void advance_all(uint64_t time, AddressSpace &space);

  std::vector<Dump> dumps_;
  FileSystems file_systems_;
};

} // namespace tally
