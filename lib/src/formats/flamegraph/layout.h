// Computes the layout of a flame graph in samples and rows, without pixels.
#pragma once

#include <cstdint>
#include <vector>

#include "model/stack_profile.h"
#include "support/result.h"
#include "transform/frame_tree.h"

namespace tally::flamegraph {

struct Limits {
  uint32_t per_mille = 1;  // thousandths of the total; narrower frames are not drawn
  uint32_t boxes = 10'000; // draws only so many, the widest; limits the size of the file
  uint32_t depth = 250;    // rows above the root's row
};

// A frame that covers [begin, begin + value) of the total range [0, total). The boxes of a caller's
// callees stand side by side from the caller's `begin` on. These boxes and the caller's own samples
// (`self`) fill the caller's box.
struct Box {
  uint32_t frame = none<uint32_t>; // index in frames; none for the root, which has all samples
  uint32_t depth = 0;              // the row; the root's is 0
  int64_t begin = 0, value = 0;
  int64_t self = 0;
  int64_t before = 0, self_before = 0; // in a difference: the same before the change
  bool inlined = false;                // the function was inlined in all these samples
  bool cut = false;                    // some of its callees lie beyond the deepest row
};

struct Layout {
  std::vector<TreeFrame> frames;
  std::vector<Box> boxes; // callers before callees, from left to right; the root first
  std::vector<int64_t> self_of_frames;
  int64_t total = 0;
  // The profile has an event before and after a change, see differing_event(). The boxes are those
  // after it.
  bool is_difference = false;
  int64_t total_before = 0;
  // Boxes without samples after the change: their number, and the samples of the outermost of them.
  uint64_t gone = 0;
  int64_t gone_value = 0;
  uint32_t depth = 0; // the depth of the topmost box
  // The numbers of boxes that are not drawn because they are too narrow or too deep, and the
  // samples of the outermost of them.
  uint64_t narrow = 0, deep = 0;
  int64_t narrow_value = 0, deep_value = 0;
};

// Lays out the profile's first value or, of a difference, the value after the change, for all
// threads and parts together. The result refers to the profile's strings, so the profile must
// outlive it.
Result<Layout> lay_out(const StackProfile &profile, const Limits &limits = {});

} // namespace tally::flamegraph
