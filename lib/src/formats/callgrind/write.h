#pragma once

#include <tally/formats.h>

namespace tally::callgrind {

// FORMAT.md tells the order and what is written how.
Result<Written> write(const CostProfile &profile, const WriteOptions &options);

} // namespace tally::callgrind
