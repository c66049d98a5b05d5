#include "formats/gcov/read.h"

#include "formats/gcov/header.h"

namespace tally::gcov {

Result<std::unique_ptr<CounterFile>> read_notes(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(bytes, source.rest());
  TALLY_TRY(notes, read_gcov_notes(std::move(bytes), source.name(), diagnostics));
  return std::make_unique<GcovNotes>(std::move(notes));
}

Result<std::unique_ptr<CounterFile>> read_data(ByteSource &source, Diagnostics &diagnostics) {
  TALLY_TRY(bytes, source.rest());
  TALLY_TRY(data, read_gcov_data(bytes, source.name(), diagnostics));
  return std::make_unique<GcovData>(std::move(data));
}

} // namespace tally::gcov
