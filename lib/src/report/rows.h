// A declaration that the sources of flat tables share.
#pragma once

#include <tally/report.h>

namespace tally {

// Gives each row a value for each event, and sorts the rows.
void finish_rows(FlatTable &table, SortBy sort);

} // namespace tally
