#include "formats/llvm/segments.h"

#include <algorithm>
#include <optional>
#include <span>
#include <tuple>

#include "support/checked.h"
#include "support/memory_limit.h"
#include "support/sort.h"

namespace tally::llvm {

namespace {

using Kind = MappingRegion::Kind;

constexpr size_t most_active = size_t{1} << 14; // regions, one within the other

void unite_equal_places(std::vector<Stretch> &stretches) {
  sort_stably(stretches, {}, [](const Stretch &each) {
    // The outer one of two with the same start comes first.
    return std::tuple(each.start, ~each.end.line, ~each.end.column, each.kind);
  });
  size_t kept = 0;
  for (const Stretch &each : stretches) {
    if (kept > 0 && stretches[kept - 1].start == each.start &&
        stretches[kept - 1].end == each.end) {
      if (stretches[kept - 1].kind == each.kind)
        stretches[kept - 1].count = saturated_sum(stretches[kept - 1].count, each.count);
      continue;
    }
    stretches[kept++] = each;
  }
  stretches.resize(kept);
}

class Sweep {
public:
  explicit Sweep(std::span<const Stretch> regions) : regions_(regions) {}

  std::optional<std::vector<SegmentCoverage>> run() {
    for (size_t i = 0; i < regions_.size(); ++i) {
      begin(regions_[i], i + 1 < regions_.size() ? &regions_[i + 1] : nullptr);
      if (active_.size() > most_active)
        return std::nullopt;
    }
    if (!active_.empty())
      end(0, std::nullopt);
    return std::move(out_);
  }

private:
  void begin(const Stretch &region, const Stretch *next) {
    const SourcePlace start = region.start;
    if (!active_.empty() && first_end_ <= start) {
      const auto ended = std::stable_partition(
          active_.begin(), active_.end(), [&](const Stretch *each) { return each->end > start; });
      end(static_cast<size_t>(ended - active_.begin()), start);
      if (!active_.empty())
        first_end_ = std::ranges::min(active_, {}, &Stretch::end)->end;
    }
    const bool is_gap = region.kind == Kind::gap;
    const bool is_skipped = region.kind == Kind::skipped;
    if (start == region.end) {
      const bool has_no_count = is_skipped || !next;
      add(active_.empty() ? region : *active_.back(), start, !is_gap, has_no_count);
      if (has_no_count && !active_.empty())
        add(*active_.back(), start, false);
      return;
    }
    if (!next || next->start != start)
      add(region, start, !is_gap);
    first_end_ = active_.empty() ? region.end : std::min(first_end_, region.end);
    active_.push_back(&region);
  }

  // Ends the active regions from an index on, before `until`; all if it is none.
  void end(size_t first, std::optional<SourcePlace> until) {
    const auto end_of = [](const Stretch *each) { return each->end; };
    std::stable_sort(active_.begin() + static_cast<ptrdiff_t>(first), active_.end(),
                     [&](const Stretch *a, const Stretch *b) { return end_of(a) < end_of(b); });
    for (size_t i = first + 1; i < active_.size(); ++i) {
      const SourcePlace place = end_of(active_[i - 1]);
      if (until && place == *until)
        break;
      if (place == end_of(active_[i]))
        continue;
      // After one region has ended, the count is that of the one that ends next; of several, that
      // of the last.
      size_t last = i;
      while (last + 1 < active_.size() && end_of(active_[last + 1]) == end_of(active_[i]))
        ++last;
      add(*active_[last], place, false);
    }
    const Stretch &last = *active_.back();
    const SourcePlace place = last.end;
    if (first > 0 && place != *until)
      add(*active_[first - 1], place, false);
    else if (first == 0 && (!until || place != *until))
      add(last, place, false, true);
    active_.resize(first);
  }

  void add(const Stretch &region, SourcePlace start, bool is_entry, bool has_no_count = false) {
    const bool has_count = !has_no_count && region.kind != Kind::skipped;
    if (!out_.empty() && !is_entry && !has_no_count) {
      const SegmentCoverage &before = out_.back();
      if (before.has_count == has_count && before.count == region.count && !before.is_entry)
        return;
    }
    out_.push_back({start.line, start.column, has_count ? region.count : 0, has_count, is_entry,
                    has_count && region.kind == Kind::gap});
  }

  std::span<const Stretch> regions_;
  std::vector<const Stretch *> active_; // the innermost last
  SourcePlace first_end_;               // of the active ones, if there are any
  std::vector<SegmentCoverage> out_;
};

} // namespace

std::optional<std::vector<SegmentCoverage>> segments_of(std::vector<Stretch> stretches) {
  unite_equal_places(stretches);
  return Sweep(stretches).run();
}

std::vector<LineCoverage> lines_of(const std::vector<SegmentCoverage> &segments) {
  std::vector<LineCoverage> out;
  if (segments.empty())
    return out;
  const auto is_start = [](const SegmentCoverage &each) {
    return !each.is_gap && each.has_count && each.is_entry;
  };
  const SegmentCoverage *wrapped = nullptr; // the last one of an earlier line
  size_t at = 0;
  // A line in which no segment begins is like the one before it.
  for (uint32_t line = segments.front().line; line <= segments.back().line; ++line) {
    const size_t first = at;
    while (at < segments.size() && segments[at].line == line)
      ++at;
    const auto here = std::span(segments).subspan(first, at - first);
    const bool has_start = std::ranges::any_of(here, is_start);
    const bool begins_skipped = !here.empty() && !here.front().has_count && here.front().is_entry;
    bool is_code = !begins_skipped && ((wrapped && wrapped->has_count) || has_start);
    is_code |= std::ranges::any_of(
        here, [](const SegmentCoverage &each) { return each.is_entry && each.has_count; });
    // The region of a whole included file ends before the line behind the file's last one.
    is_code &= line != segments.back().line || here.size() != 1 || here.front().column > 1;
    if (is_code) {
      int64_t count = wrapped ? wrapped->count : 0;
      for (const SegmentCoverage &each : here)
        if (is_start(each))
          count = std::max(count, each.count);
      LineCoverage covered;
      covered.line = line;
      covered.count = count;
      MemoryLimit::tick();
      out.push_back(covered);
    }
    if (!here.empty())
      wrapped = &here.back();
  }
  return out;
}

} // namespace tally::llvm
