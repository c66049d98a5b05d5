// Functions of the standard library that do nothing but call another one.
#pragma once

#include <string_view>

namespace tally {

// Whether it is a layer of std::invoke, std::function, std::bind, std::apply or std::thread, in
// libstdc++ or libc++. `function` is demangled.
bool is_call_layer(std::string_view function);

} // namespace tally
