#include "transform/difference.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "support/path.h"

namespace tally {

namespace {

constexpr std::string_view plain_event = "ticks";

// Adds the functions and stacks of several profiles to a builder.
class StackUnion {
public:
  StackUnion(StackProfileBuilder &to, bool with_files, bool with_objects)
      : to_(to), with_files_(with_files), with_objects_(with_objects) {}

  // Makes functions of `before` the same as those of `after` that they moved to.
  void pair(const StackProfile &before, const StackProfile &after) {
    moved_ = moved(identities_in(before), identities_in(after));
  }

  // Adds the first value of all samples as value `column` of two.
  void add(const StackProfile &profile, size_t column) {
    std::vector<SourceFunctionId> functions;
    for (const SourceFunction &function : profile.functions())
      functions.push_back(function_of(profile, function));
    std::vector<LocationId> locations;
    std::vector<SourceLine> lines;
    for (uint32_t i = 0; i < profile.location_count(); ++i) {
      lines.clear();
      for (const SourceLine &line : profile.location(static_cast<LocationId>(i)).lines)
        lines.push_back({functions[index_of(line.function)], {}, 0});
      locations.push_back(to_.add_location(none<MappingId>, 0, lines));
    }
    std::vector<StackId> stacks;
    for (uint32_t i = 0; i < profile.stack_count(); ++i) { // callers precede their callees
      const auto stack = static_cast<StackId>(i);
      const StackId caller = profile.stack_caller(stack);
      stacks.push_back(to_.push(caller == none<StackId> ? caller : stacks[index_of(caller)],
                                locations[index_of(profile.stack_location(stack))]));
    }
    for (size_t row = 0; row < profile.sample_count(); ++row) {
      const Sample sample = profile.sample(row);
      std::array<int64_t, 2> values{};
      values.at(column) = sample.values.front();
      to_.add_sample(sample.stack == none<StackId> ? sample.stack : stacks[index_of(sample.stack)],
                     none<ThreadId>, none<PartId>, values);
    }
  }

private:
  Identity identity_of(const StackProfile &profile, const SourceFunction &function) const {
    return {std::string(profile.strings[function.name]),
            with_files_ ? std::string(profile.strings[function.file]) : "",
            with_objects_ ? std::string(profile.strings[function.object]) : "", 0};
  }
  std::set<Identity> identities_in(const StackProfile &profile) const {
    std::set<Identity> out;
    for (const SourceFunction &function : profile.functions())
      out.insert(identity_of(profile, function));
    return out;
  }

  SourceFunctionId function_of(const StackProfile &profile, const SourceFunction &function) {
    const auto text = [&](StringId id) { return to_.intern(profile.strings[id]); };
    Identity identity = identity_of(profile, function);
    if (const auto now = moved_.find(identity); now != moved_.end())
      identity = now->second;
    const auto [at, added] = known_.try_emplace(std::move(identity));
    if (added)
      at->second = to_.add_function({text(function.name), text(function.system_name),
                                     text(function.file), text(function.object), function.line});
    return at->second;
  }

  StackProfileBuilder &to_;
  bool with_files_, with_objects_;
  std::map<Identity, Identity> moved_;
  std::map<Identity, SourceFunctionId> known_;
};

// The last components of files that are compared at first, then one less at each step: static
// functions of one name may be in several files of one name.
constexpr size_t most_components = 8;
constexpr size_t steps_of_pairing = most_components + 2;

std::string last_components(std::string_view path, size_t count) {
  size_t end = path.size();
  for (; count > 0; --count) {
    const size_t slash = end == 0 ? path.npos : path.rfind('/', end - 1);
    if (slash == path.npos)
      return std::string(path);
    end = slash;
  }
  return std::string(path.substr(end + 1));
}

// Returns what must be equal at a step.
Identity key_at(size_t step, const Identity &of) {
  const auto &[name, file, object, line] = of;
  if (step < most_components)
    return {name, last_components(file, most_components - step), std::string(base_name(object)),
            line};
  return {name, step == most_components ? std::string(base_name(file)) : "", "", line};
}

} // namespace

std::map<Identity, Identity> moved(const std::set<Identity> &before,
                                   const std::set<Identity> &after) {
  std::set<Identity> left_before, left_after;
  std::ranges::set_difference(before, after, std::inserter(left_before, left_before.end()));
  std::ranges::set_difference(after, before, std::inserter(left_after, left_after.end()));
  std::map<Identity, Identity> out;
  for (size_t step = 0; step < steps_of_pairing && !left_before.empty() && !left_after.empty();
       ++step) {
    struct Same {
      const Identity *before = nullptr, *after = nullptr;
      size_t number_before = 0, number_after = 0;
    };
    std::map<Identity, Same> all;
    const auto has_key = [&](const Identity &each) {
      return step < most_components || !std::get<0>(each).empty();
    };
    for (const Identity &each : left_before)
      if (has_key(each)) {
        Same &same = all[key_at(step, each)];
        same.before = &each;
        ++same.number_before;
      }
    for (const Identity &each : left_after)
      if (has_key(each)) {
        Same &same = all[key_at(step, each)];
        same.after = &each;
        ++same.number_after;
      }
    std::vector<std::pair<Identity, Identity>> pairs;
    for (const auto &[key, same] : all)
      if (same.number_before == 1 && same.number_after == 1)
        pairs.emplace_back(*same.before, *same.after);
    for (auto &[was, now] : pairs) {
      left_before.erase(was);
      left_after.erase(now);
      out.emplace(std::move(was), std::move(now));
    }
  }
  return out;
}

std::string before_name(std::string_view event) {
  return event == plain_event ? "before" : fmt::format("{} before", event);
}
std::string after_name(std::string_view event) {
  return event == plain_event ? "after" : fmt::format("{} after", event);
}

std::optional<std::string> differing_event(const StackProfile &profile) {
  const auto types = profile.value_types();
  if (types.size() != 2)
    return std::nullopt;
  const std::string_view first = profile.strings[types[0].type];
  constexpr std::string_view suffix = " before";
  const std::string_view event =
      first.ends_with(suffix) ? first.substr(0, first.size() - suffix.size()) : plain_event;
  if (first != before_name(event) || profile.strings[types[1].type] != after_name(event))
    return std::nullopt;
  return std::string(event);
}

Result<StackProfile> difference(const StackProfile &before, const StackProfile &after) {
  if (before.value_types().empty() || after.value_types().empty())
    return fail(ErrorCode::no_data, "the profile has no events");
  const auto both = [&](StringId SourceFunction::*what) {
    return both_know(before.functions(), after.functions(),
                     [&](const SourceFunction &function) { return function.*what != StringId{}; });
  };
  StackProfileBuilder out;
  const ValueType type = after.value_types().front();
  const std::string_view event = after.strings[type.type];
  for (const std::string &name : {before_name(event), after_name(event)})
    out.add_value_type(name, after.strings[type.unit]);
  out.set_command(after.strings[after.command]);
  if (before.period_ns == after.period_ns)
    out.set_period_ns(after.period_ns);
  StackUnion all(out, both(&SourceFunction::file), both(&SourceFunction::object));
  all.pair(before, after);
  all.add(after, 1); // first, for its lines
  all.add(before, 0);
  return out.finish();
}

} // namespace tally
