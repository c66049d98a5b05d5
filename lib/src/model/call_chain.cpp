#include "model/call_chain.h"

namespace tally {

CallChain::CallChain(pid_t pid, Unwinder *unwinder, const AddressSpace &space)
    : pid_(pid), unwinder_(unwinder), space_(space) {
  // Made once: a std::function for each sample might allocate.
  unwind_input_.mapping_of_pc = [this](uint64_t pc) -> std::optional<CodeMapping> {
    const uint32_t range = space_.find(pc);
    if (range == AddressSpace::nowhere)
      return std::nullopt;
    return code_mapping(range);
  };
}

bool CallChain::caller(uint64_t return_address) {
  // In code without frame pointers the chain goes astray into whatever lies on the stack.
  if (return_address < lowest_code || space_.find(return_address - 1) == AddressSpace::nowhere)
    return false;
  pcs_.push_back(return_address - 1);
  return true;
}

bool CallChain::unwind(const Registers &registers, std::span<const std::byte> stack) {
  unwind_input_.registers = registers;
  unwind_input_.stack = stack;
  const StackEnd end = unwinder_->unwind(unwind_input_, pcs_);
  unwind_input_.stack = {};
  if (pcs_.empty())
    pcs_.push_back(registers.pc());
  return ended(end);
}

bool CallChain::ended(StackEnd why) {
  if (why == StackEnd::complete)
    return true;
  pcs_.push_back(cut_mark(why));
  return false;
}

CodeMapping CallChain::code_mapping(uint32_t range) {
  const auto &ranges = space_.ranges();
  while (modules_.size() <= range) {
    const CodeRange &r = ranges[modules_.size()];
    modules_.push_back(unwinder_->module({r.path, r.build_id, r.device, r.inode, pid_}));
  }
  const CodeRange &r = ranges[range];
  return {modules_[range], r.start, r.limit, r.file_offset};
}

} // namespace tally
