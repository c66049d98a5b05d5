// Derives inclusive costs from call arcs, for profiles without stacks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/cost_profile.h"
#include "support/result.h"

namespace tally {

// The entities that the nodes represent.
enum class NodeKind : uint8_t { function, object };

// The call graph of a profile, over all parts together.
//
// The cost of an arc is the sum over all its calls, so an arc within a cycle (a strongly connected
// component, which includes a function that calls itself) may contain the same cost many times.
// Therefore the inclusive cost of a node, for each event, is the larger of two sums: the arcs that
// enter the node from outside of its cycle; and its self cost plus the arcs that leave the cycle
// from it. Both are lower bounds of the real cost, so recursion is never counted twice. The two
// sums are equal if there is no cycle and the data is complete. For functions of a profile that has
// inclusive costs (CostProfile::has_inclusive()), those costs are used instead.
class CallGraph {
public:
  struct Cycle {
    std::vector<uint32_t> nodes;
    std::vector<uint64_t> self, inclusive; // of the cycle as a whole; one for each event
  };

  // Builds the graph. Errors: overflow if a sum exceeds 64 bits; limit if nodes times events exceed
  // 2^28.
  static Result<CallGraph> of(const CostProfile &profile, NodeKind kind = NodeKind::function);

  // Builds the graph of groups of functions. `group_of` has the group of each function, by
  // CostFunctionId.
  static Result<CallGraph> of_groups(const CostProfile &profile, std::span<const uint32_t> group_of,
                                     uint32_t groups);

  // Returns the number of nodes. A node is the index of a function or object of the profile, or a
  // group.
  uint32_t size() const { return static_cast<uint32_t>(calls_.size()); }
  // Return the costs of a node, one for each event.
  std::span<const uint64_t> self(uint32_t node) const { return row(self_, node); }
  std::span<const uint64_t> inclusive(uint32_t node) const { return row(inclusive_, node); }
  // Returns the number of calls of the node, including those from itself.
  uint64_t calls(uint32_t node) const { return calls_[node]; }
  // Returns whether the node has a cost row, makes a call or is called. Files may also name
  // functions that have none of these.
  bool is_used(uint32_t node) const { return used_[node]; }
  // Returns the cycles of at least two nodes. Inclusive costs of such nodes leave out the calls
  // within the cycle.
  std::span<const Cycle> cycles() const { return cycles_; }
  static constexpr uint32_t no_cycle = UINT32_MAX;
  // Returns the index of the node's cycle in cycles(), or no_cycle.
  uint32_t cycle_of(uint32_t node) const { return cycle_of_[node]; }
  // Returns the number of the node's strongly connected component, which may be the node alone.
  uint32_t component_of(uint32_t node) const { return component_[node]; }
  bool same_component(uint32_t a, uint32_t b) const { return component_[a] == component_[b]; }

private:
  struct Arcs;
  std::span<const uint64_t> row(const std::vector<uint64_t> &matrix, uint32_t node) const {
    return std::span(matrix).subspan(size_t{node} * width_, width_);
  }
  void find_components(const Arcs &arcs);

  size_t width_ = 0; // events
  std::vector<uint64_t> self_, inclusive_, calls_;
  std::vector<bool> used_;
  std::vector<uint32_t> component_, cycle_of_;
  std::vector<Cycle> cycles_;
};

} // namespace tally
