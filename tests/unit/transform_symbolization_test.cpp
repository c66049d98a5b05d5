#include <algorithm>
#include <array>

#include <gtest/gtest.h>

#include "model/cost_profile.h"
#include "random_profile.h"
#include "transform/symbolization.h"

namespace tally::transform_symbolization_test {
namespace {

// Knows a function `at_N` in each 16 bytes of "/bin/known", each with a "hot" line inlined.
class FakeSymbolizer : public Symbolizer {
public:
  ModuleId module(const ModuleKey &key, Diagnostics &) override {
    return key.path == "/bin/known" ? ModuleId{1} : ModuleId{0};
  }
  std::optional<uint64_t> link_address(ModuleId module, uint64_t offset) override {
    return module == ModuleId{1} ? std::optional(offset + 0x400) : std::nullopt;
  }
  void frames(ModuleId module, uint64_t address, std::vector<SourceFrame> &out) override {
    if (module == ModuleId{1} && address == 0x2000)
      out.push_back({"exported", {}, {}, 0, {}, 0}); // a symbol that is shorter than its function
    if (module == ModuleId{1} && address >= 0x3700 && address < 0x3740) {
      // The rest of a function, a piece of it, and the rest inlined into another and into the
      // piece.
      out.push_back({"split", {}, {}, 0, {}, static_cast<uint32_t>(address)});
      if (address >= 0x3720)
        out.push_back({address < 0x3730 ? "host" : "split", {}, {}, 0, {}, 1});
      return;
    }
    if (module != ModuleId{1} || address >= 0x800)
      return;
    name_ = "at_" + std::to_string(address / 16);
    out.push_back({"hot", {}, "hot.h", 1, "hot.h", 2});
    out.push_back({name_, {}, "known.c", 3, "known.c", 4});
  }
  std::optional<uint64_t> function_start(ModuleId, uint64_t address) override {
    return address & ~uint64_t{0xFF};
  }
  std::string_view symbol_name(ModuleId, uint64_t address) override {
    return address == 0x3710 || address == 0x3730 ? "split.part.0" : "other";
  }
  std::string_view build_id(ModuleId) override { return "abcd"; }
  void save_cache() override {}

