// Declarations that the sources of flat tables share.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "report/report.h"

namespace tally {

// Returns whether the text has the totals of all events in its first line.
bool has_all_totals(std::span<const std::string> units);
// Returns whether the text of the table also has a column for each event. The ticks of a clock and
// the CPU time that they stand for have not: they are one cost, whose shares tell more.
bool has_value_columns(std::span<const std::string> events, std::span<const std::string> units);
// Returns the total of the first event or, if has_all_totals(), of all. `units` may be empty.
std::string totals_of(std::span<const std::string> events, std::span<const uint64_t> totals,
                      std::span<const std::string> units);
// Returns the cell of a value that has a column: '-' for 0.
std::string value_cell(uint64_t value, std::string_view unit);
inline constexpr size_t most_value_columns = 6;

// Returns the id of a thread or process as the profile has it. Those that a reader makes up, in
// place of ones that are not numbers, are negative.
inline int64_t signed_id(const FlatRow &row) { return static_cast<int64_t>(row.id); }

// Gives each row a value for each event, and sorts the rows.
void finish_rows(FlatTable &table, SortBy sort);

} // namespace tally
