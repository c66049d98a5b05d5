// Finds the line with the highest cost in a row of a flat table.

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include <fmt/format.h>

#include "model/kernel_code.h"
#include "report/groups.h"
#include "report/report.h"
#include "support/checked.h"
#include "support/overflow.h"
#include "transform/stack_walk.h"

namespace tally {

namespace {

Result<void> check_kind(By by) {
  if (by == By::function || by == By::line)
    return {};
  return fail(ErrorCode::unsupported,
              fmt::format("is {} {}: only rows of functions and lines have a source location",
                          by == By::object ? "an" : "a", row_title(by)));
}

// Sums self and inclusive costs by key, and returns the key with the highest self cost. Among keys
// with equal self costs, the highest inclusive cost decides, and then the smallest key.
template <class Key> class Heaviest {
public:
  // Returns false if a sum exceeds 64 bits.
  bool add(const Key &key, uint64_t self, uint64_t inclusive) {
    auto &[own, all] = costs_[key];
    return checked_add(own, self) && checked_add(all, inclusive);
  }
  const Key *key() const {
    const auto at = std::ranges::max_element(
        costs_, [](const auto &a, const auto &b) { return a.second < b.second; });
    return at == costs_.end() ? nullptr : &at->first;
  }

private:
  std::map<Key, std::pair<uint64_t, uint64_t>> costs_;
};

// Recognizes the source lines that belong to a row.
class RowLines {
public:
  RowLines(const StackProfile &profile, By by, const FlatRow &row)
      : profile_(profile), by_(by), row_(row) {}

  bool holds(const SourceLine &line) const {
    const SourceFunction &function = profile_.functions()[line.function];
    const bool same_location = by_ == By::line
                                   ? text(line.file) == row_.file && line.line == row_.line
                                   : text(function.file) == row_.file;
    return same_location && text(function.name) == row_.name &&
           text(function.object) == row_.object;
  }

private:
  std::string_view text(StringId id) const { return profile_.strings[id]; }
  const StackProfile &profile_;
  By by_;
  const FlatRow &row_;
};

// Sums the costs of the row's lines. Also sums the self costs of the row's addresses that have no
// line, except addresses in the kernel; these sums are used if the row has no line. The inclusive
// cost of a line counts each stack once, even if the line occurs in it several times.
struct HotLines {
  using Line = std::pair<StringId, uint32_t>;
  const StackProfile &profile;
  const StackWeights &weights;
  const RowLines &wanted;
  Heaviest<Line> lines{};
  Heaviest<uint64_t> addresses{};
  bool fits = true;
  std::map<Line, uint32_t> depth{};

  void enter(StackId node) {
    const Location at = profile.location(profile.stack_location(node));
    for (const SourceLine &line : at.lines) {
      if (!wanted.holds(line))
        continue;
      const bool leaf = &line == &at.lines.front();
      const uint64_t self = leaf ? weights.self(node)[0] : 0;
      if (line.line > 0) {
        const bool first = depth[{line.file, line.line}]++ == 0;
        fits &= lines.add({line.file, line.line}, self, first ? weights.total(node)[0] : 0);
      } else if (self > 0 && at.address > 0 && !is_kernel_code(at.address)) {
        fits &= addresses.add(at.address, self, 0);
      }
    }
  }
  void leave(StackId node) {
    for (const SourceLine &line : profile.location(profile.stack_location(node)).lines)
      if (line.line > 0 && wanted.holds(line))
        --depth[{line.file, line.line}];
  }
};

} // namespace

Result<HotLocation> hot_location(const StackProfile &profile, By by, const FlatRow &row) {
  TALLY_CHECK(check_kind(by));
  TALLY_TRY(weights, StackWeights::of(profile));
  const RowLines wanted(profile, by, row);
  HotLines hot{profile, weights, wanted};
  walk_stacks(profile, weights, hot);
  if (!hot.fits)
    return lines_overflow();
  HotLocation out;
  if (const auto *line = hot.lines.key()) {
    out.file = profile.strings[line->first];
    out.line = line->second;
  } else if (const uint64_t *address = hot.addresses.key()) {
    out.address = *address;
  }
  return out;
}

Result<HotLocation> hot_location(const CostProfile &profile, By by, const FlatRow &row) {
  TALLY_CHECK(check_kind(by));
  Heaviest<std::pair<FileId, uint32_t>> lines;
  std::vector<uint64_t> costs(profile.events().size());
  bool fits = true;
  for (const CostBlock &block : profile.blocks()) {
    const CostFunction &function = profile.functions()[block.function];
    const std::string_view file =
        profile.strings[profile.files()[by == By::line ? block.file : function.file]];
    if (profile.strings[function.name] != row.name || file != row.file ||
        profile.strings[profile.objects()[function.object]] != row.object)
      continue;
    const auto add = [&](uint32_t line, uint64_t self) {
      if (line > 0 && (by == By::function || line == row.line))
        fits &= lines.add({block.file, line}, self, costs[0]);
    };
    for (uint32_t i = block.first_cost; i < block.last_cost; ++i) {
      profile.costs().get(i, costs);
      add(profile.cost_position(i).line, costs[0]);
    }
    for (uint32_t i = block.first_call; i < block.last_call; ++i) {
      profile.call_costs().get(i, costs);
      add(profile.call(i).from.line, 0);
    }
  }
  if (!fits)
    return lines_overflow();
  HotLocation out;
  if (const auto *line = lines.key()) {
    out.file = profile.strings[profile.files()[line->first]];
    out.line = line->second;
  }
  return out;
}

} // namespace tally
