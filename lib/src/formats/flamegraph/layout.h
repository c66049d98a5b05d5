// Where the frames of a flame graph lie, in samples and rows; nothing of pixels.
#pragma once

#include <cstdint>
#include <vector>

#include <tally/result.h>
#include <tally/stack_profile.h>

#include "model/frame_tree.h"

namespace tally::flamegraph {

struct Limits {
  uint32_t per_mille = 1;  // of the whole: what is narrower is not drawn
  uint32_t boxes = 10'000; // the widest ones; bounds the file
  uint32_t depth = 250;    // rows above the root's
};

// A frame on [begin, begin + value) of the whole's [0, total). The boxes of one caller stand side
// by side from its begin on; they and its own samples (`self`) fill it.
struct Box {
  uint32_t frame = none<uint32_t>; // in frames; none: the root, all samples
  uint32_t depth = 0;              // row: the root's is 0
  int64_t begin = 0, value = 0;
  int64_t self = 0;
  bool inlined = false; // wherever it was called there
  bool cut = false;     // what it calls lies beyond the deepest row
};

struct Layout {
  std::vector<TreeFrame> frames;
  std::vector<Box> boxes; // callers before callees, from left to right; the root first
  std::vector<int64_t> self_of_frames;
  int64_t total = 0;
  uint32_t depth = 0; // of the highest box
  // What is not drawn: boxes, and the samples of the outermost of them.
  uint64_t narrow = 0, deep = 0;
  int64_t narrow_value = 0, deep_value = 0;
};

// Of the first value, all threads and parts together. Views of the profile's strings.
Result<Layout> lay_out(const StackProfile &profile, const Limits &limits = {});

} // namespace tally::flamegraph
