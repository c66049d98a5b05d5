#pragma once

#include <string_view>

namespace tally::flamegraph {

// What a function of C++ or Rust is called by itself, for where the whole name does not fit: "sort"
// of "void ns::(anonymous namespace)::sort<int>(int*) const". Other names stay whole.
std::string_view own_name(std::string_view name);

} // namespace tally::flamegraph
