#include "coverage/llvm_mcdc.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <set>
#include <tuple>

#include "support/sort.h"

namespace tally::llvm {

namespace {

using Kind = MappingRegion::Kind;

constexpr size_t most_conditions = 64;
// Pairs of vectors are compared, so that more would take too long.
constexpr size_t most_vectors = 4096;

// A decision whose conditions are being found.
struct OpenDecision {
  const CountedRegion *region;
  std::vector<const CountedRegion *> conditions;
  std::set<int32_t> ids;
  std::set<uint32_t> files; // that are expanded in it

  bool contains(const MappingRegion &inner) const {
    const MappingRegion &outer = region->region;
    return (inner.file == outer.file && inner.start >= outer.start && inner.end <= outer.end) ||
           files.contains(inner.file);
  }
  bool take(const CountedRegion &condition) {
    if (conditions.size() >= region->region.conditions || !contains(condition.region) ||
        !ids.insert(condition.region.id).second)
      return false;
    conditions.insert(condition.region.id == 0 ? conditions.begin() : conditions.end(), &condition);
    return true;
  }
  bool is_whole() const { return conditions.size() == region->region.conditions; }
};

// The conditions of a decision as a graph, in which each test vector is a way from the first one to
// a result. Clang numbers the ways: LLVM's documents call the numbers those of test vectors.
class Ways {
public:
  using Next = std::array<int32_t, 2>; // by the value of the condition; -1 is a result

  explicit Ways(std::vector<Next> next) : next_(std::move(next)), nodes_(next_.size()) {}

  // Numbers the ways. Returns nothing if the graph has a cycle or too many ways.
  std::optional<size_t> number(size_t most) {
    for (const Next &next : next_)
      for (const int32_t id : next) {
        if (id >= static_cast<int32_t>(next_.size()))
          return std::nullopt;
        if (id >= 0)
          ++nodes_[static_cast<size_t>(id)].open;
      }
    if (nodes_.empty() || nodes_[0].open != 0)
      return std::nullopt;
    nodes_[0].width = 1;
    std::vector<std::tuple<int64_t, size_t, size_t, size_t>> leaves; // widest first, then in order
    std::vector<size_t> queue{0};
    for (size_t at = 0; at < queue.size(); ++at) {
      Node &node = nodes_[queue[at]];
      for (const size_t value : {0U, 1U}) {
        const int32_t id = next_[queue[at]][value];
        if (id < 0) {
          leaves.emplace_back(-static_cast<int64_t>(node.width), leaves.size(), queue[at], value);
          continue;
        }
        Node &target = nodes_[static_cast<size_t>(id)];
        node.first[value] = target.width;
        target.width += node.width;
        if (target.width > most)
          return std::nullopt;
        if (--target.open == 0)
          queue.push_back(static_cast<size_t>(id));
      }
    }
    sort_stably(leaves);
    size_t count = 0;
    for (const auto &[width, order, id, value] : leaves) {
      nodes_[id].first[value] = count;
      count += static_cast<size_t>(-width);
    }
    return queue.size() == nodes_.size() && count <= most ? std::optional(count) : std::nullopt;
  }

  // Calls visit(number, evaluated, values, result) for each way, with masks of conditions by id.
  template <class Visit> void each(Visit visit) const { follow(0, 0, 0, 0, visit); }

private:
  struct Node {
    size_t open = 0;  // ways in that are not numbered yet
    size_t width = 0; // the number of ways in
    std::array<size_t, 2> first{};
  };

  template <class Visit>
  void follow(size_t id, size_t number, uint64_t evaluated, uint64_t values, Visit &visit) const {
    evaluated |= uint64_t{1} << id;
    for (const size_t value : {0U, 1U}) {
      const uint64_t with = values | uint64_t{value} << id;
      const size_t at = number + nodes_[id].first[value];
      const int32_t next = next_[id][value];
      if (next >= 0)
        follow(static_cast<size_t>(next), at, evaluated, with, visit);
      else
        visit(at, evaluated, with, value != 0);
    }
  }

  std::vector<Next> next_;
  std::vector<Node> nodes_;
};

struct Vector {
  uint64_t evaluated, values; // by id
};

// Returns nothing if the decision is damaged or too large.
std::optional<McdcCoverage> covered(const OpenDecision &decision, const std::string &bitmap) {
  const size_t count = decision.conditions.size();
  if (count == 0 || count > most_conditions)
    return std::nullopt;
  std::vector<Ways::Next> next(count);
  McdcCoverage out;
  out.terms = static_cast<uint32_t>(count);
  std::vector<size_t> position(count); // of each id
  for (size_t i = 0; i < count; ++i) {
    const MappingRegion &condition = decision.conditions[i]->region;
    const auto id = static_cast<size_t>(condition.id);
    if (condition.id < 0 || id >= count)
      return std::nullopt;
    next[id] = {condition.next_if_false, condition.next_if_true};
    position[id] = i;
    if (condition.count.kind == Counter::Kind::zero ||
        condition.false_count.kind == Counter::Kind::zero)
      out.folded |= uint64_t{1} << i;
  }
  Ways ways(std::move(next));
  const size_t end = decision.region->region.bitmap_index;
  const auto total = ways.number(end);
  if (!total)
    return std::nullopt;
  std::array<std::vector<Vector>, 2> ran; // by result
  ways.each([&](size_t number, uint64_t evaluated, uint64_t values, bool result) {
    const size_t bit = end - *total + number;
    if (bit / 8 < bitmap.size() && ((static_cast<unsigned char>(bitmap[bit / 8]) >> (bit % 8)) & 1))
      ran[result].push_back({evaluated, values});
  });
  if (ran[0].size() + ran[1].size() > most_vectors)
    return std::nullopt;
  for (const Vector &a : ran[0])
    for (const Vector &b : ran[1])
      if (const uint64_t differing = (a.values ^ b.values) & a.evaluated & b.evaluated;
          std::has_single_bit(differing))
        out.covered |= uint64_t{1} << position[static_cast<size_t>(std::countr_zero(differing))];
  out.covered &= ~out.folded;
  return out;
}

} // namespace

Decisions decisions_of(const CountedFunction &function) {
  Decisions out;
  std::vector<OpenDecision> open;
  for (const CountedRegion &each : function.regions) {
    const MappingRegion &region = each.region;
    if (region.kind == Kind::decision) {
      open.push_back({&each, {}, {}, {}});
    } else if (region.kind == Kind::expansion) {
      const auto at = std::ranges::find_if(
          open, [&](const OpenDecision &decision) { return decision.contains(region); });
      if (at != open.end())
        at->files.insert(region.expanded);
    } else if (region.is_condition) {
      const auto at =
          std::ranges::find_if(open, [&](OpenDecision &decision) { return decision.take(each); });
      if (at == open.end() || !at->is_whole())
        continue;
      const MappingRegion &decided = at->region->region;
      if (const auto coverage =
              function.has_other_bitmap ? std::nullopt : covered(*at, function.bitmap))
        out.decisions.push_back({decided.file, decided.start, decided.end, *coverage});
      else
        ++out.left_out;
      open.erase(at);
    }
  }
  out.left_out += open.size();
  return out;
}

} // namespace tally::llvm
