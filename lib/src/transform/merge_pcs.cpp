#include "transform/merge.h"

namespace tally {

Result<PcProfile> merge_pcs(std::span<const PcProfile *const> profiles,
                            std::span<const std::string> names) {
  if (profiles.empty())
    return fail(ErrorCode::invalid_argument, "nothing to merge");
  PcProfileBuilder sum;
  sum.set_layout(profiles[0]->layout());
  for (size_t i = 0; i < profiles.size(); ++i)
    if (auto added = sum.add(*profiles[i]); !added) {
      if (i < names.size())
        added.error().source = names[i];
      return fail(std::move(added.error()));
    }
  return sum.finish();
}

} // namespace tally
