#include "join/difference_file.h"

#include <algorithm>
#include <array>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "join/profile_files.h"
#include "support/path.h"
#include "support/text.h"
#include "transform/difference.h"
#include "transform/stack_copier.h"
#include "transform/stack_filter.h"

namespace tally {

namespace {

// The formats of stacks that can hold several values. Others would hold BEFORE alone.
constexpr std::array<std::string_view, 5> formats_of_differences{"flamegraph", "folded", "pprof",
                                                                 "speedscope", "firefox"};

bool holds_differences(const Format &format) {
  return std::ranges::count(formats_of_differences, format.name) > 0;
}

tl::unexpected<Error> holds_no_difference(const std::string &path) {
  std::vector<std::string> others;
  for (const Format &format : formats())
    if (holds_differences(format) && format.name != "flamegraph" && format.name != "folded")
      others.push_back("FILE" + std::string(format.file_names.front().substr(1)));
  return fail(ErrorCode::invalid_argument,
              fmt::format("a difference is written as a flame graph or as folded stacks: name a "
                          "FILE.svg or a FILE.folded; also a {}",
                          joined_text(others, " or ")),
              path);
}

std::string first_event(const Side &side) {
  if (side.stacks)
    return side.stacks->value_types().empty()
               ? std::string()
               : std::string(side.stacks->strings[side.stacks->value_types().front().type]);
  return side.costs->events().empty()
             ? std::string()
             : std::string(side.costs->strings[side.costs->events().front().name]);
}

// Returns the unit of the first event; empty if it has none.
std::string_view first_unit(const StackProfile &profile) {
  return profile.value_types().empty() ? std::string_view()
                                       : profile.strings[profile.value_types().front().unit];
}

} // namespace

Result<void> check_comparable(const Comparison &both) {
  const auto &[before, after, remedy] = both;
  const std::string was = first_event(before), now = first_event(after);
  if (was != now)
    return fail(ErrorCode::invalid_input,
                fmt::format("counts {}, but {} counts {}: they cannot be compared{}", now,
                            before.name, was, remedy),
                after.name);
  if (before.none_left && after.none_left)
    return fail(ErrorCode::no_data,
                fmt::format("{}, neither in {} nor in {}", after.none_left->message, before.name,
                            after.name),
                after.none_left->source);
  if (!before.stacks || !after.stacks)
    return {};
  const std::string_view unit_was = first_unit(*before.stacks), unit = first_unit(*after.stacks);
  if (!unit_was.empty() && !unit.empty() && unit_was != unit)
    return fail(ErrorCode::invalid_input,
                fmt::format("counts {} in {}, but {} counts it in {}: they cannot be compared", now,
                            unit, before.name, unit_was),
                after.name);
  return {};
}

namespace {

// Names the side in an error about an option.
tl::unexpected<Error> on_side(const std::string &name, Error error) {
  if (error.code != ErrorCode::invalid_argument && error.source.starts_with("--"))
    error.message = fmt::format("{} {}", std::exchange(error.source, name), error.message);
  else if (error.source.empty())
    error.source = name;
  return fail(std::move(error));
}

template <class AnyProfile>
Result<std::shared_ptr<const AnyProfile>>
selected(const AnyProfile &profile, const SampleFilter &wanted, const std::string &name) {
  auto some = filter_samples(profile, wanted);
  if (!some)
    return on_side(name, std::move(some.error()));
  return std::make_shared<const AnyProfile>(std::move(*some));
}

// Does the same. If the patterns leave no sample, returns the profile without samples, and why.
Result<std::shared_ptr<const StackProfile>> selected_frames(const StackProfile &profile,
                                                            const SampleFilter &wanted,
                                                            const std::string &name,
                                                            std::optional<Error> &none_left) {
  auto some = filter_samples(profile, wanted);
  if (!some && some.error().code == ErrorCode::no_data) {
    none_left = std::move(some.error());
    TALLY_TRY(empty, builder_like(profile).finish());
    return std::make_shared<const StackProfile>(std::move(empty));
  }
  if (!some)
    return on_side(name, std::move(some.error()));
  return std::make_shared<const StackProfile>(std::move(*some));
}

Result<FlatTable> side_table(const Side &side, By by, SortBy sort) {
  return about(side.name, side.stacks ? flat_table(*side.stacks, by, sort)
                                      : flat_table(*side.costs, by, sort));
}

} // namespace

Side side_of(Profile profile, std::string name) {
  Side out;
  out.name = std::move(name);
  if (auto *const stacks = std::get_if<StackProfile>(&profile))
    out.stacks = std::make_shared<const StackProfile>(std::move(*stacks));
  else
    out.costs = std::make_shared<const CostProfile>(std::move(std::get<CostProfile>(profile)));
  return out;
}

Result<Side> select_side(Side whole, const SampleFilter &wanted) {
  if (whole.costs && !wanted.takes_all()) {
    TALLY_TRY(some, selected(*whole.costs, wanted, whole.name));
    whole.costs = std::move(some);
  }
  if (whole.stacks && !wanted.without_patterns().takes_all()) {
    TALLY_TRY(some, selected(*whole.stacks, wanted.without_patterns(), whole.name));
    whole.stacks = std::move(some);
  }
  if (whole.stacks && !wanted.takes_all_frames()) {
    TALLY_TRY(some,
              selected_frames(*whole.stacks, wanted.only_patterns(), whole.name, whole.none_left));
    whole.stacks = std::move(some);
  }
  return whole;
}

Result<DiffTable> changes_of(const Comparison &both, By by, SortBy sort) {
  TALLY_TRY(before, side_table(both.before, by, sort));
  TALLY_TRY(after, side_table(both.after, by, sort));
  TALLY_CHECK(check_comparable(both));
  return diff_tables(before, after, sort);
}

Result<const Format *> difference_format(const std::string &path) {
  const Format *const format = format_by_file_name(path);
  if (!format || !holds_differences(*format))
    return holds_no_difference(path);
  TALLY_CHECK(check_output_name(path, *format));
  return format;
}

Result<Written> write_difference(const Comparison &both, const Format &format,
                                 const std::string &path, WriteOptions options) {
  for (const Side *side : {&both.before, &both.after})
    if (!side->stacks)
      return needs_stacks(side->name);
  TALLY_CHECK(check_comparable(both));
  TALLY_TRY(profile, difference(*both.before.stacks, *both.after.stacks));
  const std::string &before = both.before.name, &after = both.after.name;
  const bool is_clear = base_name(before) != base_name(after);
  options.title = fmt::format("{} → {}", is_clear ? base_name(before) : before,
                              is_clear ? base_name(after) : after);
  TALLY_TRY(written, about(path, write_profile(profile, format, options)));
  TALLY_CHECK(write_file(path, format, written));
  return written;
}

} // namespace tally
