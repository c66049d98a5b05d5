// Enumerates where threads can be in the flow graph of a function, while they are stopped in it.
//
// A thread that is inside of a block has entered the block and not left it, so the sum of the
// block's incoming arcs exceeds that of its outgoing arcs by one. Which block that is does not
// follow from the counters: each choice has a solution. The line of the pc leaves few choices, and
// most of these lead to negative counts.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "coverage/gcov_counts.h"
#include "model/coverage_graph.h"

namespace tally {

// Where a thread can be.
struct OpenBlock {
  uint32_t block = none<uint32_t>; // none: all that the thread has done so far is counted
  // Indexes of the block's lines, in the order of the notes: the first that perhaps has not begun,
  // and the first that surely has not.
  uint32_t first_perhaps = UINT32_MAX, first_not_begun = UINT32_MAX;
};

// Returns the choices for one frame. With `all`, returns all blocks of the function, for a frame
// whose line is no help.
std::vector<OpenBlock> open_blocks(const CoverageGraph &graph, const GraphFunction &function,
                                   const OpenFrame &frame, bool all = false);

// Calls visit() with each combination of one choice for each frame. Returns false, without a call,
// if there are more than `most` combinations.
template <class Visit>
bool for_each_combination(const std::vector<std::vector<OpenBlock>> &choices, size_t most,
                          Visit visit) {
  size_t count = 1;
  for (const auto &of_frame : choices) {
    if (of_frame.empty())
      return true;
    if (of_frame.size() > most / count)
      return false;
    count *= of_frame.size();
  }
  std::vector<OpenBlock> chosen(choices.size());
  for (size_t number = 0; number < count; ++number) {
    size_t rest = number;
    for (size_t i = 0; i < choices.size(); ++i) {
      chosen[i] = choices[i][rest % choices[i].size()];
      rest /= choices[i].size();
    }
    visit(std::span<const OpenBlock>(chosen));
  }
  return true;
}

} // namespace tally
