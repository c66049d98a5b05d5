// Declarations that the sources of flat tables share.
#pragma once

#include <tally/report.h>

namespace tally {

// Returns whether the text of the table has a column for each event.
bool has_value_columns(const FlatTable &table);
inline constexpr size_t most_value_columns = 6;

// Gives each row a value for each event, and sorts the rows.
void finish_rows(FlatTable &table, SortBy sort);

} // namespace tally
