// Recognizes functions of the standard library that only call another function.
#pragma once

#include <string_view>

namespace tally {

// Returns whether `function`, a demangled name, is a layer of std::invoke, std::function,
// std::bind, std::apply or std::thread, in libstdc++ or libc++.
bool is_call_layer(std::string_view function);

} // namespace tally
