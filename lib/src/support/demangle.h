// C++ names as their source has them.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// "ns::f(int)" for "_ZN2ns1fEi". A name that is not of the Itanium ABI stays as it is.
std::string demangled(std::string_view name);

// The same, however it begins: "i" is a type, "int".
std::string demangle(std::string_view name);

// Of a constructor or destructor the name of its variant for base objects: "_ZN1AC2Ev" for
// "_ZN1AC1Ev", which is of whole objects, and "_ZN1AD2Ev" for "_ZN1AD0Ev", which deletes. Any other
// name stays as it is. (Itanium C++ ABI, 5.1.4.3)
std::string base_object_variant(std::string_view name);

} // namespace tally
