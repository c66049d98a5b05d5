// C++ names as written in the source.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Returns "ns::f(int)" for "_ZN2ns1fEi", and "ns::f(int)@plt" for its stub. A name that is not of
// the Itanium ABI is returned unchanged.
std::string demangled(std::string_view name);

// Does the same without a check of the prefix, so that "i" becomes the type "int".
std::string demangle(std::string_view name);

// Returns a constructor's or destructor's name for its base object variant: "_ZN1AC2Ev" for
// "_ZN1AC1Ev" (complete object), and "_ZN1AD2Ev" for "_ZN1AD0Ev" (deleting). Any other name is
// returned unchanged. Section 5.1.4.3 of the Itanium C++ ABI lists the variants.
std::string base_object_variant(std::string_view name);

} // namespace tally
