// Makes a profile of one event, which may be derived: a sum of counted events such as "Ir + 10 I1mr
// + 100 * ILmr".

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "model/cost_profile.h"
#include "model/stack_profile.h"
#include "support/checked.h"
#include "support/text.h"
#include "transform/cost_copy.h"

namespace tally {

namespace {

// The factor of each event in a sum.
using Weights = std::vector<uint64_t>;

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Parses a formula. The grammar is that of Callgrind's manual, "Callgrind Format Specification":
//   InheritedExpr := Name | Number Space* ("*" Space*)? Name
//                  | InheritedExpr Space* "+" Space* InheritedExpr
Result<Weights> weights_of(std::string_view formula, std::span<const std::string_view> events,
                           std::string_view name) {
  Weights weights(events.size(), 0);
  std::string_view rest = formula;
  const auto skip = [&] {
    while (!rest.empty() && is_blank(rest.front()))
      rest.remove_prefix(1);
  };
  const auto broken = [&](std::string_view what) {
    return fail(ErrorCode::invalid_input,
                fmt::format("in the formula '{}' of event {}: expected {}, found '{}'", formula,
                            name, what, rest));
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

// Computes the weighted sums of a table's rows.
class Summing {
public:
  Summing(const CostTable &table, const Weights &weights)
      : table_(table), weights_(weights), row_(weights.size()) {}

  uint64_t of(uint32_t row) {
    table_.get(row, row_);
    return of(std::span<const uint64_t>(row_));
  }
  uint64_t of(std::span<const uint64_t> costs) {
    uint64_t all = 0;
    for (size_t e = 0; e < costs.size(); ++e) {
      uint64_t product = 0;
      fits_ &= !__builtin_mul_overflow(costs[e], weights_[e], &product);
      fits_ &= checked_add(all, product);
    }
    return all;
  }
  bool fits() const { return fits_; }

private:
  const CostTable &table_;
  const Weights &weights_;
  std::vector<uint64_t> row_;
  bool fits_ = true;
};

} // namespace

Result<std::vector<uint64_t>> event_weights(const CostProfile &profile, std::string_view event) {
  std::vector<std::string_view> names;
  for (const CostEvent &each : profile.events())
    names.push_back(profile.strings[each.name]);
  if (const auto at = std::ranges::find(names, event); at != names.end()) {
    Weights weights(names.size(), 0);
    weights[static_cast<size_t>(at - names.begin())] = 1;
    return weights;
  }
  std::vector<std::string_view> known = names;
  for (const CostEvent &each : profile.derived_events())
    if (const std::string_view formula = profile.strings[each.formula]; !formula.empty()) {
      known.push_back(profile.strings[each.name]);
      if (known.back() == event)
        return weights_of(formula, names, event);
    }
  return fail(ErrorCode::invalid_argument, fmt::format("there is no event '{}' (there are: {})",
                                                       event, joined_text(known, ", ")));
}

Result<CostProfile> one_event(const CostProfile &profile, std::string_view event) {
  TALLY_TRY(weights, event_weights(profile, event));
  std::string_view long_name;
  for (const auto &events : {profile.events(), profile.derived_events()})
    for (const CostEvent &each : events)
      if (profile.strings[each.name] == event)
        long_name = profile.strings[each.long_name];

  CostProfileBuilder out;
  out.add_event(event, long_name);
  copy_tables(profile, out);
  Summing costs(profile.costs(), weights), call_costs(profile.call_costs(), weights);
  std::vector<CostPartId> parts;
  for (CostPart part : profile.parts()) {
    part.descriptions.clear(); // these describe the simulation, for example, not this sum
    part.summary.clear();
    parts.push_back(copy_part(profile, std::move(part), out));
  }
  uint64_t cost = 0;
  const auto one = [&](Summing &sums) {
    return [&](uint32_t row) {
      cost = sums.of(row);
      return std::span<const uint64_t>(&cost, 1);
    };
  };
  copy_blocks(profile, out, parts, one(costs), one(call_costs));
  if (profile.has_inclusive())
    for (uint32_t f = 0; f < profile.functions().size(); ++f) {
      cost = costs.of(profile.inclusive(static_cast<CostFunctionId>(f)));
      out.set_inclusive(static_cast<CostFunctionId>(f), std::span(&cost, 1));
    }
  if (profile.has_exact_self() && event == profile.strings[profile.events()[0].name])
    for (uint32_t f = 0; f < profile.functions().size(); ++f)
      out.set_exact_self(static_cast<CostFunctionId>(f),
                         profile.exact_self(static_cast<CostFunctionId>(f)));
  if (!costs.fits() || !call_costs.fits())
    return fail(ErrorCode::overflow,
                fmt::format("the sum of the costs of event {} exceeds 64 bits", event));
  return out.finish();
}

Result<CostProfile> without_events(const CostProfile &profile, const std::vector<bool> &left_out) {
  std::vector<size_t> kept;
  CostProfileBuilder out;
  for (size_t e = 0; e < profile.events().size(); ++e)
    if (e >= left_out.size() || !left_out[e]) {
      const CostEvent &event = profile.events()[e];
      kept.push_back(e);
      out.add_event(profile.strings[event.name], profile.strings[event.long_name],
                    profile.strings[event.formula]);
    }
  if (kept.empty())
    return fail(ErrorCode::no_data, "has no event that could be read");
  for (const CostEvent &event : profile.derived_events())
    out.describe_event(profile.strings[event.name], profile.strings[event.long_name],
                       profile.strings[event.formula]);
  copy_tables(profile, out);
  out.set_creator(profile.strings[profile.creator]);
  const auto keep = [&](std::span<const uint64_t> all) {
    std::vector<uint64_t> some;
    some.reserve(kept.size());
    for (const size_t e : kept)
      some.push_back(e < all.size() ? all[e] : 0);
    return some;
  };
  std::vector<CostPartId> parts;
  for (CostPart part : profile.parts()) {
    const auto id = static_cast<CostPartId>(parts.size());
    if (!part.summary.empty()) {
      part.summary = keep(part.summary);
      if (part.summary == keep(profile.totals(id))) // what differed was left out
        part.summary.clear();
    }
    parts.push_back(copy_part(profile, std::move(part), out));
  }
  std::vector<uint64_t> all(profile.events().size()), some;
  const auto row_of = [&](const CostTable &table) {
    return [&](uint32_t row) {
      table.get(row, all);
      some = keep(all);
      return std::span<const uint64_t>(some);
    };
  };
  copy_blocks(profile, out, parts, row_of(profile.costs()), row_of(profile.call_costs()));
  return out.finish();
}

Result<StackProfile> one_event(StackProfile profile, std::string_view event) {
  std::vector<std::string_view> names;
  for (const ValueType &type : profile.value_types())
    names.push_back(profile.strings[type.type]);
  const auto at = std::ranges::find(names, event);
  if (at == names.end())
    return fail(ErrorCode::invalid_argument,
                fmt::format("there is no event '{}' (there {}: {})", event,
                            names.size() == 1 ? "is" : "are", joined_text(names, ", ")));
  StackProfileBuilder builder(std::move(profile));
  builder.keep_value(static_cast<size_t>(at - names.begin()));
  return builder.finish();
}

} // namespace tally
