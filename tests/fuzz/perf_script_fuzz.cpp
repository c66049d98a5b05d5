// Reads arbitrary bytes as perf script's text. They are read or rejected, with the same result in
// pieces. Tables of what was read add up, and it is written in all stack formats.
#include <string_view>

#include "formats/perf_script/perf_script.h"
#include "fuzz_target.h"
#include "report/report.h"
#include "require.h"

namespace tally::perf_script_fuzz {

FUZZ_TARGET(perf_script) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  static_cast<void>(perf_script::probe(bytes.substr(0, 4096)));
  const auto read = [&](size_t piece, Diagnostics &diagnostics) {
    return perf_script::read(*ByteSource::of(bytes, "input", {.piece_bytes = piece}), diagnostics);
  };
  Diagnostics findings, same_findings;
  const auto first = read(size + 1, findings);
  const auto in_pieces = read(1 + size % 7, same_findings);
  require(first.has_value() == in_pieces.has_value());
  if (!first) {
    require(first.error().code != ErrorCode::internal);
    // The offset of damage in compressed data depends on the piece size, and an invalid line may be
    // rejected before it.
    require(first.error().where.kind == Position::Kind::offset ||
            in_pieces.error().where.kind == Position::Kind::offset ||
            first.error().text() == in_pieces.error().text());
    return 0;
  }
  require(findings.findings().size() == same_findings.findings().size());
  const auto &stacks = std::get<StackProfile>(*first);
  require(stacks.totals() == std::get<StackProfile>(*in_pieces).totals());
  for (const By by : {By::function, By::line, By::object}) {
    const auto table = flat_table(stacks, by);
    require(table.has_value());
    std::vector<uint64_t> sum(table->events.size(), 0);
    for (const FlatRow &row : table->rows)
      for (size_t e = 0; e < sum.size(); ++e)
        sum[e] += row.self[e];
    require(sum == table->totals, "rows do not add up to the totals");
  }
  for (const Format &format : formats())
    if (format.write_stacks) {
      const auto other = format.write_stacks(stacks, {});
      require(other.has_value() || other.error().code == ErrorCode::no_data ||
              other.error().code == ErrorCode::overflow);
    }
  return 0;
}

} // namespace tally::perf_script_fuzz
