// Inclusive cost drawn from call arcs, where no stacks are known.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <tally/cost_profile.h>
#include <tally/result.h>

namespace tally {

// What the graph's nodes stand for.
enum class NodeKind : uint8_t { function, object };

// An arc's cost is that of all calls together, so an arc within a cycle (a strongly connected
// component; a function that calls itself is one, too) may hold the same cost many times. Of a
// node, per event: the larger of what enters it from outside its cycle and of its self cost plus
// what leaves the cycle from it. Both are lower bounds of the truth, and equal where there is no
// cycle and the data is whole; so recursion is never counted twice. All parts together.
class TALLY_API CallGraph {
public:
  struct Cycle {
    std::vector<uint32_t> nodes;
    std::vector<uint64_t> self, inclusive; // of the cycle as a whole, one for each event
  };

  // A sum beyond 64 bits is an error.
  static Result<CallGraph> of(const CostProfile &profile, NodeKind kind = NodeKind::function);

  // Nodes are numbered as the profile's functions, or objects.
  uint32_t size() const { return static_cast<uint32_t>(calls_.size()); }
  std::span<const uint64_t> self(uint32_t node) const { return row(self_, node); }
  std::span<const uint64_t> inclusive(uint32_t node) const { return row(inclusive_, node); }
  // Calls into the node, its own among them.
  uint64_t calls(uint32_t node) const { return calls_[node]; }
  // It has a cost, makes a call or is called. A name that is merely mentioned is not.
  bool is_used(uint32_t node) const { return used_[node]; }
  // Of two nodes or more; those inside count no call among themselves.
  std::span<const Cycle> cycles() const { return cycles_; }
  static constexpr uint32_t no_cycle = UINT32_MAX;
  uint32_t cycle_of(uint32_t node) const { return cycle_of_[node]; }
  // Every node is of one, those of no cycle too.
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
