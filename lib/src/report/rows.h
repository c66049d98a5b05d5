// What the makers of flat tables share.
#pragma once

#include <tally/report.h>

namespace tally {

// A value for each event in each row, and the rows in order.
void finish_rows(FlatTable &table, SortBy sort);

} // namespace tally
