// Reuses what consecutive stacks share: most begin with the same outer frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tally {

// Keeps the values that were made for the frames of one chain, for use by the next chain.
template <class Value> class CommonRoot {
public:
  // Returns the values of a chain's frames, outermost first. The chain is leaf first. The result is
  // valid until the next call. make(pc, outer) returns the value of a frame, given the values of
  // the frames outside of it. If `generation` differs from that of the previous call, nothing is
  // reused, because an address may then stand for other code.
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
