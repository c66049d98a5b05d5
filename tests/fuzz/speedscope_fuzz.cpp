// Reads arbitrary bytes as speedscope's JSON. They are read or rejected with a position. What was
// read is written such that it reads back with the same totals.
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include "formats/speedscope/speedscope.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::speedscope_fuzz {

namespace {

Result<StackProfile> read(std::string_view text, size_t piece) {
  Diagnostics diagnostics;
  auto profile =
      speedscope::read(*ByteSource::of(text, "input", {.piece_bytes = piece}), diagnostics);
  if (!profile)
    return fail(std::move(profile.error()));
  return std::get<StackProfile>(std::move(*profile));
}

} // namespace

FUZZ_TARGET(speedscope) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  static_cast<void>(speedscope::probe(bytes.substr(0, 4096)));
  const auto first = read(bytes, size + 1);
  const auto in_pieces = read(bytes, 1 + size % 7);
  require(first.has_value() == in_pieces.has_value(), "pieces");
  if (!first) {
    require_clear(first.error(), bytes);
    return 0;
  }
  const auto written = speedscope::write(*first, {});
  if (!written) {
    require(written.error().code == ErrorCode::no_data ||    // no samples
                written.error().code == ErrorCode::overflow, // in nanoseconds
            "written", written.error().text());
    return 0;
  }
  require(nlohmann::json::accept(written->bytes), "is JSON");
  require(speedscope::probe(std::string_view(written->bytes).substr(0, 4096)), "probe");
  const auto second = read(written->bytes, 4096);
  require(second.has_value(), "reads back", second ? "" : second.error().text());
  require(second->totals() == first->totals(), "totals");
  return 0;
}

} // namespace tally::speedscope_fuzz
