#include "coverage/function_arcs.h"

#include <algorithm>

namespace tally {

void FunctionArcs::sort(size_t blocks, std::span<const GraphArc> arcs,
                        const std::vector<int64_t> &counts) {
  order_.resize(arcs.size());
  for (uint32_t i = 0; i < arcs.size(); ++i)
    order_[i] = i;
  const auto key = [&](uint32_t i) { return uint64_t{arcs[i].source} << 32 | arcs[i].destination; };
  if (!std::ranges::is_sorted(order_, {}, key)) // many compilers write arcs in this order
    std::ranges::stable_sort(order_, {}, key);
  counted_.arcs.clear();
  counted_.first_out.assign(blocks + 1, 0);
  counted_.first_in.assign(blocks + 1, 0);
  for (const uint32_t i : order_) {
    counted_.arcs.push_back({arcs[i].source, arcs[i].destination, arcs[i].flags, counts[i]});
    ++counted_.first_out[arcs[i].source + 1];
    ++counted_.first_in[arcs[i].destination + 1];
  }
  for (size_t block = 0; block < blocks; ++block) {
    counted_.first_out[block + 1] += counted_.first_out[block];
    counted_.first_in[block + 1] += counted_.first_in[block];
  }
  counted_.in.resize(arcs.size());
  waiting_.assign(counted_.first_in.begin(), counted_.first_in.end() - 1);
  for (uint32_t i = 0; i < counted_.arcs.size(); ++i)
    counted_.in[waiting_[counted_.arcs[i].destination]++] = i;
}

// Finds blocks with a single real arc, arcs that exceptions take, and blocks that only exceptions
// can reach. The exits of a block that ends in a call are exceptions unless they fall through.
void FunctionArcs::classify(uint32_t blocks) {
  unconditional_.assign(blocks, 0);
  throws_.assign(counted_.arcs.size(), false);
  bool any_throw = false;
  for (uint32_t block = 0; block < blocks; ++block) {
    uint32_t real = 0;
    bool call = false;
    for (const CountedArc &arc : counted_.out_of(block)) {
      real += !(arc.flags & arc_fake);
      call |= (arc.flags & arc_fake) && block != 0;
    }
    unconditional_[block] = real == 1;
    if (!call)
      continue;
    for (uint32_t i = counted_.first_out[block]; i < counted_.first_out[block + 1]; ++i)
      if (!(counted_.arcs[i].flags & (arc_fake | arc_fall_through))) {
        throws_[i] = true;
        any_throw = true;
      }
  }
  exceptional_.assign(blocks, any_throw);
  if (!any_throw)
    return;
  exceptional_[0] = false;
  waiting_.assign(1, 0);
  while (!waiting_.empty()) {
    const uint32_t block = waiting_.back();
    waiting_.pop_back();
    for (uint32_t i = counted_.first_out[block]; i < counted_.first_out[block + 1]; ++i) {
      const CountedArc &arc = counted_.arcs[i];
      if ((arc.flags & arc_fake) || throws_[i] || !exceptional_[arc.destination])
        continue;
      exceptional_[arc.destination] = false;
      waiting_.push_back(arc.destination);
    }
  }
}

} // namespace tally
