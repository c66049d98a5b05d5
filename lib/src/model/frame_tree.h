// Stacks as a tree of functions: what is drawn of them, and written stack by stack.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <tally/result.h>
#include <tally/stack_profile.h>

namespace tally {

// A function as a frame: those that are equal here are one.
struct TreeFrame {
  std::string_view name; // "" becomes "[unknown]"
  std::string_view file, object;
  uint32_t line = 0; // of its declaration; 0: not known
  friend auto operator<=>(const TreeFrame &, const TreeFrame &) = default;
};

// Inlined functions are nodes of their own. Nodes stand in pre-order, children in the order of
// their frames, frames in that of their names: equal profiles give equal trees, whatever their ids.
class FrameTree {
public:
  // Views of the profile's strings: it outlives the tree.
  static Result<FrameTree> of(const StackProfile &profile);

  const std::vector<TreeFrame> &frames() const { return frames_; }
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }

  struct Node {
    uint32_t parent = none<uint32_t>; // smaller than the node; none: an outermost frame
    uint32_t frame = 0;               // in frames()
    uint32_t depth = 0;               // 0: outermost
    bool inlined = false;             // wherever it stands here
  };
  const Node &operator[](uint32_t node) const { return nodes_[node]; }

  // The node of a sample's leaf; of a sample without a stack one that is called "[unknown]".
  uint32_t leaf(StackId stack) const {
    return stack == none<StackId> ? stackless_ : leaves_[index_of(stack)];
  }

private:
  void name_frames(const StackProfile &profile);
  Result<void> add_nodes(const StackProfile &profile);
  void put_in_order();

  std::vector<TreeFrame> frames_;
  std::vector<uint32_t> frame_of_; // by SourceFunctionId
  uint32_t unknown_ = 0;           // the frame of what has no function
  std::vector<Node> nodes_;
  std::vector<uint32_t> leaves_; // by StackId
  uint32_t stackless_ = none<uint32_t>;
};

} // namespace tally
