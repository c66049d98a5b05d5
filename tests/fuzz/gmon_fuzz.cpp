// Reads arbitrary bytes as a gmon.out. They are read or rejected with an offset. What was read is
// written such that it reads back as the same, it can be merged with itself, and the ticks remain
// when functions share them.
#include <algorithm>
#include <string>
#include <string_view>

#include "formats/gmon/gmon.h"
#include "fuzz_target.h"
#include "report/histogram_text.h"
#include "report/report.h"
#include "require.h"
#include "transform/merge.h"
#include "transform/pc_costs.h"

namespace tally::gmon_fuzz {

namespace {

// Has a function every 37 bytes, with lines of 5 bytes.
class Functions final : public Symbolizer {
public:
  explicit Functions(const PcHistogram &histogram) {
    const auto ranges = histogram.ranges();
    low_ = ranges.empty() ? 0 : ranges.front().low_pc;
  }
  ModuleId module(const ModuleKey &, Diagnostics &) override { return {}; }
  std::optional<uint64_t> link_address(ModuleId, uint64_t) override { return {}; }
  void frames(ModuleId, uint64_t pc, std::vector<SourceFrame> &out) override {
    out.push_back({"f", "f", "f.c", 1, "f.c", static_cast<uint32_t>(pc / 5 % 1000)});
  }
  std::vector<FunctionExtent> functions(ModuleId) override {
    std::vector<FunctionExtent> out;
    for (uint64_t pc = low_ + 3; out.size() < 20 && pc < UINT64_MAX - 40; pc += 37)
      out.push_back({pc, pc + 37, out.size() % 2 ? "odd" : "even", ""});
    return out;
  }
  std::string_view build_id(ModuleId) override { return {}; }
  void save_cache() override {}

private:
  uint64_t low_ = 0;
};

Result<PcProfile> read(std::string_view bytes) {
  Diagnostics diagnostics;
  return gmon::read(*ByteSource::of(bytes, "input", {.max_unpacked_bytes = size_t{1} << 20}),
                    diagnostics);
}

bool same(const PcProfile &a, const PcProfile &b) {
  const PcHistogram &x = a.histogram(), &y = b.histogram();
  return std::ranges::equal(x.ranges(), y.ranges(),
                            [](const PcRange &v, const PcRange &w) {
                              return v.low_pc == w.low_pc && v.high_pc == w.high_pc &&
                                     v.bins == w.bins && v.counters == w.counters;
                            }) &&
         (x.ranges().empty() || (x.rate_hz() == y.rate_hz() && x.dimension() == y.dimension() &&
                                 x.abbreviation() == y.abbreviation())) &&
         std::ranges::equal(a.arcs(), b.arcs()) && std::ranges::equal(a.blocks(), b.blocks());
}

void check_costs(const PcProfile &profile) {
  Functions functions(profile.histogram());
  const PcNames names{&functions, {}, "program"};
  for (const PcNames *each : {static_cast<const PcNames *>(nullptr), &names}) {
    const auto costs = costs_of(profile, each);
    require(costs.has_value(), "costs");
    require(costs->totals()[0] == profile.histogram().ticks() + profile.histogram().outside(),
            "ticks of costs");
    const auto table = flat_table(*costs, By::function);
    require(table.has_value() || table.error().code == ErrorCode::overflow, "table");
    if (const auto view = pc_view(profile, each); view && profile.histogram().ticks() > 0) {
      const auto bins = histogram_table(*view);
      require(bins.has_value() || bins.error().code == ErrorCode::limit, "histogram");
      if (bins) {
        uint64_t sum = bins->before + bins->behind + bins->outside;
        for (const HistogramTable::Row &row : bins->rows)
          sum += row.ticks;
        require(sum == bins->total, "ticks of the histogram");
        static_cast<void>(to_text(*bins, {.width = 80}));
      }
    }
  }
}

} // namespace

FUZZ_TARGET(gmon) {
  const std::string_view bytes(reinterpret_cast<const char *>(data), size);
  static_cast<void>(gmon::probe(bytes.substr(0, 4096)));
  const auto first = read(bytes);
  if (!first) {
    require(first.error().code != ErrorCode::internal, "no internal error");
    require(first.error().text().find('\n') == std::string::npos, "a message of one line");
    require(first.error().where.kind == Position::Kind::offset ||
                first.error().code != ErrorCode::invalid_input,
            "the offset of an error");
    return 0;
  }
  const auto written = gmon::write(*first, {});
  require(written.has_value(), "writing");
  const auto second = read(written->bytes);
  // A mon.out has no magic number; one without calls may be read as one with another pointer size.
  if (first->layout().flavour != PcFlavour::mon) {
    require(second.has_value() && same(*first, *second), "reading what was written");
    const auto again = gmon::write(*second, {});
    require(again.has_value() && again->bytes == written->bytes, "the same bytes again");
  }
  const PcProfile *const twice[] = {&*first, &*first};
  const auto sum = merge_pcs(twice);
  require(sum.has_value() || sum.error().code == ErrorCode::overflow, "the double");
  if (sum)
    require(sum->histogram().ticks() == 2 * first->histogram().ticks(), "ticks of the double");
  uint64_t counters = 0;
  for (const PcRange &range : first->histogram().ranges())
    counters += range.counters.size();
  if (counters < 2000)
    check_costs(*first);
  return 0;
}

} // namespace tally::gmon_fuzz
