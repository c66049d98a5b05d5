#pragma once

#include <string>
#include <string_view>

#include "formats/formats.h"
#include "support/result.h"

namespace tally::dot {

// Returns whether a file of this format and name is a picture of the graph rather than its text.
bool is_drawn(const Format &format, std::string_view path);

// Returns the picture of a graph as PNG, which Graphviz's program `dot` draws. Fails with
// invalid_argument if Graphviz is not installed.
Result<std::string> png_of(std::string_view graph);

} // namespace tally::dot
