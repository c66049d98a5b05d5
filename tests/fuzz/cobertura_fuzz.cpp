// Reads arbitrary bytes as Cobertura's XML. They are read or rejected with a position. What was
// read is written such that it reads back with the same lines.
#include <string_view>

#include "formats/cobertura/cobertura.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::cobertura_fuzz {

namespace {

Result<Coverage> read(std::string_view text) {
  Diagnostics diagnostics;
  return cobertura::read(*ByteSource::of(text, "input"), diagnostics);
}

size_t lines_of(const Coverage &coverage) {
  size_t count = 0;
  for (const FileCoverage &file : coverage.files)
    count += file.lines.size();
  return count;
}

} // namespace

FUZZ_TARGET(cobertura) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  static_cast<void>(cobertura::probe(bytes.substr(0, 4096)));
  const auto first = read(bytes);
  if (!first) {
    require_clear(first.error(), bytes);
    return 0;
  }
  const auto written = cobertura::write(*first, {});
  require(written.has_value(), "written");
  const auto second = read(written->bytes);
  require(second.has_value(), "reads back", second ? "" : second.error().text());
  require(lines_of(*second) <= lines_of(*first), "lines");
  return 0;
}

} // namespace tally::cobertura_fuzz
