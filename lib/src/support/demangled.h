// Names of C++ as people write them.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// A name that is none of C++, or that nobody can read, stays.
std::string demangled(std::string_view name);

} // namespace tally
