#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "report/histogram_text.h"
#include "report/pc_ticks.h"

namespace tally::report_histogram_test {
namespace {

PcView view() {
  PcView out;
  out.object = "/bin/program";
  out.event = "ticks";
  PcHistogramBuilder builder;
  builder.add_range(0x1000, 0x1200, 2);
  builder.count(0x1000, 10);
  builder.count(0x1004, 20);
  builder.count(0x1100, 70);
  builder.add_outside(5);
  out.histogram = std::move(*builder.finish());
  out.functions = {{0x1000, 0x1100, "f"}, {0x1100, 0x1200, "g"}};
  out.knows_starts = true;
  out.lines = [](uint64_t low, uint64_t) { return low < 0x1100 ? "f.c:1-2" : "g.c:7"; };
  out.bias = 0x555500000000;
  return out;
}

uint64_t ticks_of(const HistogramTable &table) {
  uint64_t sum = table.before + table.behind + table.outside;
  for (const auto &row : table.rows)
    sum += row.ticks;
  return sum;
}

TEST(Histogram, FitsAScreenAndFoldsEmptyBins) {
  const auto table = histogram_table(view());
  ASSERT_TRUE(table);
  EXPECT_EQ(table->total, 105u);
  EXPECT_EQ(ticks_of(*table), 105u);
  EXPECT_EQ(table->outside, 5u);
  EXPECT_LE(table->rows.size(), 40u);
  EXPECT_EQ(to_text(*table, {.width = 80}), R"(105 ticks in total; not shown: 5 elsewhere
0x1000-0x1102 of program, 8 bytes a bin
address  ticks       %                    function                  lines
 0x1000     30  28.57%  ██████▉           f                         f.c:1-2
 0x1008                                   (31 bins without a tick)
 0x1100     70  66.67%  ████████████████  g                         g.c:7
)");
}

TEST(Histogram, SelectsByFunctionRangeAndScale) {
  const auto rows = [](const std::string &what, std::optional<uint32_t> scale) {
    const auto table = histogram_table(view(), {what, scale});
    EXPECT_TRUE(table) << table.error().text();
    EXPECT_EQ(ticks_of(*table), 105u);
    std::vector<std::pair<uint64_t, uint64_t>> out;
    for (const auto &row : table->rows)
      if (row.ticks > 0)
        out.emplace_back(row.low, row.ticks);
    return out;
  };
  using Rows = std::vector<std::pair<uint64_t, uint64_t>>;
  EXPECT_EQ(rows("g", 0xFFFF), (Rows{{0x1100, 70}}));
  EXPECT_EQ(rows("f", 0xFFFF), (Rows{{0x1000, 10}, {0x1004, 20}}));
  EXPECT_EQ(rows("0x1000-0x1010", {}), (Rows{{0x1000, 10}, {0x1004, 20}}));
  EXPECT_EQ(rows("0x1002,4112", 0xFFFF), (Rows{{0x1004, 20}}));
  EXPECT_EQ(rows("0x555500001100-0x555500001110", 0xFFFF), (Rows{{0x1100, 70}})); // run time
  EXPECT_EQ(rows("", 2), (Rows{{0x1000, 100}})); // profil()'s core clock
}

TEST(Histogram, ReportsErrors) {
  const auto error = [](const std::string &what) {
    const auto table = histogram_table(view(), {what, {}});
    return table ? std::string() : table.error().text();
  };
  EXPECT_EQ(error("h"), "h: no such function in program");
  // Another name of g, a name of both functions, and a name that the table has twice.
  const auto with_names = [](const std::string &what) {
    PcView all = view();
    all.functions.push_back({0x1200, 0x1210, "ns::f(int)"});
    all.functions.push_back({0x1300, 0x1310, "ns::f(char)"});
    all.starts_of = [](std::string_view name) {
      return name == "alias"  ? std::vector<uint64_t>{0x1100}
             : name == "both" ? std::vector<uint64_t>{0x1000, 0x1100}
                              : std::vector<uint64_t>();
    };
    const auto table = histogram_table(all, {what, {}});
    return table ? fmt::format("{:#x}", table->low) : table.error().text();
  };
  EXPECT_EQ(with_names("g"), "0x1100");
  EXPECT_EQ(with_names("alias"), "0x1100");
  EXPECT_EQ(with_names("both"), "both: is the name of 2 functions: f, g");
  EXPECT_EQ(with_names("ns::f"), "ns::f: is the name of 2 functions: ns::f(char), ns::f(int)");
  EXPECT_EQ(with_names("q"), "q: no such function in program");
  EXPECT_EQ(error("0x20-0x10"), "0x20-0x10: the range is empty: its end is not after its start");
  for (const char *text : {"0", "1", "0x10000", "x", "", "-1"})
    EXPECT_FALSE(scale_of(text, "--scale")) << text;
  EXPECT_EQ(scale_of("0x7FFF", "--scale").value(), 0x7FFFu);
  EXPECT_EQ(scale_of("65535", "--scale").value(), 0xFFFFu);
}

// Knows one exported function of stripped code.
class Exported final : public Symbolizer {
public:
  ModuleId module(const ModuleKey &, Diagnostics &) override { return {}; }
  std::optional<uint64_t> link_address(ModuleId, uint64_t) override { return {}; }
  void frames(ModuleId, uint64_t, std::vector<SourceFrame> &) override {}
  std::vector<FunctionExtent> functions(ModuleId) override {
    return {{0x1000, 0x1200, "exported", "exported"}};
  }
  std::string_view build_id(ModuleId) override { return {}; }
  void save_cache() override {}
};

TEST(Histogram, DoesNotNameHiddenCodeByTheSymbolBeforeIt) {
  StackProfileBuilder stacks;
  stacks.add_value_type("ticks", "count");
  Mapping mapping;
  mapping.path = stacks.intern("/bin/program");
  mapping.start = 0x1000;
  mapping.limit = 0x2000;
  mapping.has_bias = true;
  const MappingId id = stacks.add_mapping(mapping);
  for (const auto &[pc, name] : {std::pair(0x1004, "exported"), std::pair(0x1124, "program+0x1120"),
                                 std::pair(0x1140, "program+0x1140")}) {
    const SourceLine line{stacks.add_function({stacks.intern(name), {}, {}, {}, 0}), {}, 0};
    stacks.add_sample(stacks.push(none<StackId>, stacks.add_location(id, static_cast<uint64_t>(pc),
                                                                     std::span(&line, 1))),
                      none<ThreadId>, none<PartId>, 1);
  }
  Exported names;
  const auto seen = pc_view(*stacks.finish(), "", [&](MappingId) {
    return std::optional<PcNames>({&names, ModuleId{}, "/bin/program"});
  });
  ASSERT_TRUE(seen);
  std::vector<std::string> functions;
  for (const PcView::Function &each : seen->functions)
    functions.push_back(fmt::format("{:#x}-{:#x} {}", each.start, each.end, each.name));
  EXPECT_EQ(functions,
            (std::vector<std::string>{"0x1000-0x1120 exported", "0x1120-0x1140 program+0x1120",
                                      "0x1140-0x1200 program+0x1140"}));
}

TEST(Histogram, ShowsSamplesAndCosts) {
  StackProfileBuilder stacks;
  stacks.add_value_type("ticks", "count");
  Mapping mapping;
  mapping.path = stacks.intern("/bin/program");
  mapping.start = 0x2000;
  mapping.limit = 0x3000;
  mapping.bias = 0x1000;
  mapping.has_bias = true;
  const MappingId id = stacks.add_mapping(mapping);
  const SourceLine line{stacks.add_function({stacks.intern("f"), {}, {}, {}, 0}),
                        stacks.intern("f.c"), 12};
  stacks.add_sample(
      stacks.push(none<StackId>, stacks.add_location(id, 0x2010, std::span(&line, 1))),
      none<ThreadId>, none<PartId>, 3);
  stacks.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 1);
  const auto view_of_stacks = pc_view(*stacks.finish(), "f");
  ASSERT_TRUE(view_of_stacks);
  const auto table = histogram_table(*view_of_stacks, {"f", {}});
  ASSERT_TRUE(table);
  ASSERT_EQ(table->rows.size(), 1u);
  EXPECT_EQ(table->rows[0].low, 0x1010u);
  EXPECT_EQ(table->rows[0].ticks, 3u);
  EXPECT_EQ(table->rows[0].symbol, "f");
  EXPECT_EQ(table->rows[0].lines, "f.c:12");
  EXPECT_EQ(table->outside, 1u);

