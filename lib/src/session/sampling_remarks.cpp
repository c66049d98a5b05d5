#include "session/sampling_remarks.h"

#include "support/text.h"

namespace tally {

std::string lost_remark(const SamplerStatus &status) {
  if (status.lost == 0)
    return {};
  return counted(status.lost, "samples") + (status.lost == 1 ? " was lost" : " were lost");
}

} // namespace tally
