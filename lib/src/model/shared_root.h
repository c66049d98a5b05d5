// What a stack shares with the one before it: most begin alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tally {

// Keeps what was made of the frames of one chain for the next one.
template <class Value> class SharedRoot {
public:
  // Of a chain that is leaf first, the values outermost first; valid until the next call.
  // make(pc, outer): of a frame, and what was made of those outside of it. Another `generation`:
  // the same address may be another place now.
  template <class Make>
  std::span<const Value> values_of(std::span<const uint64_t> pcs, uint64_t generation, Make make) {
    size_t same = 0;
    if (generation_ == generation)
      while (same < pcs.size() && same < pcs_.size() && pcs_[same] == pcs[pcs.size() - 1 - same])
        ++same;
    generation_ = generation;
    pcs_.resize(same);
    values_.resize(same);
    for (size_t i = same; i < pcs.size(); ++i) {
      const uint64_t pc = pcs[pcs.size() - 1 - i];
      values_.push_back(make(pc, std::span<const Value>(values_)));
      pcs_.push_back(pc);
    }
    return values_;
  }

private:
  std::vector<uint64_t> pcs_; // outermost first
  std::vector<Value> values_;
  uint64_t generation_ = 0;
};

} // namespace tally
