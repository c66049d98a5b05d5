// Reads arbitrary bytes as perf.data. They are read or rejected, with the same result whole and in
// pieces, and with an unwinder, which reads all its input, and without one.
#include <string>
#include <string_view>

#include "formats/perf_data/perf_data.h"
#include "fuzz_target.h"
#include "require.h"

namespace tally::perf_data_fuzz {

namespace {

class Looker final : public Unwinder {
public:
  ModuleId module(const ModuleKey &key) override {
    seen += key.path.size();
    return {};
  }
  StackEnd unwind(const UnwindInput &input, std::vector<uint64_t> &pcs) override {
    for (const std::byte byte : input.stack)
      seen += std::to_integer<size_t>(byte);
    pcs.push_back(input.registers.pc());
    for (const uint64_t pc : input.registers.value)
      if (pcs.size() < 5 && input.mapping_of_pc(pc))
        pcs.push_back(pc);
    return static_cast<StackEnd>(seen % 4);
  }
  size_t seen = 0;
};

} // namespace

FUZZ_TARGET(perf_data) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  static_cast<void>(perf_data::probe(bytes.substr(0, 4096)));
  const auto read = [&](size_t piece, Unwinder *unwinder) {
    Diagnostics diagnostics;
    return perf_data::read(
        *ByteSource::of(bytes, "input",
                        {.max_unpacked_bytes = size_t{1} << 20, .piece_bytes = piece}),
        diagnostics, unwinder);
  };
  Looker looker, other;
  const auto whole = read(size + 1, &looker);
  const auto in_pieces = read(1 + size % 7, &other);
  const auto leaves = read(size + 1, nullptr);
  require(whole.has_value() == leaves.has_value(), "the same without an unwinder");
  if (!whole) {
    require(whole.error().code != ErrorCode::internal, "no internal error");
    require(whole.error().text().find('\n') == std::string::npos, "one line");
    return 0;
  }
  // Damage to a compressed file may be detected earlier in one of the two ways.
  if (in_pieces) {
    const auto &a = std::get<StackProfile>(*whole), &b = std::get<StackProfile>(*in_pieces);
    require(a.totals() == b.totals() && a.stack_count() == b.stack_count(), "the same in pieces");
  }
  require(validate(std::get<StackProfile>(*whole)).has_value(), "a valid profile");
  return 0;
}

} // namespace tally::perf_data_fuzz
