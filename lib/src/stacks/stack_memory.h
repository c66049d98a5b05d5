// The memory of a thread's stack, as samples have found it. The stack dumps of other samples are
// too short for its outer part.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tally {

class StackMemory {
public:
  // A deeper stack is not kept.
  static constexpr size_t most_bytes = size_t{512} << 10;

  uint64_t low() const { return high_ - used_; }
  std::span<const std::byte> bytes() const { return std::span(room_).last(used_); }
  // Keeps a dump from `low` on. What is kept of the addresses behind the dump stays if `joins`;
  // otherwise it is forgotten.
  void show(uint64_t low, std::span<const std::byte> dump, bool joins);

private:
  std::vector<std::byte> room_; // the bytes are at its end, because a stack grows downward
  size_t used_ = 0;
  uint64_t high_ = 0; // the address behind the last byte
};

} // namespace tally
