// The bounds of the counts of a function that threads were in.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "coverage/gcov_counts.h"
#include "coverage/gcov_rows.h"

namespace tally {

// Widens the bounds of a function and of its lines: compilers move code across the updates of
// counters, by an iteration or so, in either direction.
void widen(std::span<GcovRow> rows, std::span<const OpenFrame> frames, GcovFunction &function);

// Raises the lower bounds of a function and of the line of a frame that has run (see OpenFrame).
// path_of() returns the path of a row's source file.
void raise(std::span<GcovRow> rows, const std::function<std::string_view(const GcovRow &)> &path_of,
           const OpenFrame &frame, GcovFunction &function);

} // namespace tally
