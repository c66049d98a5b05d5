// Draws the percentage of lines as a badge, for a README or a project's page.
#pragma once

#include <string>

#include "model/coverage.h"

namespace tally {

// Returns a self-contained SVG of 20 pixels' height: "coverage" and the percentage, which has a
// color by its size.
std::string to_badge(const Coverage &coverage);

// Returns the JSON that shields.io draws such a badge from, as described in "Endpoint Badge" of its
// documentation.
std::string to_shields(const Coverage &coverage);

} // namespace tally
