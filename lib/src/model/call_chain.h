// One sample's chain of addresses, from what a kernel or an agent has seen of the stack.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <sys/types.h>

#include <tally/unwinder.h>

#include "model/address_space.h"
#include "model/cut_mark.h"

namespace tally {

class CallChain {
public:
  // The ends of the address space hold no code, but a chain may hold numbers from there: marks of
  // the kernel above, and what a register that is no frame pointer led to below.
  static constexpr uint64_t lowest_code = 4096;

  // `unwinder` (null where unwind() is not called) and `space` outlive it. pid: of a process that
  // is there, 0 when none.
  CallChain(pid_t pid, Unwinder *unwinder, const AddressSpace &space);
  CallChain(const CallChain &) = delete; // the unwinder's call-back holds its address
  CallChain &operator=(const CallChain &) = delete;

  void clear() { pcs_.clear(); }
  bool empty() const { return pcs_.empty(); }
  void leaf(uint64_t pc) { pcs_.push_back(pc); }
  // False: this is no code, so it cannot be a caller, and nothing beyond it can be trusted.
  bool caller(uint64_t return_address);
  // Into an empty chain. `asked`: the bytes of stack that were to be copied; a smaller copy ends
  // where the stack could not be read.
  StackEnd unwind(const Registers &registers, std::span<const std::byte> stack, size_t asked);
  // Of a chain that unwind() has cut where the copy of the stack ends: goes on with what was seen
  // of it by frame pointers (leaf first, the pc before return addresses), where both agree on the
  // last two frames. It stays marked. How many frames came to it.
  size_t splice(std::span<const uint64_t> by_frame_pointers);
  // Marks where it was cut, so that it does not pass for a whole one.
  void ended(StackEnd why);
  // The clock struck in the kernel: its frame becomes the leaf of the chain, which is complete.
  void enter_kernel(uint64_t pc);

  // Leaf first; callers as return address - 1.
  std::span<const uint64_t> pcs() const { return pcs_; }

private:
  CodeMapping code_mapping(uint32_t range);

  pid_t pid_;
  Unwinder *unwinder_;
  const AddressSpace &space_;
  std::vector<uint64_t> pcs_;
  UnwindInput unwind_input_;
  std::vector<ModuleId> modules_; // of space_'s ranges
};

} // namespace tally
