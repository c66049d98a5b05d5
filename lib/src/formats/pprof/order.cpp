#include "formats/pprof/order.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "support/trie_walk.h"

namespace tally::pprof {

namespace {

// Returns the rank of each string in sorted order, so that long strings are compared only once.
std::vector<uint32_t> ranks_of_strings(const StringPool &strings) {
  std::vector<uint32_t> by_text(strings.size()), rank(strings.size());
  std::iota(by_text.begin(), by_text.end(), 0U);
  std::ranges::sort(by_text, {}, [&](uint32_t i) { return strings[static_cast<StringId>(i)]; });
  for (uint32_t i = 0; i < by_text.size(); ++i)
    rank[by_text[i]] = i;
  return rank;
}

// Returns the locations in the stacks of samples.
std::vector<LocationId> locations_in_use(const StackProfile &profile) {
  std::vector<bool> stacks(profile.stack_count(), false), seen(profile.location_count(), false);
  for (size_t row = 0; row < profile.sample_count(); ++row)
    if (const StackId stack = profile.sample(row).stack; stack != none<StackId>)
      stacks[index_of(stack)] = true;
  std::vector<LocationId> out;
  for (uint32_t i = profile.stack_count(); i-- > 0;) { // callers come before their callees
    if (!stacks[i])
      continue;
    const auto stack = static_cast<StackId>(i);
    if (const StackId caller = profile.stack_caller(stack); caller != none<StackId>)
      stacks[index_of(caller)] = true;
    const LocationId location = profile.stack_location(stack);
    if (!seen[index_of(location)])
      out.push_back(location);
    seen[index_of(location)] = true;
  }
  return out;
}

std::vector<LocationId> locations_by_address(const StackProfile &profile) {
  std::vector<LocationId> out = locations_in_use(profile);
  const std::vector<uint32_t> text = ranks_of_strings(profile.strings);
  const auto key = [&](const SourceLine &line) {
    const SourceFunction &function = profile.functions()[line.function];
    return std::tuple(text[index_of(function.name)], text[index_of(function.system_name)],
                      text[index_of(function.file)], text[index_of(function.object)], function.line,
                      line.line, text[index_of(line.file)]);
  };
  std::ranges::sort(out, [&](LocationId a, LocationId b) {
    const Location first = profile.location(a), second = profile.location(b);
    if (first.address != second.address)
      return first.address < second.address;
    if (first.mapping != second.mapping)
      return first.mapping < second.mapping;
    return std::ranges::lexicographical_compare(first.lines, second.lines, {}, key, key);
  });
  return out;
}

// Returns the position of each stack in a depth-first walk, counted from 1. Callees of one caller
// are visited in the order of their locations.
std::vector<uint32_t> ranks_of_stacks(const StackProfile &profile,
                                      const std::vector<LocationId> &locations) {
  std::vector<uint32_t> location_rank(profile.location_count(), 0);
  for (uint32_t i = 0; i < locations.size(); ++i)
    location_rank[index_of(locations[i])] = i;
  const uint32_t stacks = profile.stack_count();
  std::vector<uint32_t> by_location(stacks), rank(stacks, 0);
  std::iota(by_location.begin(), by_location.end(), 0U);
  std::ranges::sort(by_location, {}, [&](uint32_t stack) {
    return location_rank[index_of(profile.stack_location(static_cast<StackId>(stack)))];
  });
  uint32_t visited = 0;
  walk_trie(
      stacks, by_location,
      [&](uint32_t stack) { return index_of(profile.stack_caller(static_cast<StackId>(stack))); },
      [&](uint32_t stack) { rank[stack] = ++visited; }, [](uint32_t) {});
  return rank;
}

std::vector<size_t> samples_by_stack(const StackProfile &profile,
                                     const std::vector<LocationId> &locations) {
  const std::vector<uint32_t> ranks = ranks_of_stacks(profile, locations);
  const auto rank_of = [&](size_t row) {
    const StackId stack = profile.sample(row).stack;
    return stack == none<StackId> ? 0 : ranks[index_of(stack)];
  };
  std::vector<size_t> first(ranks.size() + 2, 0), out(profile.sample_count());
  for (size_t row = 0; row < out.size(); ++row)
    ++first[rank_of(row) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  for (size_t row = 0; row < out.size(); ++row)
    out[first[rank_of(row)]++] = row;
  return out;
}

} // namespace

Order order_of(const StackProfile &profile) {
  Order out;
  out.locations = locations_by_address(profile);
  out.samples = samples_by_stack(profile, out.locations);
  return out;
}

} // namespace tally::pprof
