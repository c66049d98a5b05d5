// C++ names as their source has them.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// "ns::f(int)" for "_ZN2ns1fEi". A name that is not of the Itanium ABI stays as it is, and
// so does one that would become very long: the ABI's own function would build it all.
std::string demangled(std::string_view name);

// The same, however it begins: "i" is a type, "int".
std::string demangle(std::string_view name);

} // namespace tally
