#include <gtest/gtest.h>

#include <tally/version.h>

#include "formats/callgrind/write.h"
#include "formats/formats.h"
#include "random_profile.h"
#include "transform/merge.h"

namespace tally::formats_callgrind_test {
namespace {

Written written(const CostProfile &profile, bool compress = true) {
  auto out = callgrind::write(profile, {.compress_names = compress});
  EXPECT_TRUE(out) << out.error().text();
  return std::move(*out);
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

TEST(CallgrindWriter, WritesTheExpectedBytes) {
  CostProfileBuilder builder;
  builder.add_event("ticks");
  builder.add_event("ns", "Nanoseconds", "1000 ticks");
  builder.set_positions(true, true);
  CostPart part;
  part.pid = 12;
  part.thread = 3;
  part.number = 2;
  part.command = builder.intern("./a -x\n2");
  part.trigger = builder.intern("breakpoint 2, a.c:4");
  part.time_range = builder.intern("0.000000 s - 1.000000 s");
  part.descriptions.emplace_back(builder.intern("Note"), builder.intern("text"));
  const CostPartId id = builder.add_part(part);
  const FileId a = builder.add_file("a.c"), h = builder.add_file("a.h");
  const ObjectId bin = builder.add_object("/bin/a"), lib = builder.add_object("/lib/b.so");
  const CostFunctionId f = builder.add_function("f", a, bin),
                       g = builder.add_function("g", builder.add_file(""), lib);
  builder.begin_block(id, f, a);
  builder.add_cost({0x1000, 10}, Costs{3, 0});
  builder.add_call({{0x1000, 10}, g, {0x20, 0}, 5}, Costs{5, uint64_t{1} << 40});
  builder.add_cost({0x1004, 9}, Costs{0, 7});
  builder.begin_block(id, f, h);
  builder.add_cost({0x1008, 1}, Costs{1});
  builder.begin_block(id, g, builder.add_file(""));
  builder.add_cost({0x20, 0}, Costs{5, uint64_t{1} << 40});
  const auto profile = builder.finish();
  ASSERT_TRUE(profile) << profile.error().text();
  EXPECT_EQ(written(*profile).bytes, "# callgrind format\n"
                                     "version: 1\n"
                                     "creator: tally-" TALLY_VERSION "\n"
                                     "pid: 12\n"
                                     "cmd: ./a -x 2\n"
                                     "part: 2\n"
                                     "thread: 3\n"
                                     "desc: Timerange: 0.000000 s - 1.000000 s\n"
                                     "desc: Trigger: breakpoint 2, a.c:4\n"
                                     "desc: Note: text\n"
                                     "positions: instr line\n"
                                     "event: ns = 1000 ticks : Nanoseconds\n"
                                     "events: ticks ns\n"
                                     "summary: 9 1099511627783\n"
                                     "\n"
                                     "ob=(1) /bin/a\n"
                                     "fl=(1) a.c\n"
                                     "fn=(1) f\n"
                                     "0x1000 10 3\n"
                                     "cob=(2) /lib/b.so\n"
                                     "cfi=(2) ???\n"
                                     "cfn=(2) g\n"
                                     "calls=5 0x20 0\n"
                                     "* * 5 1099511627776\n"
                                     "+4 -1 0 7\n"
                                     "fi=(3) a.h\n"
                                     "+4 -8 1\n"
                                     "fe=(1)\n"
                                     "\n"
                                     "ob=(2)\n"
                                     "fl=(2)\n"
                                     "fn=(2)\n"
                                     "0x20 0 5 1099511627776\n"
                                     "\n"
                                     "totals: 9 1099511627783\n");
  EXPECT_FALSE(has(written(*profile, false).bytes, "(1)"));
}

TEST(CallgrindWriter, WritesTheSameBytesForTheSameProfile) {
  Random random(81);
  for (int round = 0; round < rounds(200); ++round) {
    RandomShape shape = random_shape(random);
    shape.tables_seed = 1 + random();
    shape.strange_names = round % 2 == 0;
    const StackProfile profile = random_profile(random, shape);
    const auto bytes_of = [](const StackProfile &stacks) {
      const auto costs = aggregate(stacks);
      EXPECT_TRUE(costs);
      return written(*costs).bytes;
    };
    const std::string bytes = bytes_of(profile);
    ASSERT_EQ(bytes_of(profile), bytes);
    // The same profile with its functions in reverse order, and so with other ids.
    StackProfileBuilder turned;
    for (const ValueType &type : profile.value_types())
      turned.add_value_type(profile.strings[type.type], profile.strings[type.unit]);
    for (uint32_t i = profile.functions().size(); i-- > 0;) {
      SourceFunction f = profile.functions()[static_cast<SourceFunctionId>(i)];
      for (StringId *id : {&f.name, &f.system_name, &f.file, &f.object})
        *id = turned.intern(profile.strings[*id]);
      turned.add_function(f);
    }
    ASSERT_TRUE(append_stacks(turned, profile));
    ASSERT_EQ(bytes_of(*turned.finish()), bytes);
  }
}

TEST(CallgrindWriter, ReportsWhatItChanged) {
  StackProfileBuilder builder;
  builder.add_value_type("cpu time", "ns");
  const SourceLine line{builder.add_function({builder.intern("(1) a\nb"), {}, {}, {}, 0}), {}, 0};
  builder.add_sample(
      builder.push(none<StackId>, builder.add_location(none<MappingId>, 0, std::span(&line, 1))),
      none<ThreadId>, none<PartId>, 1);
  const auto out = write_profile(Profile(*builder.finish()), **format_by_name("callgrind"));
  ASSERT_TRUE(out) << out.error().text();
  EXPECT_TRUE(has(out->bytes, "\nevents: cpu_time\n"));
  EXPECT_TRUE(has(out->bytes, "\nfn=(1) (1) a b\n"));
  EXPECT_TRUE(has(out->bytes, "\npositions: line\n"));
  EXPECT_EQ(out->lost.size(), 2u); // line breaks in names, and whole stacks
}

TEST(CallgrindWriter, ReportsThatNamesLoseTheirFirstBlanks) {
  for (const bool blank : {false, true}) {
    StackProfileBuilder builder;
    builder.add_value_type("ticks", "count");
    const SourceLine line{
        builder.add_function({builder.intern(blank ? "  lead" : "lead"), {}, {}, {}, 0}), {}, 0};
    builder.add_sample(
        builder.push(none<StackId>, builder.add_location(none<MappingId>, 0, std::span(&line, 1))),
        none<ThreadId>, none<PartId>, 1);
    const auto out = write_profile(Profile(*builder.finish()), **format_by_name("callgrind"));
    ASSERT_TRUE(out) << out.error().text();
    EXPECT_EQ(std::ranges::count(out->lost, "leading blanks of names"), blank ? 1 : 0);
  }
}

TEST(CallgrindWriter, PutsTheCreatorBeforeALongCommand) {
  CostProfileBuilder builder;
  builder.add_event("ticks");
  CostPart part;
  part.command = builder.intern(std::string(5000, 'c'));
  builder.add_part(part);
  EXPECT_LT(written(*builder.finish()).bytes.find("\ncreator:"), 2047u);
}

} // namespace
} // namespace tally::formats_callgrind_test
