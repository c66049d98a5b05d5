#pragma once

#include <memory>

#include <tally/counter_file.h>
#include <tally/diagnostics.h>
#include <tally/file_io.h>

namespace tally::gcov {

bool is_notes(std::string_view head);
bool is_data(std::string_view head);
Result<std::unique_ptr<CounterFile>> read_notes(ByteSource &source, Diagnostics &diagnostics);
Result<std::unique_ptr<CounterFile>> read_data(ByteSource &source, Diagnostics &diagnostics);

} // namespace tally::gcov
