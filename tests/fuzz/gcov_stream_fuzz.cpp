// Reads arbitrary bytes as a stream of counters. They are read or rejected with a position, and the
// counters are written as they were read.
#include <string_view>

#include "formats/gcov/stream.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::gcov_stream_fuzz {

FUZZ_TARGET(gcov_stream) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  Diagnostics diagnostics;
  const auto read = gcov::read_stream(*ByteSource::of(bytes, "input"), diagnostics);
  if (!read)
    require_clear(read.error(), bytes);
  else
    for (const auto &[name, counters] : static_cast<const GcovStream &>(**read).files()) {
      const auto written = counters.bytes();
      require(written && read_gcov_data(*written, name, diagnostics), "counters are written");
    }
  static_cast<void>(gcov::is_stream(bytes.substr(0, 4096)));
  return 0;
}

} // namespace tally::gcov_stream_fuzz
