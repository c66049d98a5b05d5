// The stacks of a profile as the format holds them: frames with a line, each below its caller.
#pragma once

#include <cstdint>
#include <vector>

#include "model/stack_profile.h"
#include "support/result.h"
#include "transform/frame_tree.h"

namespace tally::firefox {

struct CodeFrame {
  uint32_t function = 0;     // in FrameTree::frames()
  uint32_t line = 0;         // 0 if unknown
  uint32_t inline_depth = 0; // how many functions of the same address contain it
  friend bool operator==(const CodeFrame &, const CodeFrame &) = default;
};

class CodeTable {
public:
  static Result<CodeTable> of(const StackProfile &profile, const FrameTree &tree);

  struct Node {
    uint32_t caller = none<uint32_t>; // smaller than the node's index; none for an outermost frame
    uint32_t frame = 0;
  };
  const Node &node(uint32_t index) const { return nodes_[index]; }
  const CodeFrame &frame(uint32_t index) const { return frames_[index]; }
  // Returns the node of a sample's leaf; for a sample without a stack, one of an unknown function.
  uint32_t leaf(StackId stack) const {
    return stack == none<StackId> ? stackless_ : leaves_[index_of(stack)];
  }
  // Returns whether `a` comes before `b`, where both are stacks of the same functions.
  bool is_before(uint32_t a, uint32_t b) const;
  // Whether lines were left out because they are in another file than their function.
  bool lost_lines() const { return lost_lines_; }

private:
  std::vector<CodeFrame> frames_;
  std::vector<Node> nodes_;
  std::vector<uint32_t> leaves_; // by StackId
  uint32_t stackless_ = 0;
  bool lost_lines_ = false;
};

} // namespace tally::firefox
