#pragma once

#include <cstddef>
#include <string_view>

namespace tally {

// Whether what a name of the Itanium ABI demangles to is sure to be of at most `most` bytes; often
// it is far less. A few hundred bytes may name types that double with each substitution.
bool demangles_within(std::string_view mangled, size_t most);

} // namespace tally
