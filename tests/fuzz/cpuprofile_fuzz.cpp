// Reads arbitrary bytes as a .cpuprofile, and as a trace of Chrome. They are read or rejected with
// a position. What was read is written such that it reads back with the same total, except for
// fractions of microseconds.
#include <cstdlib>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include "formats/cpuprofile/cpuprofile.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::cpuprofile_fuzz {

namespace {

Result<StackProfile> read(std::string_view text, size_t piece) {
  Diagnostics diagnostics;
  auto profile =
      cpuprofile::read(*ByteSource::of(text, "input", {.piece_bytes = piece}), diagnostics);
  if (!profile)
    return fail(std::move(profile.error()));
  return std::get<StackProfile>(std::move(*profile));
}

void read_trace(std::string_view text) {
  static_cast<void>(cpuprofile::probe_trace(text.substr(0, 4096)));
  Diagnostics diagnostics;
  const auto profile = cpuprofile::read_trace(*ByteSource::of(text, "input"), diagnostics);
  if (!profile)
    return require_clear(profile.error(), text);
  const auto valid = validate(std::get<StackProfile>(*profile));
  require(valid.has_value(), "valid", valid ? "" : valid.error().text());
}

} // namespace

FUZZ_TARGET(cpuprofile) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  read_trace(bytes);
  static_cast<void>(cpuprofile::probe(bytes.substr(0, 4096)));
  const auto first = read(bytes, size + 1);
  const auto in_pieces = read(bytes, 1 + size % 7);
  require(first.has_value() == in_pieces.has_value(), "pieces");
  if (!first) {
    require_clear(first.error(), bytes);
    return 0;
  }
  const auto written = cpuprofile::write(*first, {});
  if (!written) {
    require(written.error().code == ErrorCode::no_data ||    // no samples
                written.error().code == ErrorCode::overflow, // in nanoseconds
            "written", written.error().text());
    return 0;
  }
  require(nlohmann::json::accept(written->bytes), "is JSON");
  require(cpuprofile::probe(std::string_view(written->bytes).substr(0, 4096)), "probe");
  constexpr int64_t exact = int64_t{1} << 52; // doubles hold them
  if (first->totals()[0] > exact || first->end_ns() > uint64_t{exact})
    return 0;
  const auto second = read(written->bytes, 4096);
  require(second.has_value(), "reads back", second ? "" : second.error().text());
  // Counts are written as microseconds.
  const std::string_view unit = first->strings[first->value_types()[0].unit];
  const int64_t expected = first->totals()[0] * (unit == "count" ? 1000 : 1);
  const int64_t rounding = 1000 * (2 + static_cast<int64_t>(first->times().size()));
  require(std::abs(second->totals()[0] - expected) <= rounding, "total");
  return 0;
}

} // namespace tally::cpuprofile_fuzz