  StackProfileBuilder remote; // it has no mappings
  remote.add_value_type("ticks", "count");
  const SourceLine there{remote.add_function({remote.intern("f"), {}, {}, {}, 0}), {}, 0};
  remote.add_sample(remote.push(none<StackId>,
                                remote.add_location(none<MappingId>, 0x8010, std::span(&there, 1))),
                    none<ThreadId>, none<PartId>, 3);
  const auto view_of_remote =
      pc_view(*remote.finish(), "f", [](MappingId) -> std::optional<PcNames> {
        ADD_FAILURE() << "a profile without mappings must not be asked for their names";
        return std::nullopt;
      });
  ASSERT_TRUE(view_of_remote);
  const auto table_of_remote = histogram_table(*view_of_remote, {"f", {}});
  ASSERT_TRUE(table_of_remote);
  ASSERT_EQ(table_of_remote->rows.size(), 1u);
  EXPECT_EQ(table_of_remote->rows[0].low, 0x8010u);
  EXPECT_EQ(table_of_remote->rows[0].ticks, 3u);
  EXPECT_EQ(table_of_remote->rows[0].symbol, "f");

  CostProfileBuilder costs;
  costs.add_event("Ir");
  costs.set_positions(true, true);
  const CostPartId part = costs.add_part({});
  const FileId file = costs.add_file("g.c");
  costs.begin_block(part, costs.add_function("g", file, costs.add_object("/bin/program")), file);
  const uint64_t cost = 9;
  ASSERT_FALSE(costs.add_cost({0x1234, 5, 0}, std::span(&cost, 1)));
  const auto view_of_costs = pc_view(*costs.finish(), "");
  ASSERT_TRUE(view_of_costs);
  const auto shown = histogram_table(*view_of_costs);
  ASSERT_TRUE(shown);
  EXPECT_EQ(to_json(*shown),
            "{\"object\":\"/bin/program\",\"event\":\"Ir\",\"total\":9,\"outside\":0,\"bins\":[{"
            "\"low\":4660,\"high\":4661,\"ticks\":9,\"function\":\"g\",\"lines\":\"g.c:5\"}]}\n");
}

// Addresses a page apart take no memory for the pages between them.
TEST(Histogram, UsesMemoryLinearInTheAddresses) {
  constexpr uint64_t addresses = 60'000;
  CostProfileBuilder costs;
  costs.add_event("Ir");
  costs.set_positions(true, true);
  const CostPartId part = costs.add_part({});
  const FileId file = costs.add_file("f.c");
  costs.begin_block(part, costs.add_function("f", file, costs.add_object("/bin/program")), file);
  const uint64_t cost = 2;
  for (uint64_t i = 1; i <= addresses; ++i)
    ASSERT_FALSE(costs.add_cost({i * 4096, 1, 0}, std::span(&cost, 1)));
  const auto view = pc_view(*costs.finish(), "");
  ASSERT_TRUE(view);
  size_t counters = 0;
  for (const PcRange &range : view->histogram.ranges())
    counters += range.counters.size();
  EXPECT_EQ(counters, addresses);
  const auto table = histogram_table(*view);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->total, 2 * addresses);
  EXPECT_EQ(ticks_of(*table), 2 * addresses);
}

