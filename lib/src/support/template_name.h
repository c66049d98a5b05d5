#pragma once

#include <string>
#include <string_view>

namespace tally {

// Returns the name of the template that a function instantiates, which is the same for all
// instantiations: "ns::f" for "int ns::f<int>(int) const". `name` is demangled. Returns the names
// of other functions whole.
std::string template_name(std::string_view name);

} // namespace tally
