// Reads arbitrary bytes as a coverage baseline. They are read or rejected with a position. What was
// read is written such that it reads back as the same, and is written as the same bytes again.
#include <string>
#include <string_view>

#include "formats/baseline/baseline.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::baseline_fuzz {

namespace {

Result<baseline::Baseline> read(std::string_view text, size_t piece) {
  return baseline::read(*ByteSource::of(text, "input", {.piece_bytes = piece}));
}

} // namespace

FUZZ_TARGET(baseline) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  const auto first = read(bytes, size + 1);
  const auto in_pieces = read(bytes, 1 + size % 7);
  require(first.has_value() == in_pieces.has_value(), "pieces");
  if (!first) {
    require_clear(first.error(), bytes);
    require(first.error().code != ErrorCode::invalid_input ||
                first.error().where.kind != Position::Kind::none,
            "the position of an error");
    // The offset of damage in compressed data depends on the piece size.
    require(first.error().where.kind == Position::Kind::offset ||
                first.error().text() == in_pieces.error().text(),
            "pieces, error");
    return 0;
  }
  require(*first == *in_pieces, "pieces, baseline");
  for (const auto &[path, record] : *first) {
    require(!path.empty(), "a path");
    require(record.lines.ran <= record.lines.all && record.lines.all > 0, "lines");
    require(record.branches.ran <= record.branches.all, "branches");
  }
  const std::string written = baseline::write(*first);
  const auto second = read(written, 5);
  require(second.has_value(), "reads back", written);
  require(*second == *first, "reads back as the same", written);
  require(baseline::write(*second) == written, "written again");
  return 0;
}

} // namespace tally::baseline_fuzz
