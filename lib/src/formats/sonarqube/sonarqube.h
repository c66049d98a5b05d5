#pragma once

#include "formats/formats.h"

namespace tally::sonarqube {

Result<Written> write(const Coverage &coverage, const WriteOptions &options);

} // namespace tally::sonarqube
