#pragma once

#include <string_view>

namespace tally {

// Returns the unqualified name of a C++ or Rust function, for boxes that are too narrow for the
// whole name: "sort" for "void ns::(anonymous namespace)::sort<int>(int*) const". Returns other
// names whole.
std::string_view own_name(std::string_view name);

} // namespace tally
