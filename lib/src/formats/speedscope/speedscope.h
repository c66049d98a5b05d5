#pragma once

#include <tally/formats.h>

namespace tally::speedscope {

Result<Written> write(const StackProfile &profile, const WriteOptions &options);

} // namespace tally::speedscope
