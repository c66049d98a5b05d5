#include "coverage/llvm_mcdc.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "support/hash.h"
#include "support/sort.h"

namespace tally::llvm {

namespace {

using Kind = MappingRegion::Kind;

constexpr size_t most_conditions = 64;
// Pairs of vectors are compared, so that more would take too long.
constexpr size_t most_vectors = 4096;

// A decision whose conditions are being found.
struct OpenDecision {
  const CountedRegion *region = nullptr;
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

// The decisions whose conditions are being found. Clang sorts the regions by file and position, and
// gives each expansion a file of its own.
class OpenDecisions {
public:
  void open(const CountedRegion &region) {
    all_.push_back({&region, {}, {}, {}});
    reaching(region.region).push_back(all_.size() - 1);
  }
  void expand(const MappingRegion &expansion) {
    for (const size_t i : reaching(expansion))
      if (all_[i].contains(expansion)) {
        all_[i].files.insert(expansion.expanded);
        reaching_[expansion.expanded].push_back(i);
        break;
      }
  }
  // Returns the decision that the condition completes, if it completes one.
  std::optional<OpenDecision> take(const CountedRegion &condition) {
    for (const size_t i : reaching(condition.region)) {
      if (!all_[i].take(condition))
        continue;
      if (!all_[i].is_whole())
        break;
      ++completed_;
      return std::exchange(all_[i], {});
    }
    return std::nullopt;
  }
  size_t left() const { return all_.size() - completed_; }

private:
  // Returns the decisions that may contain a region, outer ones first. No source nests more than
  // `deepest`: each further one would make all regions slow.
  std::vector<size_t> &reaching(const MappingRegion &region) {
    constexpr size_t deepest = 64;
    std::vector<size_t> &in_file = reaching_[region.file];
    std::erase_if(in_file, [&](size_t i) {
      const CountedRegion *const outer = all_[i].region;
      return !outer || (outer->region.file == region.file && outer->region.end <= region.start);
    });
    if (in_file.size() > deepest)
      in_file.erase(in_file.begin(), in_file.end() - deepest);
    return in_file;
  }

  std::vector<OpenDecision> all_; // those that were completed have no region
  size_t completed_ = 0;
  SeededMap<uint32_t, std::vector<size_t>> reaching_; // by file
};

} // namespace

Decisions decisions_of(const CountedFunction &function) {
  Decisions out;
  OpenDecisions open;
  for (const CountedRegion &each : function.regions) {
    const MappingRegion &region = each.region;
    if (region.kind == Kind::decision) {
      open.open(each);
    } else if (region.kind == Kind::expansion) {
      open.expand(region);
    } else if (region.is_condition) {
      const auto whole = open.take(each);
      if (!whole)
        continue;
      const MappingRegion &decided = whole->region->region;
      if (const auto coverage =
              function.has_other_bitmap ? std::nullopt : covered(*whole, function.bitmap))
        out.decisions.push_back({decided.file, decided.start, decided.end, *coverage});
      else
        ++out.left_out;
    }
  }
  out.left_out += open.left();
  return out;
}

} // namespace tally::llvm
