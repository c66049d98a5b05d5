#pragma once

#include <tally/formats.h>

namespace tally::cobertura {

Result<Written> write(const Coverage &coverage, const WriteOptions &options);

} // namespace tally::cobertura
