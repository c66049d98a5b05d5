// Reads arbitrary bytes as gcov's JSON and as an annotated source. They are read or rejected with a
// position.
#include <string_view>

#include "formats/gcov_output/gcov_output.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::gcov_output_fuzz {

FUZZ_TARGET(gcov_output) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  for (const auto read : {gcov_output::read_json, gcov_output::read_text}) {
    Diagnostics diagnostics;
    const auto coverage = read(*ByteSource::of(bytes, "input"), diagnostics);
    if (!coverage)
      require_clear(coverage.error(), bytes);
  }
  static_cast<void>(gcov_output::probe_json(bytes.substr(0, 4096)));
  static_cast<void>(gcov_output::probe_text(bytes.substr(0, 4096)));
  return 0;
}

} // namespace tally::gcov_output_fuzz
