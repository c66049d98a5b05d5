// Presents stacks as a tree of functions, which is drawn and written stack by stack.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/stack_profile.h"
#include "support/result.h"

namespace tally {

// A function as a frame. Functions with equal fields share one frame.
struct TreeFrame {
  std::string_view name; // "" becomes "[unknown]"
  std::string_view file, object;
  uint32_t line = 0; // of its declaration; 0 if unknown
  friend auto operator<=>(const TreeFrame &, const TreeFrame &) = default;
};

// Inlined functions have nodes of their own. Nodes are in pre-order, children in the order of their
// frames, and frames in the order of their names; so equal profiles give equal trees, whatever
// their ids are.
class FrameTree {
public:
  // The tree holds views of the profile's strings, so the profile must outlive it.
  static Result<FrameTree> of(const StackProfile &profile);

  const std::vector<TreeFrame> &frames() const { return frames_; }
  uint32_t frame_of(SourceFunctionId function) const { return frame_of_[index_of(function)]; }
  uint32_t unknown_frame() const { return unknown_; } // of code without a function
  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }

  struct Node {
    uint32_t parent = none<uint32_t>; // smaller than the node's index; none for an outermost frame
    uint32_t frame = 0;               // in frames()
    uint32_t depth = 0;               // 0 for an outermost frame
    bool inlined = false;             // true if it is inlined in all stacks of this node
  };
  const Node &operator[](uint32_t node) const { return nodes_[node]; }

  // Returns the node of a sample's leaf; for a sample without a stack, a node named "[unknown]".
  uint32_t leaf(StackId stack) const {
    return stack == none<StackId> ? stackless_ : leaves_[index_of(stack)];
  }

private:
  void name_frames(const StackProfile &profile);
  Result<void> add_nodes(const StackProfile &profile);
  void put_in_order();

  std::vector<TreeFrame> frames_;
  std::vector<uint32_t> frame_of_; // by SourceFunctionId
  uint32_t unknown_ = 0;
  std::vector<Node> nodes_;
  std::vector<uint32_t> leaves_; // by StackId
  uint32_t stackless_ = none<uint32_t>;
};

} // namespace tally
