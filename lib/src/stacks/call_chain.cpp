#include "stacks/call_chain.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "model/kernel_code.h"

namespace tally {

CallChain::CallChain(pid_t pid, Unwinder *unwinder, const AddressSpace &space)
    : pid_(pid), unwinder_(unwinder), space_(space) {
  // Set once, because constructing a std::function for each sample might allocate.
  unwind_input_.mapping_of_pc = [this](uint64_t pc) -> std::optional<CodeMapping> {
    const uint32_t range = space_.find_mapping(pc);
    if (range == AddressSpace::nowhere)
      return std::nullopt;
    return code_mapping(range);
  };
}

bool CallChain::is_in_exec(uint64_t user_pc, bool in_kernel) {
  in_exec_ = in_exec_ && in_kernel && user_pc >= lowest_code &&
             space_.find_mapping(user_pc) == AddressSpace::nowhere;
  return in_exec_;
}

bool CallChain::caller(uint64_t return_address) {
  // In code without frame pointers the chain may contain arbitrary values from the stack.
  if (return_address < lowest_code ||
      space_.find_mapping(return_address - 1) == AddressSpace::nowhere)
    return false;
  pcs_.push_back(return_address - 1);
  return true;
}

StackEnd CallChain::unwind(const Registers &registers, std::span<const std::byte> stack,
                           size_t asked, pid_t tid) {
  StackMemory &memory = memory_of(tid);
  StackEnd end = walk(registers, stack, memory);
  if (!is_truncated(end)) {
    memory.show(registers.sp(), stack, end == StackEnd::joined);
    join_held(tid);
  }
  if (end == StackEnd::dump_too_short && stack.size() < asked)
    end = StackEnd::unreadable;
  if (pcs_.empty())
    pcs_.push_back(registers.pc());
  ended(end);
  return end;
}

StackEnd CallChain::walk(const Registers &registers, std::span<const std::byte> stack,
                         const StackMemory &memory) {
  unwind_input_.registers = registers;
  unwind_input_.stack = stack;
  if (memory.bytes().size() <= most_times * stack.size()) {
    unwind_input_.other = memory.bytes();
    unwind_input_.other_at = memory.low();
  }
  const StackEnd end = unwinder_->unwind(unwind_input_, pcs_);
  unwind_input_.stack = unwind_input_.other = {};
  return end;
}

void CallChain::hold(const Registers &registers, std::span<const std::byte> stack, StackEnd end,
                     pid_t tid, Then then) {
  Held held{registers, {stack.begin(), stack.end()}, pcs_, std::move(then), end};
  if (held_bytes_ + held.bytes() > most_held_bytes)
    give_up_held();
  keep(std::move(held), tid);
}

void CallChain::keep(Held held, pid_t tid) {
  held_bytes_ += held.bytes();
  held_[tid].push_back(std::move(held));
}

void CallChain::give_up_held() {
  while (!held_.empty())
    give_up_held(held_.begin()->first);
}

void CallChain::give_up_held(pid_t tid) { finish(take_held(tid)); }

std::vector<CallChain::Held> CallChain::take_held(pid_t tid) {
  const auto at = held_.find(tid);
  if (at == held_.end())
    return {};
  std::vector<Held> held = std::move(at->second);
  held_.erase(at);
  for (const Held &each : held)
    held_bytes_ -= each.bytes();
  return held;
}

void CallChain::finish(std::vector<Held> held) {
  const std::vector<uint64_t> current = std::move(pcs_);
  for (Held &each : held) {
    pcs_ = std::move(each.pcs);
    each.then(each.end);
  }
  pcs_ = current;
}

// The newest sample of the thread is whole. Each held one may share its outer callers, or those of
// the held one after it; otherwise it waits for another whole one.
void CallChain::join_held(pid_t tid) {
  std::vector<Held> held = take_held(tid);
  if (held.empty())
    return;
  const auto is_large_enough = [&](const Held &each) {
    return memory_of(tid).bytes().size() <= most_times * each.stack.size();
  };
  if (std::ranges::none_of(held, is_large_enough)) {
    finish(std::move(held));
    return;
  }
  const std::vector<uint64_t> current = std::move(pcs_);
  std::optional<StackMemory> extended; // by the held samples that are joined
  for (auto each = held.rbegin(); each != held.rend(); ++each) {
    pcs_.clear();
    if (walk(each->registers, each->stack, extended ? *extended : memory_of(tid)) !=
        StackEnd::joined)
      continue;
    each->end = StackEnd::joined;
    each->pcs = pcs_;
    if (!extended)
      extended = memory_of(tid);
    extended->show(each->registers.sp(), each->stack, true);
  }
  pcs_ = current;
  std::vector<Held> done;
  for (Held &each : held)
    if (each.end == StackEnd::joined || ++each.tries == most_tries)
      done.push_back(std::move(each));
    else
      keep(std::move(each), tid);
  finish(std::move(done));
}

StackMemory &CallChain::memory_of(pid_t tid) {
  if (memory_.size() >= most_threads && !memory_.contains(tid))
    memory_.clear();
  return memory_[tid];
}

size_t CallChain::splice(std::span<const uint64_t> by_frame_pointers) {
  if (pcs_.size() < 3)
    return 0;
  const uint64_t mark = pcs_.back();
  if (mark != truncation_mark(StackEnd::dump_too_short) &&
      mark != truncation_mark(StackEnd::unreadable))
    return 0;
  pcs_.pop_back();
  const size_t last = pcs_.size() - 1;
  const auto agree = [&](size_t theirs, size_t ours) {
    const uint64_t address = by_frame_pointers[theirs];
    return address - 1 == pcs_[ours] || (ours == 0 && address == pcs_[ours]);
  };
  // In code without frame pointers the frame-pointer chain is arbitrary, so a single frame may
  // match by chance; two must match. The frame-pointer chain never has more frames than the unwound
  // one: if a leaf has no frame of its own, its caller is missing in the frame-pointer chain.
  size_t at = std::min(last + 1, by_frame_pointers.size());
  while (at > 1 && !(agree(at - 1, last) && agree(at - 2, last - 1)))
    --at;
  const size_t before = pcs_.size();
  if (at > 1)
    for (const uint64_t address : by_frame_pointers.subspan(at))
      if (!caller(address))
        break;
  const size_t spliced = pcs_.size() - before;
  pcs_.push_back(mark);
  return spliced;
}

void CallChain::ended(StackEnd why) {
  if (is_truncated(why))
    pcs_.push_back(truncation_mark(why));
}

void CallChain::enter_kernel(uint64_t pc) {
  pcs_.insert(pcs_.begin(), is_kernel_code(pc) ? pc : somewhere_in_kernel);
}

CodeMapping CallChain::code_mapping(uint32_t range) {
  const auto &ranges = space_.ranges();
  while (modules_.size() <= range) {
    const CodeRange &r = ranges[modules_.size()];
    modules_.push_back(r.is_jit ? ModuleId{} // never asked for
                                : unwinder_->module({r.path, r.build_id, r.device, r.inode, pid_}));
  }
  const CodeRange &r = ranges[range];
  return {modules_[range], r.start, r.limit, r.file_offset};
}

} // namespace tally
