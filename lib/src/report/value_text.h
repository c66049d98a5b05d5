// Writes the values of profiles for people.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "model/stack_profile.h"

namespace tally {

// Returns "1.26 s".
std::string seconds_text(uint64_t ns);
// Returns a duration with three digits at least, in the largest unit that it reaches: "1.26 s",
// "15.2 ms", "300 µs" or "12 ns"; 0 is "0".
std::string duration_text(uint64_t ns);
// Returns a value of the type in the unit: a duration if the unit is "nanoseconds", a number with a
// fraction if it is "billionths", otherwise its digits.
std::string value_text(uint64_t value, std::string_view unit);
// Returns a bar of 16 columns that fills `part` of them, in steps of an eighth of a column.
std::string bar(double part);
// Returns the name of an event in the unit that value_text() prints: "ticks" for "nanoticks".
std::string_view shown_event(std::string_view event, std::string_view unit);
// Returns a total with the name of what it counts: "998 ticks" or "1.26 s cpu".
std::string total_text(uint64_t total, std::string_view event, std::string_view unit);
// Returns what rows with these values are sorted by: the sum of the times, if there are several, so
// that a wait weighs as much as computing; otherwise the first value.
uint64_t weight_of(std::span<const uint64_t> values, std::span<const std::string> units);
// Returns the totals of all values: "1.26 s cpu, 3.10 s wait".
std::string totals_text(const StackProfile &profile);

} // namespace tally
