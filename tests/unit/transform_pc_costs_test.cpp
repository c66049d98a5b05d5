#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "random_pcs.h"
#include "transform/pc_costs.h"

namespace tally::transform_pc_costs_test {
namespace {

// Returns the functions and lines that a test sets.
class Names final : public Symbolizer {
public:
  std::vector<FunctionExtent> table;
  uint64_t bytes_of_a_line = 4;
  ModuleId module(const ModuleKey &, Diagnostics &) override { return {}; }
  std::optional<uint64_t> link_address(ModuleId, uint64_t) override { return {}; }
  void frames(ModuleId, uint64_t pc, std::vector<SourceFrame> &out) override {
    out.push_back({"f", "f", "f.c", 1, "f.c", static_cast<uint32_t>(pc / bytes_of_a_line)});
  }
  std::vector<FunctionExtent> functions(ModuleId) override { return table; }
  std::string_view build_id(ModuleId) override { return {}; }
  void save_cache() override {}
  PcNames names() { return {this, {}, "/bin/program"}; }
};

PcProfile profile_of(PcRange range, std::vector<PcArc> arcs = {}) {
  PcProfileBuilder builder;
  EXPECT_TRUE(builder.add_range(std::move(range), 100, "seconds", 's'));
  for (const PcArc &arc : arcs)
    EXPECT_TRUE(builder.add_arc(arc));
  auto profile = builder.finish();
  EXPECT_TRUE(profile);
  return std::move(*profile);
}

struct Shown {
  std::string name;
  uint64_t ticks = 0;
  double exact = 0;
  friend bool operator==(const Shown &, const Shown &) = default;
};

std::vector<Shown> functions_of(const CostProfile &costs) {
  std::vector<Shown> out;
  for (uint32_t f = 0; f < costs.functions().size(); ++f) {
    const auto id = static_cast<CostFunctionId>(f);
    Shown each{std::string(costs.strings[costs.functions()[id].name]), 0, costs.exact_self(id)};
    for (const CostBlock &block : costs.blocks())
      for (uint32_t row = block.first_cost; block.function == id && row < block.last_cost; ++row) {
        uint64_t ticks = 0;
        costs.costs().get(row, std::span(&ticks, 1));
        each.ticks += ticks;
      }
    out.push_back(each);
  }
  return out;
}

TEST(PcCosts, SharesABinByBytesAndKeepsTheExactShare) {
  Names names;
  names.table = {{0x1000, 0x1046, "fa", "fa"}, {0x1046, 0x1100, "fb", "fb"}};
  const PcNames program = names.names();
  const auto costs = costs_of(profile_of({0x1040, 0x1080, {.bytes = 64}, {1000}}), &program);
  ASSERT_TRUE(costs);
  EXPECT_EQ(functions_of(*costs), (std::vector<Shown>{{"fa", 94, 93.75}, {"fb", 906, 906.25}}));
  EXPECT_FALSE(costs->has_call_costs);
  EXPECT_EQ(costs->totals()[0], 1000u);
}

TEST(PcCosts, GivesAFunctionAtAnOddAddressTheByteBefore) {
  Names names;
  names.table = {{0x1000, 0x1007, "fa", "fa"}, {0x1007, 0x1010, "fb", "fb"}};
  const PcNames program = names.names();
  const auto costs =
      costs_of(profile_of({0x1000, 0x1010, {.bytes = 2}, {1, 0, 0, 7, 0, 0, 0, 2}}), &program);
  ASSERT_TRUE(costs);
  EXPECT_EQ(functions_of(*costs), (std::vector<Shown>{{"fa", 1, 1}, {"fb", 9, 9}}));
}

TEST(PcCosts, KeepsUnattributedTicksInTheTotal) {
  Names names;
  names.table = {{0x1000, 0x1008, "fa", "fa"}};
  const PcNames program = names.names();
  const auto costs = costs_of(profile_of({0x1000, 0x1010, {.bytes = 8}, {5, 6}}), &program);
  ASSERT_TRUE(costs);
  EXPECT_EQ(functions_of(*costs), (std::vector<Shown>{{"fa", 5, 5}, {"[unknown]", 6, 6}}));
}

TEST(PcCosts, GivesCallsCountsButNoCosts) {
  Names names;
  names.table = {{0x1000, 0x1008, "fa", "fa"}, {0x1008, 0x1010, "fb", "fb"}};
  const PcNames program = names.names();
  const auto costs = costs_of(
      profile_of({0x1000, 0x1010, {.bytes = 2}, std::vector<uint64_t>(8, 1)},
                 {{0x1005, 0x1008, 3}, {0x1006, 0x1008, 4}, {0, 0x1000, 5}, {0x1009, 0x9000, 6}}),
      &program);
  ASSERT_TRUE(costs);
  std::vector<std::tuple<std::string, std::string, uint64_t>> calls;
  const auto name = [&](CostFunctionId id) {
    return std::string(costs->strings[costs->functions()[id].name]);
  };
  for (const CostBlock &block : costs->blocks())
    for (uint32_t row = block.first_call; row < block.last_call; ++row)
      calls.emplace_back(name(block.function), name(costs->call(row).callee),
                         costs->call(row).count);
  EXPECT_EQ(calls,
            (decltype(calls){
                {"[unknown]", "fa", 5}, {"fa", "fb", 3}, {"fa", "fb", 4}, {"fb", "[unknown]", 6}}));
}

// Each address would be a separate function.
TEST(PcCosts, RefusesTooManyAddressesWithoutNames) {
  const size_t bins = 1'000'001;
  const PcProfile profile = profile_of({.low_pc = 0x1000,
                                        .high_pc = 0x1000 + 2 * bins,
                                        .bins = {.bytes = 2},
                                        .counters = std::vector<uint64_t>(bins, 1)});
  const auto costs = costs_of(profile);
  ASSERT_FALSE(costs);
  EXPECT_EQ(costs.error().code, ErrorCode::limit);
}

TEST(PcCosts, NamesABinByItsAddressWithoutNames) {
  const auto costs = costs_of(profile_of({0x1000, 0x1008, {.bytes = 4}, {3, 4}}));
  ASSERT_TRUE(costs);
  EXPECT_EQ(functions_of(*costs), (std::vector<Shown>{{"0x1000", 3, 0}, {"0x1004", 4, 0}}));
  Names none;
  const PcNames program = none.names();
  EXPECT_EQ(costs_of(PcProfile(), &program).error().text(),
            "/bin/program: has no symbols: its functions are not known");
}

TEST(PcCosts, KeepsAllTicks) {
  std::mt19937_64 random(61);
  for (int round = 0; round < 500; ++round) {
    const PcProfile profile = random_pcs(random);
    Names names;
    names.bytes_of_a_line = 1 + random() % 9;
    for (uint64_t pc = 0x1000 + random() % 200; names.table.size() < 30;) {
      const uint64_t end = pc + 1 + random() % 90;
      names.table.push_back({pc, end, names.table.size() % 2 ? "f" : "g", ""});
      pc = end;
    }
    const PcNames program = names.names();
    const auto costs = costs_of(profile, &program);
    ASSERT_TRUE(costs);
    EXPECT_EQ(costs->totals()[0], profile.histogram().ticks());
    double exact = 0;
    for (const Shown &each : functions_of(*costs))
      exact += each.exact;
    EXPECT_NEAR(exact, static_cast<double>(profile.histogram().ticks()), 1e-6);
  }
}

// --- histograms of samples and costs

struct Samples {
  StackProfileBuilder builder;
  MappingId program, library;
  Samples() {
    builder.add_value_type("ticks", "count");
    builder.set_period_ns(1'000'000);
    program = add("/bin/program", 0x555500000000);
    library = add("/lib/libc.so.6", 0x7F0000000000);
  }
  MappingId add(std::string_view path, uint64_t bias) {
    Mapping mapping;
    mapping.path = builder.intern(path);
    mapping.start = bias + 0x1000;
    mapping.limit = bias + 0x9000;
    mapping.bias = bias;
    mapping.has_bias = true;
    return builder.add_mapping(mapping);
  }
  void sample(MappingId mapping, uint64_t address, std::string_view function, int64_t ticks) {
    const SourceFunctionId id = builder.add_function({builder.intern(function), {}, {}, {}, 0});
    const SourceLine line{id, {}, 0};
    builder.add_sample(
        builder.push(none<StackId>, builder.add_location(mapping, address, std::span(&line, 1))),
        none<ThreadId>, none<PartId>, ticks);
  }
};

std::map<uint64_t, uint64_t> ticks_of(const PcProfile &profile) {
  std::map<uint64_t, uint64_t> out;
  for (const PcRange &range : profile.histogram().ranges())
    for (size_t bin = 0; bin < range.counters.size(); ++bin)
      if (range.counters[bin] > 0)
        out[range.extent(bin).first] = range.counters[bin];
  return out;
}

TEST(PcCosts, CountsSamplesByLinkTimeAddress) {
  Samples samples;
  samples.sample(samples.program, 0x555500001003, "f", 200'000);
  samples.sample(samples.program, 0x555500001204, "g", 2);
  samples.sample(samples.library, 0x7F0000001000, "memcpy", 7);
  const auto stacks = samples.builder.finish();
  ASSERT_TRUE(stacks);
  const auto pcs = to_pc_profile(*stacks);
  ASSERT_TRUE(pcs);
  EXPECT_EQ(ticks_of(pcs->profile), (std::map<uint64_t, uint64_t>{{0x1002, 200'000}, {0x1204, 2}}));
  EXPECT_EQ(pcs->profile.histogram().rate_hz(), 1000u);
  EXPECT_EQ(pcs->profile.histogram().dimension(), "seconds");
  EXPECT_TRUE(pcs->profile.arcs().empty());
  EXPECT_EQ(pcs->lost.front(), "7 ticks outside of program's own text");
}

TEST(PcCosts, KeepsTheLastByteBeforeAFunctionApart) {
  Samples samples;
  samples.sample(samples.program, 0x555500001006, "f", 5);
  samples.sample(samples.program, 0x555500001007, "g", 9);
  const auto stacks = samples.builder.finish();
  const auto pcs = to_pc_profile(*stacks);
  ASSERT_TRUE(pcs);
  EXPECT_EQ(ticks_of(pcs->profile), (std::map<uint64_t, uint64_t>{{0x1004, 5}, {0x1006, 9}}));
}

TEST(PcCosts, RefusesSamplesWithoutAddressesOfTheProgram) {
  Samples outside;
  outside.sample(outside.library, 0x7F0000001000, "memcpy", 7);
  EXPECT_EQ(to_pc_profile(*outside.builder.finish()).error().code, ErrorCode::no_data);
  StackProfileBuilder folded;
  folded.add_value_type("ticks", "count");
  const SourceLine line{folded.add_function({folded.intern("f"), {}, {}, {}, 0}), {}, 0};
  folded.add_sample(
      folded.push(none<StackId>, folded.add_location(none<MappingId>, 0, std::span(&line, 1))),
      none<ThreadId>, none<PartId>, 1);
  const auto refused = to_pc_profile(*folded.finish());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_EQ(refused.error().message,
            "the profile has no addresses, only names: no histogram can be made of it");
}

// Only the debugger knows where the code of a remote target is.
TEST(PcCosts, RefusesSamplesOfARemoteProgram) {
  StackProfileBuilder remote;
  remote.add_value_type("ticks", "count");
  const SourceLine line{remote.add_function({remote.intern("f"), {}, {}, {}, 0}), {}, 0};
  remote.add_sample(
      remote.push(none<StackId>, remote.add_location(none<MappingId>, 0x8000, std::span(&line, 1))),
      none<ThreadId>, none<PartId>, 1);
  const auto refused = to_pc_profile(*remote.finish());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "the profile does not state the size and byte order of the "
                                     "program's pointers, which the format needs");
}

CostProfile costs_with(std::string_view event, bool addresses) {
  CostProfileBuilder out;
  out.add_event(event);
  out.set_positions(addresses, true);
  CostPart part;
  part.command = out.intern("./program --fast");
  const CostPartId id = out.add_part(part);
  const ObjectId program = out.add_object("/bin/program"), library = out.add_object("/lib/c.so");
  const FileId file = out.add_file("p.c");
  const CostFunctionId f = out.add_function("f", file, program),
                       g = out.add_function("g", file, program),
                       h = out.add_function("h", file, library);
  const auto cost = [&](CostFunctionId function, uint64_t address, uint64_t value) {
    out.begin_block(id, function, file);
    EXPECT_FALSE(out.add_cost({address, 1, 0}, std::span(&value, 1)));
  };
  cost(f, 0x1000, 70'000);
  cost(g, 0x1100, 5);
  cost(h, 0x1000, 11);
  const uint64_t inclusive = 5;
  out.begin_block(id, f, file);
  out.add_call({{0x1002, 1, 0}, g, {0x1100, 1, 0}, 3}, std::span(&inclusive, 1));
  out.add_call({{0x1004, 1, 0}, h, {0x1000, 1, 0}, 4}, std::span(&inclusive, 1));
  auto costs = out.finish();
  EXPECT_TRUE(costs);
  return std::move(*costs);
}

TEST(PcCosts, ConvertsCostsByAddress) {
  const auto pcs = to_pc_profile(costs_with("Ir", true));
  ASSERT_TRUE(pcs);
  EXPECT_EQ(ticks_of(pcs->profile), (std::map<uint64_t, uint64_t>{{0x1000, 70'000}, {0x1100, 5}}));
  EXPECT_EQ(pcs->profile.histogram().rate_hz(), 1u);
  EXPECT_EQ(pcs->profile.histogram().dimension(), "Ir");
  ASSERT_EQ(pcs->profile.arcs().size(), 1u);
  EXPECT_EQ(pcs->profile.arcs()[0], (PcArc{0x1002, 0x1100, 3}));
  EXPECT_EQ(pcs->lost.front(), "11 Ir outside of program's own text");
  const auto sampled = to_pc_profile(costs_with("ticks", true));
  ASSERT_TRUE(sampled);
  EXPECT_TRUE(sampled->profile.arcs().empty());
  const auto refused = to_pc_profile(costs_with("Ir", false));
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("--dump-instr=yes"), std::string::npos);
}

} // namespace
} // namespace tally::transform_pc_costs_test
