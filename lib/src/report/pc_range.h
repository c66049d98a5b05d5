// Places in a program that people type.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

namespace tally {

// "0x1000-0x2000", "0x1000,8192": [low, high), as it was typed; nothing where it is no such thing.
std::optional<std::pair<uint64_t, uint64_t>> range_of(std::string_view text);

// What people type for "ns::f(int)": all of it, or what stands before the parameters.
inline bool is_named(std::string_view function, std::string_view typed) {
  return function.starts_with(typed) &&
         (function.size() == typed.size() || function[typed.size()] == '(');
}

} // namespace tally
