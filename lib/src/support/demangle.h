// C++ names as their source has them.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// "ns::f(int)" for "_ZN2ns1fEi". A name that is not of the Itanium ABI stays as it is.
std::string demangled(std::string_view name);

// The same, however it begins: "i" is a type, "int".
std::string demangle(std::string_view name);

} // namespace tally
