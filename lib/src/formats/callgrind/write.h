#pragma once

#include "formats/formats.h"

namespace tally::callgrind {

// Writes the profile in the canonical order and the form that FORMAT.md describes.
Result<Written> write(const CostProfile &profile, const WriteOptions &options);

} // namespace tally::callgrind
