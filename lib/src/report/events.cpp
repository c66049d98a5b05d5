// Derived events: sums of counted ones, "Ir + 10 I1mr + 100 * ILmr".
#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/rows.h"
#include "support/checked.h"

namespace tally {

namespace {

// How often each event counts in a sum.
using Weights = std::vector<uint64_t>;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// InheritedExpr := Name | Number Space* ("*" Space*)? Name | InheritedExpr Space* "+" Space*
// InheritedExpr   (Callgrind's manual, "Callgrind Format Specification", grammar)
Result<Weights> weights_of(std::string_view formula, std::span<const std::string> events,
                           std::string_view name) {
  Weights weights(events.size(), 0);
  std::string_view rest = formula;
  const auto skip = [&] {
    while (!rest.empty() && is_blank(rest.front()))
      rest.remove_prefix(1);
  };
  const auto broken = [&](std::string_view what) {
    return fail(ErrorCode::invalid_input,
                fmt::format("in the formula '{}': expected {}, found '{}'", formula, what, rest),
                std::string(name));
  };
  while (true) {
    skip();
    uint64_t factor = 1;
    const auto [end, fault] = std::from_chars(rest.data(), rest.data() + rest.size(), factor);
    if (fault == std::errc::result_out_of_range)
      return broken("a number of 64 bits");
    rest.remove_prefix(static_cast<size_t>(end - rest.data()));
    skip();
    if (rest.starts_with('*')) {
      rest.remove_prefix(1);
      skip();
    }
    const size_t length = std::min(rest.find_first_of(" \t+*"), rest.size());
    const auto at = std::ranges::find(events, rest.substr(0, length));
    if (length == 0 || at == events.end())
      return broken("the name of a counted event");
    if (!checked_add(weights[static_cast<size_t>(at - events.begin())], factor))
      return broken("smaller numbers");
    rest.remove_prefix(length);
    skip();
    if (rest.empty())
      return weights;
    if (!rest.starts_with('+'))
      return broken("'+'");
    rest.remove_prefix(1);
  }
}

} // namespace

Result<FlatTable> table_of_event(FlatTable table, std::string_view event,
                                 const CostProfile &profile, SortBy sort) {
  Weights weights(table.events.size(), 0);
  const auto counted = std::ranges::find(table.events, event);
  if (counted != table.events.end()) {
    weights[static_cast<size_t>(counted - table.events.begin())] = 1;
  } else {
    const auto derived = profile.derived_events();
    const auto at = std::ranges::find_if(derived, [&](const CostEvent &each) {
      return profile.strings[each.name] == event && each.formula != StringId{};
    });
    if (at == derived.end()) {
      std::vector<std::string_view> names(table.events.begin(), table.events.end());
      for (const CostEvent &each : derived)
        if (each.formula != StringId{})
          names.push_back(profile.strings[each.name]);
      return fail(ErrorCode::invalid_argument, fmt::format("there is no event '{}' (there are: {})",
                                                           event, fmt::join(names, ", ")));
    }
    TALLY_TRY(parsed, weights_of(profile.strings[at->formula], table.events, event));
    weights = std::move(parsed);
  }
  bool fits = true;
  const auto sum = [&](std::vector<uint64_t> &values) {
    uint64_t all = 0;
    for (size_t e = 0; e < values.size(); ++e) {
      uint64_t product = 0;
      fits &= !__builtin_mul_overflow(values[e], weights[e], &product);
      fits &= checked_add(all, product);
    }
    values = {all};
  };
  sum(table.totals);
  for (FlatRow &row : table.rows) {
    sum(row.self);
    sum(row.inclusive);
  }
  for (CycleRow &cycle : table.cycles) {
    sum(cycle.self);
    sum(cycle.inclusive);
  }
  if (!fits)
    return fail(ErrorCode::overflow, "the costs add up to more than 64 bits hold",
                std::string(event));
  table.events = {std::string(event)};
  finish_rows(table, sort);
  return table;
}

} // namespace tally
