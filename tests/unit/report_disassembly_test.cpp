#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "formats/callgrind/read.h"
#include "random_profile.h"
#include "report/disassembly.h"
#include "temporary.h"

namespace tally::report_disassembly_test {
namespace {

// A module with instructions of 1 to 7 bytes. `f` has the code [0x100, 0x180) and its cold part
// [0x400, 0x420); [0x120, 0x140) is inlined code.
class FakeSymbolizer : public Symbolizer {
public:
  explicit FakeSymbolizer(uint64_t seed) {
    Random random(seed);
    for (uint64_t at = 0x100; at < 0x500;) {
      starts.insert(at);
      const uint64_t next = at + 1 + pick(random, 7);
      at = std::ranges::any_of(edges, [&](uint64_t e) { return at < e && e < next; })
               ? *std::ranges::upper_bound(edges, at)
               : next;
    }
  }
  ModuleId module(const ModuleKey &key, Diagnostics &) override {
    return static_cast<ModuleId>(key.path == "/bin/p");
  }
  std::optional<uint64_t> link_address(ModuleId, uint64_t) override { return {}; }
  void frames(ModuleId, uint64_t at, std::vector<SourceFrame> &out) override {
    const bool in_f = (at >= 0x100 && at < 0x180) || (at >= 0x400 && at < 0x420);
    if (at >= 0x120 && at < 0x140)
      out.push_back({"inlined", {}, {}, 0, "/src/i.h", 7});
    out.push_back({in_f ? "f" : "g", {}, {}, 0, "/src/f.c", static_cast<uint32_t>(at >> 4)});
  }
  std::vector<InstructionRange> code_of(ModuleId, uint64_t at, size_t frame) override {
    if (at >= 0x120 && at < 0x140 && frame == 0)
      return {{0x120, 0x140}};
    if ((at >= 0x100 && at < 0x180) || (at >= 0x400 && at < 0x420))
      return {{0x100, 0x180}, {0x400, 0x420}};
    return {};
  }
  Result<std::vector<Instruction>> instructions(ModuleId, InstructionRange range,
                                                DisassemblyFlavor) override {
    std::vector<Instruction> out;
    for (const uint64_t start : starts)
      if (start >= range.start && start < range.end)
        out.push_back({start, "nop"});
    return out;
  }
  std::string_view build_id(ModuleId) override { return {}; }
  void save_cache() override {}

