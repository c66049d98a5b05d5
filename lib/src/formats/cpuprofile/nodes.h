// The call tree of a profile of V8, and its samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/stack_profile.h"
#include "support/diagnostics.h"
#include "support/hash.h"
#include "support/json_tree.h"
#include "support/result.h"

namespace tally::cpuprofile {

// Returns whole nanoseconds of microseconds. An error if they do not fit in 62 bits.
Result<int64_t> time_of(const JsonValue &value);

class Nodes {
public:
  // `is_tree`: in the form before 2017, see FORMAT.md.
  Nodes(StackProfileBuilder &builder, bool is_tree) : builder_(builder), is_tree_(is_tree) {}

  // Adds a node. The caller is its index, if it is known.
  Result<void> add(const JsonValue &node, uint32_t caller = none<uint32_t>);
  // Finds the callers of all nodes by their lists of callees, or by the callers that they name.
  // Nodes that do not exist are an error, unless `are_missing` is given, which is then set.
  Result<void> find_callers(bool *are_missing = nullptr);

  uint32_t size() const { return static_cast<uint32_t>(nodes_.size()); }
  const JsonValue &operator[](uint32_t index) const { return nodes_[index].value; }
  Result<uint32_t> by_id(const JsonValue &id) const;
  bool contains(const JsonValue &id) const { return by_id_.contains(id.integer().value_or(-1)); }
  bool is_idle(uint32_t index) const;
  // Returns the stack of the samples of a node.
  Result<StackId> leaf_of(uint32_t index);
  // Does the same for samples at a line.
  Result<StackId> leaf_at(uint32_t index, uint32_t line);

private:
  struct Node {
    JsonValue value;
    uint32_t caller = none<uint32_t>; // the index of a node
    bool is_done = false;             // what follows is set
    uint32_t depth = 0;               // 1 for the root
    SourceFunctionId function = none<SourceFunctionId>;
    StackId stack = none<StackId>; // none for the root
    StackId leaf = none<StackId>;  // the stack of its samples, whose line may be known
  };

  JsonValue frame_of(const Node &node) const {
    return is_tree_ ? node.value : node.value["callFrame"];
  }
  Result<void> make_stacks(Node &node);
  StackId push(const Node &node, uint32_t line);

  StackProfileBuilder &builder_;
  bool is_tree_;
  std::vector<Node> nodes_;
  SeededMap<int64_t, uint32_t> by_id_;
};

struct NodeSample {
  uint32_t node = 0;    // none if it does not exist, so that its time is not counted
  uint32_t line = 0;    // 0 if it is unknown
  int64_t delta_ns = 0; // since the sample before
};

// Where samples belong.
struct SampleTrack {
  ThreadId thread = none<ThreadId>;
  int64_t begin_ns = 0;            // the time from which the first delta counts; not negative
  std::optional<int64_t> end_ns{}; // of the last sample, if it is known
};

// Adds the samples, with their times. A sample lasts until the next one. Returns the time in which
// nothing ran, which is not added.
Result<int64_t> add_samples(Nodes &nodes, std::span<const NodeSample> samples,
                            const SampleTrack &track, StackProfileBuilder &builder);
void note_idle(int64_t idle_ns, const std::string &source, Diagnostics &diagnostics);
void warn_of_negative_delta(const JsonValue &delta, const std::string &source,
                            Diagnostics &diagnostics);

} // namespace tally::cpuprofile
