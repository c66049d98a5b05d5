// Finds what a build links.
#pragma once

#include <string>
#include <vector>

#include "support/result.h"

namespace tally {

// Returns the existing programs, shared libraries and shared modules that Meson's introspection
// data in the build directory `folder` (meson-info/intro-targets.json) names; empty if there is no
// such data. Fails with invalid_input if the file is damaged.
Result<std::vector<std::string>> programs_of_build(const std::string &folder);

} // namespace tally
