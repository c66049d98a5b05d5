// Names of C++ as people write them.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// "ns::f(int)" for "_ZN2ns1fEi"; the name itself where it is not mangled. Types are names, too ("i"
// becomes "int"): how the name of a function begins is for the caller to look at.
std::string demangle(std::string_view name);

} // namespace tally
