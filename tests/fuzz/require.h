// Reports a violated requirement of a fuzz target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>

#include "support/file_io.h"
#include "support/result.h"

namespace tally {

// Aborts with a message unless `truth` holds. `line` is the caller's line.
inline void require(bool truth, std::string_view what = "a requirement",
                    std::string_view detail = {}, int line = __builtin_LINE()) {
  if (truth)
    return;
  std::cerr << "line " << line << ": violated: " << what << '\n';
  if (!detail.empty())
    std::cerr << detail << '\n';
  std::abort();
}

// Requires that the error of an input of `size` bytes is one line with a position in the input.
inline void require_clear(const Error &error, size_t size, int line = __builtin_LINE()) {
  require(error.text().find('\n') == std::string::npos, "one line", {}, line);
  require(error.code != ErrorCode::internal, "error's kind", {}, line);
  require(error.where.kind != Position::Kind::offset || error.where.offset <= size,
          "the offset of an error", {}, line);
}

// Does the same for an input that is read by a ByteSource. Offsets are those of the unpacked bytes.
inline void require_clear(const Error &error, std::string_view input, int line = __builtin_LINE()) {
  const auto unpacked = ByteSource::of(input, "input")->rest();
  require_clear(error, unpacked ? unpacked->size() : SIZE_MAX, line);
}

} // namespace tally