TEST(Histogram, MakesRangesAroundTheCountedAddresses) {
  const auto histogram = histogram_of({{10, 1}, {26, 2}, {43, 3}}, 4, 100);
  ASSERT_TRUE(histogram);
  ASSERT_EQ(histogram->ranges().size(), 2u);
  EXPECT_EQ(histogram->ranges()[0].low_pc, 10u);
  EXPECT_EQ(histogram->ranges()[0].high_pc, 27u);
  EXPECT_EQ(histogram->ranges()[1].low_pc, 43u);
  EXPECT_EQ(histogram->ranges()[1].counters, std::vector<uint64_t>{3});
  EXPECT_EQ(histogram->ticks(), 6u);
  EXPECT_EQ(histogram->outside(), 4u);
  EXPECT_EQ(histogram->rate_hz(), 100u);
  EXPECT_TRUE(histogram_of({{UINT64_MAX - 1, 1}}, 0, 0));
  EXPECT_EQ(histogram_of({{UINT64_MAX, 1}}, 0, 0).error().code, ErrorCode::invalid_input);
}

TEST(Histogram, RefusesTooManyAddresses) {
  std::map<uint64_t, uint64_t> ticks;
  for (uint64_t i = 0; i < 20'000; ++i)
    ticks[i * 16] = 1;
  EXPECT_TRUE(histogram_of(ticks, 0, 0, 3 << 20));
  const auto refused = histogram_of(ticks, 0, 0, 2 << 20);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::limit);
  EXPECT_EQ(refused.error().text(),
            "a histogram of its 20000 addresses takes more than 2 MiB of memory");
  for (uint64_t i = 0; i < 20'000; ++i)
    ticks[i * 4096] = 1;
  EXPECT_FALSE(histogram_of(ticks, 0, 0, 1 << 20));
}

} // namespace
} // namespace tally::report_histogram_test
