// Reads arbitrary bytes as profile.proto. They are read or rejected with an offset. What was read
// is written such that it reads back as the same. Reports of simpleperf are read, too.
#include <string_view>

#include "formats/pprof/pprof.h"
#include "formats/simpleperf/simpleperf.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::pprof_fuzz {

FUZZ_TARGET(pprof) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  Diagnostics diagnostics;
  if (simpleperf::probe(bytes)) { // its messages are of the same kind
    const auto report = simpleperf::read(*ByteSource::of(bytes, "input"), diagnostics);
    require(report ||
            (report.error().code != ErrorCode::internal && report.error().where.offset <= size));
    return 0;
  }
  static_cast<void>(pprof::probe(bytes.substr(0, 4096)));
  const auto read = [&](std::string_view text) {
    return pprof::read(*ByteSource::of(text, "input", {.piece_bytes = 64}), diagnostics);
  };
  const auto first = read(bytes);
  if (!first) {
    require(first.error().code != ErrorCode::internal);
    const bool packed = bytes.starts_with("\x1f\x8b") || bytes.starts_with("\x28\xb5\x2f\xfd");
    require(packed || first.error().where.offset <= size); // packed: in the unpacked data
    return 0;
  }
  const auto &stacks = std::get<StackProfile>(*first);
  const auto written = pprof::write(stacks, {});
  if (!written) { // negative values, or times that are too long
    require(written.error().code == ErrorCode::invalid_input ||
            written.error().code == ErrorCode::overflow);
    return 0;
  }
  const auto second = read(written->bytes);
  require(second.has_value());
  const auto &again = std::get<StackProfile>(*second);
  require(again.sample_count() == stacks.sample_count() || !written->lost.empty());
  const auto rewritten = pprof::write(again, {});
  require(rewritten.has_value());
  const auto third = read(rewritten->bytes);
  require(third.has_value());
  const auto last = pprof::write(std::get<StackProfile>(*third), {});
  require(last.has_value() && last->bytes == rewritten->bytes);
  return 0;
}

} // namespace tally::pprof_fuzz
