#include "session/difference_file.h"

#include <utility>

#include <fmt/format.h>

#include "session/profile_files.h"
#include "transform/difference.h"
#include "transform/stack_filter.h"

namespace tally {

namespace {

std::string_view first_event(const StackProfile &profile) {
  return profile.value_types().empty() ? std::string_view()
                                       : profile.strings[profile.value_types().front().type];
}

} // namespace

Result<DifferenceFile> write_difference(const Compared &before, const Compared &after,
                                        const std::string &path, const WriteOptions &options) {
  const Format *const format = format_by_file_name(path);
  if (!format || !format->writes_profiles())
    return fail(ErrorCode::invalid_argument,
                "a difference is written as a flame graph or as folded stacks: name a FILE.svg or "
                "a FILE.folded",
                path);
  TALLY_CHECK(check_output_name(path, *format));
  for (const Compared *each : {&before, &after})
    if (!each->stacks)
      return needs_stacks(each->name);
  const std::string_view first = first_event(*before.stacks), second = first_event(*after.stacks);
  if (first != second)
    return fail(ErrorCode::invalid_input,
                fmt::format("counts {}, but {} counts {}: they cannot be compared", first,
                            after.name, second),
                before.name);
  TALLY_TRY(both, difference(*before.stacks, *after.stacks));
  TALLY_TRY(written, write_profile(both, *format, options));
  TALLY_CHECK(write_file(path, *format, written));
  return DifferenceFile{format, std::move(written)};
}

} // namespace tally
