// Reads the form in which Firefox itself writes a profile, before Firefox Profiler opens it.
#pragma once

#include <string>

#include "formats/formats.h"
#include "support/json_tree.h"

namespace tally::firefox {

// The root of `tree` is an object with the object `meta`.
Result<Profile> read_gecko(const JsonTree &tree, const std::string &source);

} // namespace tally::firefox
