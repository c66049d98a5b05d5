// Names of C++, Rust and D as written in the source. Names of other languages, and names that are
// longer than demangle_limits.h permits, are returned unchanged.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Returns "ns::f(int)" for "_ZN2ns1fEi", and "ns::f(int)@plt" for its stub. C++ names are written
// as GCC's __cxa_demangle() writes them, except that it confuses the parameters of some nested
// templates; those of Rust without the hashes of crates; those of D as GNU c++filt does.
std::string demangled(std::string_view name);

// Does the same for "_Z...", "_R..." and "_D..." only.
std::string demangle(std::string_view name);

// Returns a constructor's or destructor's name for its base object variant: "_ZN1AC2Ev" for
// "_ZN1AC1Ev" (complete object), and "_ZN1AD2Ev" for "_ZN1AD0Ev" (deleting). Any other name is
// returned unchanged. Section 5.1.4.3 of the Itanium C++ ABI lists the variants.
std::string base_object_variant(std::string_view name);

} // namespace tally
