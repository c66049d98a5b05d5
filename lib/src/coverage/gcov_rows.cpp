#include "coverage/gcov_rows.h"

#include <tuple>
#include <utility>
#include <vector>

#include "support/checked.h"

namespace tally {

namespace {

using Range = std::pair<uint32_t, uint32_t>; // half-open, into a column

// Returns a range with the elements of all ranges. Copies them to the column's end, unless they are
// adjacent already. Joins all ranges at once, because many functions may share a line.
template <class T, class RangeOf>
Range join_ranges(std::vector<T> &column, std::span<const GcovRow> rows, RangeOf range_of) {
  Range all;
  bool in_place = true;
  for (const GcovRow &row : rows) {
    const Range range = range_of(row);
    if (range.first == range.second)
      continue;
    if (all.first == all.second)
      all = range;
    else if (all.second == range.first)
      all.second = range.second;
    else
      in_place = false;
  }
  if (in_place)
    return all;
  const auto begin = static_cast<uint32_t>(column.size());
  for (const GcovRow &row : rows) {
    const Range range = range_of(row);
    for (uint32_t i = range.first; i < range.second; ++i) {
      const T each = column[i];
      column.push_back(each);
    }
  }
  return {begin, static_cast<uint32_t>(column.size())};
}

} // namespace

GcovRow joined(std::span<const GcovRow> rows, GcovCounts &counts, bool &fits) {
  GcovRow sum = rows[0];
  if (rows.size() == 1)
    return sum;
  bool has_details = sum.details != 0;
  for (const GcovRow &more : rows.subspan(1)) {
    fits &= !__builtin_add_overflow(sum.raw, more.raw, &sum.raw);
    fits &= !__builtin_add_overflow(sum.by_blocks, more.by_blocks, &sum.by_blocks);
    fits &= !__builtin_add_overflow(sum.at_least, more.at_least, &sum.at_least);
    fits &= !__builtin_add_overflow(sum.raw_at_least, more.raw_at_least, &sum.raw_at_least);
    sum.uncertain = saturated_sum(sum.uncertain, more.uncertain);
    sum.unexecuted |= more.unexecuted;
    sum.has_blocks |= more.has_blocks;
    has_details |= more.details != 0;
  }
  std::tie(sum.first_branch, sum.last_branch) =
      join_ranges(counts.branches, rows,
                  [](const GcovRow &row) { return Range(row.first_branch, row.last_branch); });
  if (!has_details)
    return sum;
  const auto column = [&](auto &of, uint32_t GcovDetails::*first, uint32_t GcovDetails::*last) {
    return join_ranges(of, rows, [&](const GcovRow &row) {
      const GcovDetails &details = counts.details[row.details];
      return Range(details.*first, details.*last);
    });
  };
  GcovDetails all;
  std::tie(all.first_block, all.last_block) =
      column(counts.blocks, &GcovDetails::first_block, &GcovDetails::last_block);
  std::tie(all.first_call, all.last_call) =
      column(counts.calls, &GcovDetails::first_call, &GcovDetails::last_call);
  std::tie(all.first_condition, all.last_condition) =
      column(counts.conditions, &GcovDetails::first_condition, &GcovDetails::last_condition);
  sum.details = static_cast<uint32_t>(counts.details.size());
  counts.details.push_back(all);
  return sum;
}

} // namespace tally