  std::set<uint64_t> starts;
  static constexpr std::array<uint64_t, 8> edges{0x120, 0x140, 0x180, 0x200,
                                                 0x400, 0x420, 0x480, 0x500};
};

constexpr uint64_t bias = 0x7000;

// Returns stacks of f, g and the inlined function, with their addresses.
StackProfile random_code(Random &random, FakeSymbolizer &symbolizer) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  Mapping mapping;
  mapping.start = bias;
  mapping.limit = bias + 0x1000;
  mapping.path = builder.intern("/bin/p");
  mapping.bias = bias;
  mapping.has_bias = true;
  const MappingId id = builder.add_mapping(mapping);
  for (int i = 0; i < 60; ++i) {
    StackId stack = none<StackId>;
    for (uint64_t depth = pick(random, 6) + 1; depth-- > 0;) {
      const uint64_t at = std::array<uint64_t, 3>{0x100, 0x400, 0x200}[pick(random, 3)] +
                          pick(random, 0x20) * (pick(random, 4) + 1) % 0x80;
      const uint64_t link = at >= 0x420 && at < 0x480 ? at - 0x300 : at;
      std::vector<SourceFrame> frames;
      symbolizer.frames({}, link, frames);
      std::vector<SourceLine> lines;
      for (const SourceFrame &frame : frames) {
        SourceFunction function;
        function.name = builder.intern(frame.function);
        function.object = builder.intern("/bin/p");
        lines.push_back({builder.add_function(function), builder.intern(frame.file), frame.line});
      }
      stack = builder.push(stack, builder.add_location(id, bias + link, lines));
    }
    builder.add_sample(stack, none<ThreadId>, none<PartId>,
                       static_cast<int64_t>(pick(random, 9) + 1));
  }
  auto profile = builder.finish();
  EXPECT_TRUE(profile) << profile.error().text();
  return std::move(*profile);
}

TEST(Disassembly, AgreesWithCountingEachSample) {
  Random random(91);
  for (uint64_t round = 0; round < rounds(300); ++round) {
    FakeSymbolizer symbolizer(round);
    const StackProfile profile = random_code(random, symbolizer);
    for (const std::string name : {"f", "inlined"}) {
      Diagnostics diagnostics;
      auto code = function_code(profile, name, symbolizer, diagnostics, 0);
      if (!code) {
        EXPECT_EQ(code.error().code, ErrorCode::not_found) << code.error().text();
        continue;
      }
      ASSERT_TRUE(disassemble(*code, symbolizer));
      const auto shown = disassembly(profile, *code, name, symbolizer);
      ASSERT_TRUE(shown) << shown.error().text();
      ASSERT_EQ(shown->objects.size(), 1u);
      const Disassembly::Object &object = shown->objects[0];
      EXPECT_FALSE(object.partly);
      EXPECT_EQ(object.unplaced, 0u);

      std::map<uint64_t, std::pair<uint64_t, uint64_t>> plain;
      for (size_t i = 0; i < profile.sample_count(); ++i) {
        const Sample sample = profile.sample(i);
        const auto cost = static_cast<uint64_t>(sample.values[0]);
        std::set<uint64_t> seen;
        bool leaf = true;
        for (StackId at = sample.stack; at != none<StackId>; at = profile.stack_caller(at)) {
          const uint64_t address = profile.location(profile.stack_location(at)).address - bias;
          const uint64_t start = *std::prev(symbolizer.starts.upper_bound(address));
          plain[start].first += leaf ? cost : 0;
          plain[start].second += seen.insert(start).second ? cost : 0;
          leaf = false;
        }
      }
      uint64_t self = 0;
      for (const InstructionRow &row : object.rows) {
        const auto expected =
            plain.contains(row.address) ? plain[row.address] : std::pair<uint64_t, uint64_t>();
        ASSERT_EQ(std::pair(row.self, row.inclusive), expected) << row.address;
        self += row.self;
      }
      EXPECT_EQ(object.self, self);
      const auto table = flat_table(profile, By::function);
      const auto row = std::ranges::find(table->rows, name, &FlatRow::name);
      EXPECT_EQ(object.own, row->self[0]);
      if (name == "f") {
        EXPECT_EQ(object.first_rows.size(),
                  2u); // its cold part is included, sampled or not
        EXPECT_EQ(object.rows.size(),
                  static_cast<size_t>(std::ranges::count_if(symbolizer.starts, [](uint64_t at) {
                    return (at >= 0x100 && at < 0x180) || (at >= 0x400 && at < 0x420);
                  })));
      }
    }
  }
}

TEST(Disassembly, LimitsCodeOfUnknownExtentToTheSamples) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  SourceFunction function;
  function.name = builder.intern("jit");
  const SourceLine line{builder.add_function(function), {}, 0};
  for (const uint64_t address : {0x9010U, 0x9000U, 0x9005U})
    builder.add_sample(
        builder.push(none<StackId>, builder.add_location(none<MappingId>, address, {{line}})),
        none<ThreadId>, none<PartId>, 1);
  const auto profile = builder.finish();
  ASSERT_TRUE(profile);
  FakeSymbolizer symbolizer(1);
  Diagnostics diagnostics;
  auto code = function_code(*profile, "jit", symbolizer, diagnostics, 0);
  ASSERT_TRUE(code);
  ASSERT_EQ(code->objects.size(), 1u);
  EXPECT_TRUE(code->objects[0].partly);
  EXPECT_EQ(code->objects[0].ranges, (std::vector<InstructionRange>{{0x9000, 0x9011}}));
  EXPECT_EQ(disassemble(*code, symbolizer).error().code, ErrorCode::unsupported);
  code->objects[0].instructions = {{0x9000, "a"}, {0x9005, "b"}}; // as a debugger reports them
  const auto shown = disassembly(*profile, *code, "jit", symbolizer);
  ASSERT_TRUE(shown);
  EXPECT_EQ(shown->objects[0].rows[0].self, 1u);
  EXPECT_EQ(shown->objects[0].rows[1].self, 2u);
}

