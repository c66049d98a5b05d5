#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include "model/counter_file.h"
#include "support/diagnostics.h"
#include "support/file_io.h"

namespace tally::gcov {

bool is_notes(std::string_view head);
bool is_data(std::string_view head);
// Returns the stamp of notes or counters, given their first 12 bytes; nothing for other files.
std::optional<uint32_t> stamp_of(std::string_view head);
Result<std::unique_ptr<CounterFile>> read_notes(ByteSource &source, Diagnostics &diagnostics);
Result<std::unique_ptr<CounterFile>> read_data(ByteSource &source, Diagnostics &diagnostics);

} // namespace tally::gcov
