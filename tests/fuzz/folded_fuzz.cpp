// Reads arbitrary bytes as folded stacks. They are read or rejected with a position. What was read
// is written such that it reads back as the same, and is also written in all other stack formats.
#include <string_view>

#include "formats/folded/folded.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::folded_fuzz {

FUZZ_TARGET(folded) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  Diagnostics diagnostics;
  static_cast<void>(folded::probe(bytes.substr(0, 4096)));
  const auto read = [&](std::string_view text, size_t piece) {
    return folded::read(*ByteSource::of(text, "input", {.piece_bytes = piece}), diagnostics);
  };
  const auto first = read(bytes, size + 1);
  const auto in_pieces = read(bytes, 1 + size % 7);
  require(first.has_value() == in_pieces.has_value());
  if (!first) {
    require(first.error().text().find('\n') == std::string::npos || bytes.find('\n') != bytes.npos);
    require(first.error().code != ErrorCode::internal);
    // The offset of damage in compressed data depends on the piece size, and an invalid line may be
    // rejected before it.
    require(first.error().where.kind == Position::Kind::offset ||
            in_pieces.error().where.kind == Position::Kind::offset ||
            first.error().text() == in_pieces.error().text());
    return 0;
  }
  const auto &stacks = std::get<StackProfile>(*first);
  const auto written = folded::write(stacks, {});
  const auto same = folded::write(std::get<StackProfile>(*in_pieces), {});
  require(same.has_value() && written.has_value() && same->bytes == written->bytes);
  require(folded::probe(written->bytes));
  for (const Format &format : formats()) // the other formats of stacks
    if (format.write_stacks) {
      const auto other = format.write_stacks(stacks, {});
      require(other.has_value() || other.error().code == ErrorCode::no_data ||
              other.error().code == ErrorCode::overflow); // in nanoseconds
    }
  const auto second = read(written->bytes, 5);
  require(second.has_value());
  const auto &again = std::get<StackProfile>(*second);
  // Fractions whose sums are whole numbers do not need a smaller unit any more.
  const auto name = [](const StackProfile &of) { return of.strings[of.value_types()[0].type]; };
  require(name(again) != name(stacks) || again.totals() == stacks.totals());
  const auto rewritten = folded::write(again, {});
  require(rewritten.has_value() && rewritten->bytes == written->bytes);
  return 0;
}

} // namespace tally::folded_fuzz
