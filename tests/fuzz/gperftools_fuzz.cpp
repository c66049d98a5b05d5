// Reads arbitrary bytes as a profile of gperftools or jemalloc. They are read or rejected with a
// position.
#include <string_view>
#include <variant>

#include "formats/gperftools/gperftools.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::gperftools_fuzz {

namespace {

Result<StackProfile> read(std::string_view text, size_t piece) {
  Diagnostics diagnostics;
  auto profile = gperftools::read(*ByteSource::of(text, "input", {.piece_bytes = piece}),
                                  diagnostics, nullptr);
  if (!profile)
    return fail(std::move(profile.error()));
  return std::get<StackProfile>(std::move(*profile));
}

} // namespace

FUZZ_TARGET(gperftools) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  const bool is_known = gperftools::probe(bytes.substr(0, 4096));
  const auto first = read(bytes, size + 1);
  const auto in_pieces = read(bytes, 1 + size % 7);
  require(first.has_value() == in_pieces.has_value(), "pieces");
  if (!first) {
    require_clear(first.error(), bytes);
    require(first.error().code == ErrorCode::overflow ||
                first.error().where.kind != Position::Kind::none,
            "a position", first.error().text());
    return 0;
  }
  require(is_known, "probe");
  const auto valid = validate(*first);
  require(valid.has_value(), "valid", valid ? "" : valid.error().text());
  require(first->totals() == in_pieces->totals(), "totals");
  return 0;
}

} // namespace tally::gperftools_fuzz