  void begin_fetching(std::span<const ModuleId> modules, Diagnostics &) override {
    wanted.assign(modules.begin(), modules.end());
    ++begun;
  }
  std::optional<FetchProgress> continue_fetching(std::chrono::milliseconds,
                                                 Diagnostics &) override {
    return files_to_come == 0
               ? std::nullopt
               : std::optional(FetchProgress{"/bin/known", 0, 0, 0, files_to_come--});
  }
  std::vector<ModuleId> wanted;
  int begun = 0;
  size_t files_to_come = 0;

private:
  std::string name_;
};

class SymbolizationTest : public testing::Test {
protected:
  SymbolizationTest() {
    builder.add_value_type("ticks", "count");
    Mapping mapping{0x10000, 0x20000, 0, builder.intern("/bin/known"), {}, 0, 0, 0, false};
    known = builder.add_mapping(mapping);
    mapping = {0x30000, 0x40000, 0x100, builder.intern("/lib/gone.so"), {}, 0, 0, 0, false};
    gone = builder.add_mapping(mapping);
  }
  void sample(MappingId mapping, uint64_t address) {
    builder.add_sample(builder.push(none<StackId>, builder.add_location(mapping, address)),
                       none<ThreadId>, none<PartId>, 1);
  }
  StackProfile named(bool answer = false, std::string_view answered = "from_jit") {
    auto raw = builder.finish();
    EXPECT_TRUE(raw);
    Symbolization job(std::move(*raw), symbolizer, diagnostics);
    while (!job.step(std::chrono::milliseconds(0)))
      EXPECT_LE(job.done(), job.total());
    unnamed = job.unnamed();
    if (answer)
      for (const uint64_t address : unnamed)
        job.set_names(address,
                      std::array{Symbolization::Named{std::string(answered), "jit.js", 7}});
    auto profile = job.finish();
    EXPECT_TRUE(profile) << profile.error().text();
    return std::move(*profile);
  }
  // Returns the names of all functions, by falling self cost, then inclusive cost, then name.
  static std::vector<std::string> names(const StackProfile &profile) {
    const auto costs = aggregate(profile);
    EXPECT_TRUE(costs) << costs.error().text();
    const Counted rows = rows_of(*costs);
    std::map<FunctionKey, uint64_t> self;
    for (const auto &[location, cost] : rows.self)
      self[std::get<0>(location)] += cost[0];
    std::vector<std::tuple<uint64_t, uint64_t, std::string>> order;
    for (const auto &[function, inclusive] : rows.inclusive)
      order.emplace_back(~self[function], ~inclusive[0], std::get<2>(function));
    std::ranges::sort(order);
    std::vector<std::string> out;
    for (const auto &each : order)
      out.push_back(std::get<2>(each));
    return out;
  }
  StackProfileBuilder builder;
  MappingId known{}, gone{};
  FakeSymbolizer symbolizer;
  Diagnostics diagnostics;
  std::vector<uint64_t> unnamed;
};

TEST_F(SymbolizationTest, DebugFilesOfTheHottestModulesAreFetchedFirst) {
  sample(known, 0x10010);
  for (int i = 0; i < 3; ++i)
    sample(gone, 0x30010);
  named();
  EXPECT_EQ(symbolizer.wanted, (std::vector{ModuleId{0}, ModuleId{1}}));
  EXPECT_EQ(symbolizer.begun, 1);
}

TEST_F(SymbolizationTest, NamesAreLookedUpWhenTheDebugFilesAreThere) {
  sample(known, 0x10010);
  symbolizer.files_to_come = 2;
  auto raw = builder.finish();
  ASSERT_TRUE(raw);
  Symbolization job(std::move(*raw), symbolizer, diagnostics);
  EXPECT_FALSE(job.step(std::chrono::milliseconds(0)));
  ASSERT_TRUE(job.fetching());
  EXPECT_EQ(job.fetching()->all, 2);
  EXPECT_EQ(job.done(), 0);
  EXPECT_FALSE(job.step(std::chrono::milliseconds(0)));
  EXPECT_TRUE(job.step(std::chrono::milliseconds(0)));
  EXPECT_FALSE(job.fetching());
}

TEST_F(SymbolizationTest, FetchingCanBeSkipped) {
  sample(known, 0x10010);
  symbolizer.files_to_come = 1000;
  auto raw = builder.finish();
  ASSERT_TRUE(raw);
  Symbolization job(std::move(*raw), symbolizer, diagnostics);
  EXPECT_FALSE(job.step(std::chrono::milliseconds(0)));
  job.skip_fetching();
  EXPECT_TRUE(job.step(std::chrono::milliseconds(0)));
  const auto profile = job.finish();
  ASSERT_TRUE(profile);
  EXPECT_EQ(names(*profile).front(), "hot");
}

TEST_F(SymbolizationTest, NamesEverySample) {
  sample(known, 0x10010);         // link 0x410, inlined
  sample(known, 0x10F12);         // no name, but a start: 0x1300
  sample(gone, 0x30020);          // file offset 0x120
  sample(none<MappingId>, 0xABC); // in no mapping
  builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 1);
  const StackProfile profile = named();
  EXPECT_EQ(names(profile), (std::vector<std::string>{"0xabc", "[unknown]", "gone.so+0x120", "hot",
                                                      "known+0x1300", "at_65"}));
  EXPECT_EQ(unnamed, (std::vector<uint64_t>{0xABC, 0x10F12, 0x30020}));
  const auto costs = aggregate(profile);
  ASSERT_TRUE(costs) << costs.error().text();
  EXPECT_EQ(costs->totals()[0], 5u);
  EXPECT_EQ(profile.strings[profile.mappings()[known].build_id], "abcd");
}

TEST_F(SymbolizationTest, NamesAFunctionByTheSymbolAtItsStart) {
  sample(known, 0x11C10); // link 0x2010, in the function that begins at the symbol
  sample(known, 0x11F45); // link 0x2345, in a function without a symbol
  sample(known, 0x11F46);
  EXPECT_EQ(names(named()), (std::vector<std::string>{"known+0x2300", "exported"}));
}

TEST_F(SymbolizationTest, ShowsASplitFunctionOnce) {
  constexpr uint64_t rest = 0x13300, piece = 0x13310, in_host = 0x13320, in_piece = 0x13330;
  const auto shown = [&](const std::vector<uint64_t> &outermost_first) {
    StackId stack = none<StackId>;
    for (const uint64_t address : outermost_first)
      stack = builder.push(stack, builder.add_location(known, address));
    builder.add_sample(stack, builder.add_thread(1, 1, "t"), builder.add_part({}), 1);
    builder.add_time({5, 0, 0, 1});
    builder.add_pass({builder.intern("region"), 1, 2, 3});
    StackProfileBuilder empty;
    empty.add_value_type("ticks", "count");
    empty.add_mapping({0x10000, 0x20000, 0, empty.intern("/bin/known"), {}, 0, 0, 0, false});
    const StackProfile profile = named();
    EXPECT_EQ(profile.times().size(), 1u);
    EXPECT_EQ(profile.passes.size(), 1u);
    EXPECT_EQ(profile.parts().size(), 1u);
    std::string out;
    for (const Frame &frame : frames_of(profile, profile.sample(0).stack))
      out += std::get<2>(frame.function) + ' ';
    builder = std::move(empty);
    return out;
  };
  EXPECT_EQ(shown({rest, piece}), "split ");
  EXPECT_EQ(shown({in_host, piece}), "split host ");
  EXPECT_EQ(shown({rest, piece, 0x10010}), "hot at_65 split ");
  // Recursive calls stay.
  EXPECT_EQ(shown({rest, rest}), "split split ");
  EXPECT_EQ(shown({piece, piece}), "split split ");
  EXPECT_EQ(shown({rest, piece, rest, piece}), "split split ");
  EXPECT_EQ(shown({rest, in_piece, piece}), "split split ");
}

TEST_F(SymbolizationTest, UsesTheDebuggersNames) {
  sample(none<MappingId>, 0xABC);
  sample(gone, 0x30020);
  const StackProfile profile = named(true);
  EXPECT_EQ(names(profile), (std::vector<std::string>{"from_jit", "from_jit"})); // two objects
}

TEST_F(SymbolizationTest, NamesAStrippedFunctionConsistently) {
  sample(known, 0x10F12);
  sample(none<MappingId>, 0xABC); // LLDB's name is better than an address
  const std::string_view made_up = "___lldb_unnamed_symbol12";
  EXPECT_EQ(names(named(true, made_up)),
            (std::vector<std::string>{std::string(made_up), "known+0x1300"}));
}

TEST_F(SymbolizationTest, NamesManyAddressesInSlices) {
  for (uint64_t i = 0; i < 1000; ++i)
    sample(known, 0x10000 + i);
  EXPECT_EQ(names(named()).size(), 63u + 1); // at_64 … at_126, and `hot`
}

TEST_F(SymbolizationTest, KeepsTheProfilesOwnNames) {
  const SourceLine line{builder.add_function({builder.intern("mine"), {}, {}, {}, 0}), {}, 0};
  const LocationId at = builder.add_location(known, 0x10010, std::span(&line, 1));
  builder.add_sample(builder.push(none<StackId>, at), none<ThreadId>, none<PartId>, 1);
  EXPECT_EQ(names(named()), std::vector<std::string>{"mine"});
}

} // namespace
} // namespace tally::transform_symbolization_test
