// Profiles of two values, one before and one after a change.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "model/stack_profile.h"
#include "support/result.h"

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

// What tells a function, line or object from others: name, file, object and line.
using Identity = std::tuple<std::string, std::string, std::string, uint32_t>;
// Pairs what only `before` has with what only `after` has: builds in different directories have
// different paths, and functions move to other files. Two of the same name and line are a pair if
// their objects have the same base name and the paths of their files end alike, in eight components
// or, if there is none, in seven, and so on; otherwise if their files have the same base name, and
// finally by the name alone. At each of these steps, what is not unique on both sides is not
// paired. Without a name, objects of the same base name are pairs.
std::map<Identity, Identity> moved(const std::set<Identity> &before,
                                   const std::set<Identity> &after);

// Returns a profile with the stacks of both, which counts the first value of each. These must be
// the same event. Functions are equal if name, file and object are, or if they are moved(); the
// line of their declaration, which an edit moves, is that of `after`. Files and objects count only
// if both_know() them. Only stacks remain: threads, parts, times, addresses and lines within
// functions do not.
Result<StackProfile> difference(const StackProfile &before, const StackProfile &after);

} // namespace tally
