#pragma once

#include <string_view>

namespace tally {

// Returns the unqualified name of a C++ or Rust function, for boxes that are too narrow for the
// whole name: "sort" for "void ns::(anonymous namespace)::sort<int>(int*) const". Returns other
// names whole.
std::string_view own_name(std::string_view name);

// Returns a C++ or D function's name without the return type before it, which a demangled name has
// if the function is an instance of a template: "std::sort<int*>(int*)" for "void
// std::sort<int*>(int*)". Returns other names whole.
std::string_view without_return_type(std::string_view name);

} // namespace tally
