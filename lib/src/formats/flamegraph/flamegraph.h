#pragma once

#include "formats/formats.h"

namespace tally::flamegraph {

Result<Written> write(const StackProfile &profile, const WriteOptions &options);

} // namespace tally::flamegraph
