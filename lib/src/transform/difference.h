// Profiles of two values, one before and one after a change.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include <tally/result.h>
#include <tally/stack_profile.h>

namespace tally {

// Return the names of the two values: "before" and "after" for ticks, otherwise "NAME before" and
// "NAME after".
std::string before_name(std::string_view event);
std::string after_name(std::string_view event);

// Returns the event of a profile that has exactly these two values, in this order, and none for any
// other profile.
std::optional<std::string> differing_event(const StackProfile &profile);

// What tells equal names apart, such as the file, counts only if both sides know it. A side knows
// it if any of its functions or rows has it, or if it is empty, because it then has nothing to
// match.
template <class Rows, class Has>
bool both_know(const Rows &before, const Rows &after, const Has &has) {
  const auto knows = [&](const Rows &rows) {
    return rows.begin() == rows.end() || std::any_of(rows.begin(), rows.end(), has);
  };
  return knows(before) && knows(after);
}

// Returns a profile with the stacks of both, which counts the first value of each. These must be
// the same event. Functions are equal if name, file and object are; the line of their declaration,
// which an edit moves, is that of `after`. Files and objects count only if both_know() them. Only
// stacks remain: threads, parts, times, addresses and lines within functions do not.
Result<StackProfile> difference(const StackProfile &before, const StackProfile &after);

} // namespace tally
