#include "formats/flamegraph/layout.h"

#include <algorithm>
#include <utility>

#include "transform/difference.h"

namespace tally::flamegraph {

namespace {

struct Weights {
  std::vector<int64_t> self, total; // indexed by node
  int64_t all = 0;
};

Result<Weights> weights_of(const StackProfile &profile, const FrameTree &tree, size_t column) {
  Weights weights;
  weights.self.assign(tree.size(), 0);
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    const int64_t value = sample.values[column];
    if (value < 0)
      return fail(ErrorCode::invalid_input, "a sample has a negative value");
    // This cannot overflow: validate() has checked that the sum of all samples fits in 63 bits.
    weights.self[tree.leaf(sample.stack)] += value;
    weights.all += value;
  }
  weights.total = weights.self;
  for (uint32_t node = tree.size(); node-- > 0;)
    if (const uint32_t parent = tree[node].parent; parent != none<uint32_t>)
      weights.total[parent] += weights.total[node];
  return weights;
}

// Returns which nodes are drawn. If a node is drawn, its callers are drawn, too, because they are
// at least as wide and nearer to the root.
std::vector<bool> nodes_to_draw(const FrameTree &tree, const Weights &weights,
                                const Limits &limits) {
  const int64_t narrowest =
      std::max<int64_t>(1, weights.all / 1000 * limits.per_mille +
                               (weights.all % 1000 * limits.per_mille + 999) / 1000);
  std::vector<uint32_t> wide;
  for (uint32_t node = 0; node < tree.size(); ++node)
    if (weights.total[node] >= narrowest && tree[node].depth < limits.depth)
      wide.push_back(node);
  if (wide.size() > limits.boxes) {
    const auto last = wide.begin() + static_cast<std::ptrdiff_t>(limits.boxes);
    std::nth_element(wide.begin(), last, wide.end(), [&](uint32_t a, uint32_t b) {
      // Ties go to the smaller number, because callers have smaller numbers than their callees.
      return weights.total[a] != weights.total[b] ? weights.total[a] > weights.total[b] : a < b;
    });
    wide.erase(last, wide.end());
  }
  std::vector<bool> drawn(tree.size(), false);
  for (const uint32_t node : wide)
    drawn[node] = true;
  return drawn;
}

} // namespace

Result<Layout> lay_out(const StackProfile &profile, const Limits &limits) {
  if (profile.value_types().empty())
    return fail(ErrorCode::no_data, "the profile counts nothing");
  TALLY_TRY(tree, FrameTree::of(profile));
  const bool is_difference = differing_event(profile).has_value();
  TALLY_TRY(weights, weights_of(profile, tree, is_difference ? 1 : 0));
  if (weights.all == 0)
    return fail(ErrorCode::no_data, is_difference
                                        ? "holds no samples after the change: every count is 0"
                                        : "holds no samples: every count is 0");
  Weights before;
  if (is_difference) {
    TALLY_TRY(found, weights_of(profile, tree, 0));
    before = std::move(found);
  }
  const std::vector<bool> drawn = nodes_to_draw(tree, weights, limits);

  Layout layout;
  layout.frames = tree.frames();
  layout.self_of_frames.assign(layout.frames.size(), 0);
  layout.total = weights.all;
  layout.is_difference = is_difference;
  layout.total_before = before.all;
  layout.boxes.push_back({.depth = 0, .value = weights.all, .before = before.all}); // the root
  std::vector<uint32_t> box_of(tree.size()); // the box of each node that is drawn
  std::vector<int64_t> filled{0};            // for each box, where its next callee begins
  for (uint32_t node = 0; node < tree.size(); ++node) {
    const FrameTree::Node &at = tree[node];
    layout.self_of_frames[at.frame] += weights.self[node];
    const bool is_root = at.parent == none<uint32_t>;
    if (weights.total[node] == 0) {
      if (is_difference && before.total[node] > 0) {
        ++layout.gone;
        if (is_root || weights.total[at.parent] > 0)
          layout.gone_value += before.total[node];
      }
      continue;
    }
    const bool on_drawn = is_root || drawn[at.parent];
    const uint32_t caller = is_root ? 0 : box_of[at.parent];
    // Callees that are not drawn still occupy their range.
    const int64_t begin = on_drawn ? filled[caller] : 0;
    if (on_drawn)
      filled[caller] += weights.total[node];
    if (!drawn[node]) {
      const bool deep = at.depth >= limits.depth;
      ++(deep ? layout.deep : layout.narrow);
      if (on_drawn) {
        (deep ? layout.deep_value : layout.narrow_value) += weights.total[node];
        layout.boxes[caller].cut |= deep;
      }
      continue;
    }
    box_of[node] = static_cast<uint32_t>(layout.boxes.size());
    filled.push_back(begin);
    Box box{.frame = at.frame,
            .depth = at.depth + 1,
            .begin = begin,
            .value = weights.total[node],
            .self = weights.self[node],
            .inlined = at.inlined};
    if (is_difference) {
      box.before = before.total[node];
      box.self_before = before.self[node];
    }
    layout.boxes.push_back(box);
    layout.depth = std::max(layout.depth, at.depth + 1);
  }
  return layout;
}

} // namespace tally::flamegraph
