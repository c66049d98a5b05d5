// Reads arbitrary bytes as Firefox Profiler's JSON. They are read or rejected with a position. What
// was read is written such that it reads back with the same totals.
#include <algorithm>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json.hpp>

#include "formats/firefox/firefox.h"
#include "formats/sample_times.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::firefox_fuzz {

namespace {

Result<StackProfile> read(std::string_view text, size_t piece) {
  Diagnostics diagnostics;
  auto profile = firefox::read(*ByteSource::of(text, "input", {.piece_bytes = piece}), diagnostics);
  if (!profile)
    return fail(std::move(profile.error()));
  return std::get<StackProfile>(std::move(*profile));
}

// Returns whether doubles hold all sums exactly, as the format does.
bool is_exact(const StackProfile &profile) {
  constexpr double limit = 4503599627370496; // 2^52
  const auto roles = roles_of_values(profile);
  const auto totals = profile.totals();
  for (size_t i = 0; i < totals.size(); ++i)
    if (static_cast<double>(totals[i]) *
            static_cast<double>(std::max<int64_t>(1, (*roles)[i].unit_ns)) >
        limit)
      return false;
  return static_cast<double>(profile.end_ns()) < limit &&
         static_cast<double>(profile.times_from_ns) < limit;
}

} // namespace

FUZZ_TARGET(firefox) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  static_cast<void>(firefox::probe(bytes.substr(0, 4096)));
  const auto first = read(bytes, size + 1);
  const auto in_pieces = read(bytes, 1 + size % 7);
  require(first.has_value() == in_pieces.has_value(), "pieces");
  if (!first) {
    require_clear(first.error(), bytes);
    return 0;
  }
  const auto written = firefox::write(*first, {});
  if (!written) {
    require(written.error().code == ErrorCode::no_data ||         // no samples
                written.error().code == ErrorCode::overflow ||    // in nanoseconds
                written.error().code == ErrorCode::invalid_input, // negative weights
            "written", written.error().text());
    return 0;
  }
  require(nlohmann::json::accept(written->bytes), "is JSON");
  require(firefox::probe(std::string_view(written->bytes).substr(0, 4096)), "probe");
  const auto second = read(written->bytes, 4096);
  if (!is_exact(*first))
    return 0;
  require(second.has_value(), "reads back", second ? "" : second.error().text());
  require(second->totals() == first->totals(), "totals");
  const auto again = firefox::write(*second, {});
  require(again.has_value() && again->bytes == written->bytes, "written again");
  return 0;
}

} // namespace tally::firefox_fuzz
