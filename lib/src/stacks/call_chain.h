// Builds the chain of addresses of one sample from the stack data of a kernel or an agent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include <sys/types.h>

#include "model/unwinder.h"
#include "stacks/address_space.h"
#include "stacks/stack_memory.h"
#include "stacks/truncation_mark.h"
#include "support/hash.h"

namespace tally {

class CallChain {
public:
  // Addresses below this hold no code, but a chain may contain such values where a register did not
  // hold a frame pointer. The kernel's marks are at the other end of the address space.
  static constexpr uint64_t lowest_code = 4096;

  // `unwinder` (null if unwind() is not called) and `space` must outlive the chain. `pid` is a live
  // process, or 0 if there is none.
  CallChain(pid_t pid, Unwinder *unwinder, const AddressSpace &space);
  CallChain(const CallChain &) = delete; // the unwinder's callback holds its address
  CallChain &operator=(const CallChain &) = delete;

  // Exec has begun. Until it returns, the user registers are those of the old program, whose memory
  // is gone.
  void begin_exec() {
    in_exec_ = true;
    forget_memory();
  }
  // The stacks are those of another program from now on.
  void forget_memory() {
    give_up_held();
    memory_.clear();
  }
  void forget_thread(pid_t tid) {
    give_up_held(tid);
    memory_.erase(tid);
  }
  // Returns whether exec is still at work in a sample with this user pc.
  bool is_in_exec(uint64_t user_pc, bool in_kernel);

  void clear() { pcs_.clear(); }
  bool empty() const { return pcs_.empty(); }
  void leaf(uint64_t pc) { pcs_.push_back(pc); }
  // Appends a caller. Returns false if the address is not in mapped code; it cannot be a caller
  // then, and nothing beyond it can be trusted.
  bool caller(uint64_t return_address);
  // Unwinds the stack and fills the chain, which must be empty. `asked` is the number of bytes that
  // were requested of the stack. If the stack dump has fewer bytes, the memory after its end could
  // not be read. Callers behind the end of the dump are those that an earlier sample of the thread
  // `tid` found, if it agrees with the dump.
  StackEnd unwind(const Registers &registers, std::span<const std::byte> stack, size_t asked,
                  pid_t tid);
  // Returns whether a stack with this end continues beyond its dump, where a later sample of the
  // thread may show the callers. A sample in a program that compiles code at run time cannot wait:
  // newer code may replace its own meanwhile.
  bool can_be_joined(StackEnd end) const {
    return (end == StackEnd::dump_too_short || end == StackEnd::unreadable) && !space_.has_code();
  }
  // Keeps the sample that unwind() has just found to go on behind its stack dump, with `end`. If no
  // later sample of the thread shows the callers beyond, the chain stays as it is now. `then` is
  // called with how the chain ends, while pcs() is that chain, during a later unwind() of the
  // thread or in give_up_held(), of all threads or one.
  using Then = std::function<void(StackEnd)>;
  void hold(const Registers &registers, std::span<const std::byte> stack, StackEnd end, pid_t tid,
            Then then);
  void give_up_held();
  void give_up_held(pid_t tid);
  // Extends a chain that unwind() has truncated at the end of the stack dump with the frames of
  // `by_frame_pointers` (leaf first: the pc, then return addresses), provided that both chains
  // agree on the last two unwound frames. The chain stays marked as truncated. Returns the number
  // of frames added.
  size_t splice(std::span<const uint64_t> by_frame_pointers);
  // Appends the mark for `why` unless the chain is complete, so that a truncated chain is
  // recognizable.
  void ended(StackEnd why);
  // Removes the mark of a chain that unwind() has truncated after its leaf, because the leaf has no
  // caller.
  void begins_at_leaf() { pcs_.pop_back(); }
  // Puts the kernel's frame in front as the leaf, for a sample that was taken in kernel mode. Call
  // this last, when the user part of the chain has been built.
  void enter_kernel(uint64_t pc);

  // Returns the chain, leaf first; callers are return address - 1.
  std::span<const uint64_t> pcs() const { return pcs_; }

private:
  struct Held {
    Registers registers;
    std::vector<std::byte> stack;
    std::vector<uint64_t> pcs;
    Then then;
    StackEnd end;
    unsigned tries = 0; // whole samples that have not shown its callers
    size_t bytes() const { return sizeof *this + stack.size() + pcs.size() * sizeof(uint64_t); }
  };
  // The memory of so many threads is kept, and so many bytes of dumps are held.
  static constexpr size_t most_threads = 256, most_held_bytes = size_t{16} << 20;
  // So many whole samples are asked for the callers of a held one. With more, which come later,
  // more of the stacks are joined with callers that are not theirs.
  static constexpr unsigned most_tries = 16;
  // The memory of a stack may be so many times as large as a dump that it continues. With the
  // number of tries, this bounds the work for each byte of a file.
  static constexpr size_t most_times = 32;

  CodeMapping code_mapping(uint32_t range);
  StackMemory &memory_of(pid_t tid);
  StackEnd walk(const Registers &registers, std::span<const std::byte> stack,
                const StackMemory &memory);
  std::vector<Held> take_held(pid_t tid);
  void join_held(pid_t tid);
  void keep(Held held, pid_t tid);
  void finish(std::vector<Held> held);

  pid_t pid_;
  bool in_exec_ = false;
  Unwinder *unwinder_;
  const AddressSpace &space_;
  std::vector<uint64_t> pcs_;
  UnwindInput unwind_input_;
  std::vector<ModuleId> modules_;           // by number of space_'s ranges
  SeededMap<pid_t, StackMemory> memory_;    // by thread
  std::map<pid_t, std::vector<Held>> held_; // by thread, oldest first
  size_t held_bytes_ = 0;
};

} // namespace tally