TEST(Disassembly, ShowsSelfCostsOfProfilesWithAddresses) {
  const auto profile_of = [](const std::string &text) {
    Diagnostics diagnostics;
    auto read = callgrind::read(*ByteSource::of(text, "x"), diagnostics);
    EXPECT_TRUE(read) << read.error().text();
    return std::get<CostProfile>(std::move(*read));
  };
  FakeSymbolizer symbolizer(3);
  Diagnostics diagnostics;
  const auto lines = profile_of("events: Ir\nob=/bin/p\nfl=f.c\nfn=f\n3 10\n");
  const auto refused = function_code(lines, "f", symbolizer, diagnostics);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::unsupported);
  EXPECT_EQ(function_code(lines, "nowhere", symbolizer, diagnostics).error().code,
            ErrorCode::not_found);

  const auto profile = profile_of("positions: instr line\nevents: Ir\nob=/bin/p\nfl=f.c\nfn=f\n"
                                  "0x100 3 10\n0x101 3 5\n0x400 9 1\nfn=g\n0x200 1 99\n");
  auto code = function_code(profile, "f", symbolizer, diagnostics);
  ASSERT_TRUE(code) << code.error().text();
  ASSERT_TRUE(disassemble(*code, symbolizer));
  const auto shown = disassembly(profile, *code, "f", symbolizer);
  ASSERT_TRUE(shown);
  EXPECT_FALSE(shown->has_inclusive);
  EXPECT_EQ(shown->objects[0].self, 16u);
  EXPECT_EQ(shown->objects[0].own, 16u);
}

TEST(DisassemblyText, InsertsSourceLinesWithinTheWidth) {
  TemporaryFolder folder;
  folder.put("f.c", "one\n\tint two;\n");
  Disassembly all;
  all.function = "f";
  all.event = "ticks";
  all.total = 10;
  all.has_inclusive = true;
  Disassembly::Object object;
  object.path = "/bin/p";
  object.self = 4;
  object.own = 3;
  object.rows = {{0x10, "push %rbp", 3, 3, "f", true, folder / "f.c", 2},
                 {0x11, "mov\t%rsp,%rbp", 0, 0, "f", true, folder / "f.c", 2},
                 {0x20, "call 0x99 <a name that is much longer than what is left>", 1, 9, "g",
                  false, "/nowhere/g.h", 5}};
  object.first_rows = {0, 2};
  all.objects = {object};
  EXPECT_EQ(to_text(all, {}, {.limit = 0, .width = 60}),
            "f in p: 4 of 10 ticks (40.00%), 3 of them its own\n"
            " self%  self  incl  address  instruction\n"
            "f.c:2: int two;\n"
            "30.00%     3     3     0x10  push %rbp\n"
            "                       0x11  mov     %rsp,%rbp\n"
            "…\n"
            "g.h:5, g\n"
            "10.00%     1     9     0x20  call 0x99 <a name that is much…\n");
  const auto json = nlohmann::json::parse(to_json(all));
  EXPECT_EQ(json["objects"][0]["instructions"][2]["line"], 5);
  EXPECT_EQ(nlohmann::json::parse(to_json(all, 1))["objects"][0]["instructions"].size(), 1u);
}

} // namespace
} // namespace tally::report_disassembly_test
