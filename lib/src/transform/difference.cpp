#include "transform/difference.h"

#include <array>
#include <map>
#include <tuple>
#include <vector>

#include <fmt/format.h>

namespace tally {

namespace {

constexpr std::string_view plain_event = "ticks";

// Adds the functions and stacks of several profiles to a builder.
class StackUnion {
public:
  StackUnion(StackProfileBuilder &to, bool with_files, bool with_objects)
      : to_(to), with_files_(with_files), with_objects_(with_objects) {}

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
  SourceFunctionId function_of(const StackProfile &profile, const SourceFunction &function) {
    const auto text = [&](StringId id) { return to_.intern(profile.strings[id]); };
    const StringId name = text(function.name), file = text(function.file),
                   object = text(function.object);
    const auto [at, added] = known_.try_emplace(
        {name, with_files_ ? file : StringId{}, with_objects_ ? object : StringId{}});
    if (added)
      at->second =
          to_.add_function({name, text(function.system_name), file, object, function.line});
    return at->second;
  }

  StackProfileBuilder &to_;
  bool with_files_, with_objects_;
  std::map<std::tuple<StringId, StringId, StringId>, SourceFunctionId> known_;
};

} // namespace

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
  all.add(after, 1); // first, for its lines
  all.add(before, 0);
  return out.finish();
}

} // namespace tally
