// Reads arbitrary bytes as gcovr's JSON. They are read or rejected with a position. What was read
// is in order. It is written in the format of each version such that it reads back as the same,
// except for what that version cannot represent.
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "../support/coverage_text.h"
#include "formats/gcovr/gcovr.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::gcovr_fuzz {
using gcovr::Version;

namespace {

Result<Coverage> read(std::string_view text, size_t piece) {
  Diagnostics diagnostics;
  return gcovr::read(*ByteSource::of(text, "input", {.piece_bytes = piece}), diagnostics);
}

Coverage stripped(Coverage coverage, Version version) {
  for (FileCoverage &file : coverage.files) {
    if (version < Version::v0_3)
      file.functions.clear();
    if (version >= Version::v0_10)
      continue;
    file.conditions.clear();
    for (LineCoverage &line : file.lines)
      line.first_condition = line.last_condition = 0;
    for (FunctionCoverage &function : file.functions)
      function.end_line = 0;
  }
  return coverage;
}

} // namespace

FUZZ_TARGET(gcovr) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  static_cast<void>(gcovr::probe(bytes.substr(0, 4096)));
  const auto first = read(bytes, size + 1);
  const auto in_pieces = read(bytes, 1 + size % 7);
  require(first.has_value() == in_pieces.has_value(), "pieces");
  if (!first) {
    require_clear(first.error(), bytes);
    require(first.error().where.kind == Position::Kind::offset ||
                first.error().text() == in_pieces.error().text(),
            "pieces, error");
    return 0;
  }
  require(disorder_of(*first).empty(), disorder_of(*first));
  for (const auto &[version, name] : gcovr::versions) {
    const WriteOptions options{.gcovr_version = std::string(name)};
    const auto written = gcovr::write(*first, options);
    if (!written) { // functions of one name are summed
      require(written.error().code == ErrorCode::overflow, "written");
      continue;
    }
    require(nlohmann::json::accept(written->bytes), "is JSON");
    require(gcovr::probe(std::string_view(written->bytes).substr(0, 4096)), "probe");
    const auto second = read(written->bytes, 5);
    require(second.has_value(), "reads back");
    bool changed = false;
    for (const std::string &lost : written->lost)
      changed |= lost.find("(changed)") != std::string::npos ||
                 lost.find("functions with the same name") != std::string::npos;
    require(changed || text_of(*second) == text_of(stripped(*first, version)),
            "reads back as the same");
    const auto again = gcovr::write(*second, options);
    require(again.has_value() && again->bytes == written->bytes, "written again");
  }
  return 0;
}

} // namespace tally::gcovr_fuzz
