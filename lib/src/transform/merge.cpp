
#include "transform/merge.h"

#include <fmt/format.h>

#include "transform/positions.h"
#include "transform/sum.h"

namespace tally {

namespace {

Result<void> check_positions(std::span<const CostProfile *const> profiles,
                             std::span<const std::string> names) {
  const std::string first = position_words(*profiles[0]);
  for (size_t i = 1; i < profiles.size(); ++i)
    if (const std::string other = position_words(*profiles[i]); other != first)
      return fail(ErrorCode::invalid_input,
                  fmt::format("its positions are '{}', but those of {} are '{}': they cannot be "
                              "added up",
                              other, names.empty() ? "the first" : names[0], first),
                  names.empty() ? std::string() : names[i]);
  return {};
}

Result<CostProfile> sum_of(std::span<const CostProfile *const> profiles, bool keep_parts) {
  Sum sum(profiles, keep_parts);
  TALLY_CHECK(sum.begin());
  return sum.finish();
}

} // namespace

Result<CostProfile> canonical(const CostProfile &profile) {
  const CostProfile *one = &profile;
  return sum_of(std::span(&one, 1), true);
}

Result<CostProfile> merge_costs(std::span<const CostProfile *const> profiles,
                                std::span<const std::string> names) {
  if (profiles.empty())
    return fail(ErrorCode::invalid_argument, "nothing to merge");
  TALLY_CHECK(check_positions(profiles, names));
  return sum_of(profiles, false);
}

} // namespace tally
