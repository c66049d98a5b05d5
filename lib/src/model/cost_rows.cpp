#include "model/cost_rows.h"

#include <array>

namespace tally {

void PositionColumn::carry(bool addresses, bool basic_blocks) {
  addresses_ = addresses_ || addresses;
  basic_blocks_ = basic_blocks_ || basic_blocks;
  while (addresses_ && address_.size() < size())
    address_.push_back(0);
  while (basic_blocks_ && basic_block_.size() < size())
    basic_block_.push_back(0);
}

bool CallRows::push(const CostCall &call, std::span<const uint64_t> inclusive_costs) {
  from_.push_back(call.from);
  target_.push_back(call.target);
  callees_.push_back(call.callee);
  counts_.push_back(call.count);
  return costs_.push(inclusive_costs);
}

void CallRows::carry(bool addresses, bool basic_blocks) {
  from_.carry(addresses, basic_blocks);
  target_.carry(addresses, basic_blocks);
}

size_t CallRows::memory_bytes() const {
  return from_.memory_bytes() + target_.memory_bytes() + callees_.memory_bytes() +
         counts_.memory_bytes() + costs_.memory_bytes();
}

bool JumpRows::push(const CostJump &jump) {
  from_.push_back(jump.from);
  target_.push_back(jump.target);
  targets_.push_back({jump.target_file, jump.target_function});
  conditional_.push_back(jump.conditional);
  return counts_.push(std::array{jump.executed, jump.followed});
}

void JumpRows::carry(bool addresses, bool basic_blocks) {
  from_.carry(addresses, basic_blocks);
  target_.carry(addresses, basic_blocks);
}

CostJump JumpRows::operator[](uint32_t row) const {
  std::array<uint64_t, 2> counts{};
  counts_.get(row, counts);
  return {from_[row],        target_[row], targets_[row].file, targets_[row].function,
          conditional_[row], counts[0],    counts[1]};
}

size_t JumpRows::memory_bytes() const {
  return from_.memory_bytes() + target_.memory_bytes() + targets_.memory_bytes() +
         conditional_.memory_bytes() + counts_.memory_bytes();
}

} // namespace tally
