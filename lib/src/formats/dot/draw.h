#pragma once

#include <string>
#include <string_view>

#include <tally/result.h>

namespace tally::dot {

// Returns the picture of a graph as PNG, which Graphviz's program `dot` draws. Fails with
// invalid_argument if Graphviz is not installed.
Result<std::string> png_of(std::string_view graph);

} // namespace tally::dot
