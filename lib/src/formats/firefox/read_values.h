// What both forms of the format write in the same way: times, ids, and samples without a stack.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "model/stack_profile.h"
#include "support/json_tree.h"

namespace tally::firefox {

// Converts milliseconds to whole nanoseconds. Returns nothing if they do not fit in 63 bits.
std::optional<int64_t> nanoseconds(double ms);

// Reads a pid or tid: 12, "12", or what samply and we make of it to tell threads apart: "12.1",
// "12 cycles"; "PID:TID" as in a profile of Chrome.
std::optional<int32_t> id_of(const JsonValue &value);

// Returns the time of a sample on an axis that begins at `zero_ns`. Earlier times count as 0.
uint64_t time_after(int64_t at_ns, int64_t zero_ns);

// Returns the stack of a sample without one: the function [unknown].
StackId push_unknown(StackProfileBuilder &builder);

// Functions through which code enters JavaScript, whose names have this prefix until version 16 of
// the processed form, and 13 of the Gecko form.
inline constexpr std::string_view script_entry = "AutoEntryScript ";

} // namespace tally::firefox
