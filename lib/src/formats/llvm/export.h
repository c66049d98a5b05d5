// Reads the JSON that `llvm-cov export` writes of Clang's source-based coverage.
#pragma once

#include <string_view>

#include "formats/formats.h"
#include "model/coverage.h"

namespace tally::llvm {

bool probe_export(std::string_view head);
Result<Coverage> read_export(ByteSource &source, Diagnostics &diagnostics);

} // namespace tally::llvm
