// Reads what gcov itself writes: its JSON (gcov --json-format) and its annotated sources (*.gcov).
#pragma once

#include <string_view>

#include "formats/formats.h"
#include "model/coverage.h"

namespace tally::gcov_output {

bool probe_json(std::string_view head);
Result<Coverage> read_json(ByteSource &source, Diagnostics &diagnostics);

bool probe_text(std::string_view head);
Result<Coverage> read_text(ByteSource &source, Diagnostics &diagnostics);

} // namespace tally::gcov_output
