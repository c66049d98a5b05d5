// Tests that our reader reads back what is written; tests/oracle/ reads it with Go's library.
#include <algorithm>
#include <map>
#include <set>

#include <gtest/gtest.h>
#include <protozero/pbf_writer.hpp>

#include "formats/formats.h"
#include "formats/pprof/order.h"
#include "formats/pprof/pprof.h"
#include "pprof_bytes.h"
#include "random_profile.h"

namespace tally::formats_pprof_test {
namespace {

using namespace std::string_view_literals;
using protozero::pbf_writer;
using namespace pprof_bytes;

Result<Profile> read(std::string_view bytes, Diagnostics &diagnostics, size_t piece = 4096) {
  return pprof::read(*ByteSource::of(bytes, "p.pb.gz", {.piece_bytes = piece}), diagnostics);
}

StackProfile profile_of(std::string_view bytes) {
  Diagnostics diagnostics;
  auto profile = read(bytes, diagnostics);
  EXPECT_TRUE(profile) << profile.error().text();
  return std::move(std::get<StackProfile>(*profile));
}

std::string error_of(std::string_view bytes) {
  Diagnostics diagnostics;
  const auto profile = read(bytes, diagnostics);
  EXPECT_FALSE(profile);
  return profile ? "" : profile.error().text();
}

std::string findings_of(std::string_view bytes) {
  Diagnostics diagnostics;
  EXPECT_TRUE(read(bytes, diagnostics));
  std::string out;
  for (const Finding &finding : diagnostics.findings())
    out += finding.text() + "\n";
  return out;
}

Written written(const StackProfile &profile, const WriteOptions &options = {}) {
  auto out = pprof::write(profile, options);
  EXPECT_TRUE(out) << out.error().text();
  return std::move(*out);
}

std::string unpacked(const std::string &bytes) { return *ByteSource::of(bytes, "packed")->rest(); }

// Returns the samples as text, with everything that the format can hold.
using Rows = std::map<std::string, std::vector<int64_t>>;

Rows rows_of(const StackProfile &profile, bool with_lines) {
  const auto text = [&](StringId id) { return std::string(profile.strings[id]) + "|"; };
  Rows rows;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    std::string key;
    for (StackId at = sample.stack; at != none<StackId>; at = profile.stack_caller(at)) {
      const Location location = profile.location(profile.stack_location(at));
      key += std::to_string(location.address) + "(";
      for (const SourceLine &line : location.lines) {
        const SourceFunction &function = profile.functions()[line.function];
        key += text(function.name) + text(function.system_name) + text(function.file) +
               std::to_string(function.line);
        if (with_lines)
          key += ":" + std::to_string(line.file == function.file ? line.line : 0);
        key += ";";
      }
      key += ")";
    }
    if (sample.thread != none<ThreadId>) {
      const Thread &thread = profile.threads()[sample.thread];
      key += " thread " + std::to_string(thread.pid) + "," + std::to_string(thread.tid) + "," +
             text(thread.name);
    }
    if (sample.part != none<PartId>) {
      const Part &part = profile.parts()[sample.part];
      key += " part " + std::to_string(part.number) + "," + text(part.trigger) +
             std::to_string(part.begin_ns) + "-" + std::to_string(part.end_ns);
    }
    auto &sum = rows.try_emplace(key, sample.values.size(), 0).first->second;
    for (size_t i = 0; i < sum.size(); ++i)
      sum[i] += sample.values[i];
  }
  return rows;
}

std::vector<std::string> types_of(const StackProfile &profile) {
  std::vector<std::string> out;
  for (const ValueType &type : profile.value_types())
    out.push_back(std::string(profile.strings[type.type]) + "/" +
                  std::string(profile.strings[type.unit]));
  return out;
}

TEST(Pprof, ReadsBackWhatItWrites) {
  Random random(91);
  for (int round = 0; round < rounds(2000); ++round) {
    RandomShape shape = random_shape(random);
    shape.samples += 1;
    const StackProfile profile = random_profile(random, shape);
    const std::string bytes = written(profile).bytes;
    const StackProfile again = profile_of(bytes);
    ASSERT_EQ(types_of(again), types_of(profile));
    ASSERT_EQ(rows_of(again, true), rows_of(profile, true));
    ASSERT_EQ(again.totals(), profile.totals());
    ASSERT_EQ(again.parts().size(), profile.parts().size());
    const std::string second = written(again).bytes;
    ASSERT_EQ(written(profile_of(second)).bytes, second);
    ASSERT_TRUE(pprof::probe(unpacked(bytes).substr(0, 4096)));
  }
}

// Orders locations by address, then mapping, then names; samples by their stacks from the root on.
TEST(Pprof, WritesInACanonicalOrder) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  const auto word = [&](std::string_view text) { return builder.intern(text); };
  const auto mapping = [&](std::string_view path, uint64_t start) {
    Mapping out;
    out.start = start;
    out.limit = start + 0x1000;
    out.path = word(path);
    return builder.add_mapping(out);
  };
  const MappingId high = mapping("high", 0x2000), low = mapping("low", 0x1000),
                  later = mapping("later", 0x2000);
  const auto named = [&](std::string_view name) {
    const SourceLine line{builder.add_function({word(name), {}, {}, {}, 0}), {}, 0};
    return builder.add_location(none<MappingId>, 0, std::span(&line, 1));
  };
  const LocationId z = named("z"), a = named("a");
  const LocationId in_later = builder.add_location(later, 0x2010),
                   in_high = builder.add_location(high, 0x2010),
                   in_low = builder.add_location(low, 0x1010);
  const StackId root = builder.push(none<StackId>, in_high);
  builder.add_sample(builder.push(none<StackId>, z), none<ThreadId>, none<PartId>, 1);
  builder.add_sample(builder.push(root, z), none<ThreadId>, none<PartId>, 2);
  builder.add_sample(builder.push(none<StackId>, in_low), none<ThreadId>, none<PartId>, 3);
  builder.add_sample(root, none<ThreadId>, none<PartId>, 4);
  builder.add_sample(builder.push(root, a), none<ThreadId>, none<PartId>, 5);
  builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 6);
  builder.add_sample(builder.push(none<StackId>, a), none<ThreadId>, none<PartId>, 7);
  builder.add_sample(builder.push(none<StackId>, in_later), none<ThreadId>, none<PartId>, 8);
  const pprof::Order order = pprof::order_of(*builder.finish());
  EXPECT_EQ(order.locations, (std::vector{a, z, in_low, in_high, in_later}));
  EXPECT_EQ(order.samples, (std::vector<size_t>{5, 6, 0, 2, 3, 4, 1, 7}));
}

// Addresses in mappings identify locations; objects are read back as paths of mappings.
TEST(Pprof, ReadsBackMappingsAndObjects) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  builder.set_period_ns(1'000'000);
  builder.set_command("./prog a b");
  const auto word = [&](std::string_view text) { return builder.intern(text); };
  Mapping mapping;
  mapping.start = 0x400000;
  mapping.limit = 0x500000;
  mapping.file_offset = 0x1000;
  mapping.path = word("/bin/prog");
  mapping.build_id = word("0123abcd");
  mapping.bias = 0x1000;
  mapping.has_bias = true;
  const MappingId prog = builder.add_mapping(mapping);
  const auto line = [&](std::string_view name, uint32_t at) {
    return SourceLine{
        builder.add_function({word(name), word("_Z1x"), word("p.c"), word("/bin/prog"), 3}),
        word("p.c"), at};
  };
  const std::vector<SourceLine> inlined{line("inner", 12), line("outer", 20)};
  const std::vector<SourceLine> none_known{};
  const SourceLine far{builder.add_function({word("far"), {}, {}, word("/lib/far.so"), 0}), {}, 0};
  const LocationId leaf = builder.add_location(prog, 0x401000, inlined);
  const LocationId bare = builder.add_location(prog, 0x402000, none_known);
  const LocationId by_name = builder.add_location(none<MappingId>, 0, std::span(&far, 1));
  const ThreadId thread = builder.add_thread(7, 8, "worker");
  const PartId part = builder.add_part({1, word("breakpoint 2, p.c:10"), 100, 350});
  builder.add_part({4, {}, 400, 500});
  const StackId outer = builder.push(builder.push(none<StackId>, by_name), bare);
  builder.add_sample(builder.push(outer, leaf), thread, part, 5);
  builder.add_sample(outer, none<ThreadId>, none<PartId>, 2);
  builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 1);
  const StackProfile profile = *builder.finish();

  const Written out = written(profile, {.time = 1'700'000'000});
  EXPECT_EQ(out.lost,
            (std::vector<std::string>{"link-time addresses (those at run time are written)"}));
  const StackProfile again = profile_of(out.bytes);
  EXPECT_EQ(types_of(again), (std::vector<std::string>{"ticks/count"}));
  EXPECT_EQ(again.period_ns, 1'000'000u);
  EXPECT_EQ(again.strings[again.command], "./prog a b");
  Rows rows; // a location without functions is named after its mapping
  for (const auto &[key, values] : rows_of(profile, true)) {
    const size_t bare_at = key.find("4202496()");
    rows[bare_at == key.npos ? key : std::string(key).insert(bare_at + 8, "[prog]|||0:0;")] =
        values;
  }
  EXPECT_EQ(rows_of(again, true), rows);
  ASSERT_EQ(again.mappings().size(), 2u); // one is for the object without a mapping
  const Mapping &first = again.mappings()[MappingId{0}];
  EXPECT_EQ(first.start, 0x400000u);
  EXPECT_EQ(first.limit, 0x500000u);
  EXPECT_EQ(first.file_offset, 0x1000u);
  EXPECT_EQ(again.strings[first.path], "/bin/prog");
  EXPECT_EQ(again.strings[first.build_id], "0123abcd");
  EXPECT_FALSE(first.has_bias);
  for (uint32_t i = 0; i < again.location_count(); ++i) {
    const Location at = again.location(static_cast<LocationId>(i));
    if (at.address == 0x402000) {
      EXPECT_EQ(at.lines.size(), 1u);
      EXPECT_EQ(at.mapping, MappingId{0});
    } else if (at.address == 0) {
      const SourceFunction &function = again.functions()[at.lines.front().function];
      EXPECT_EQ(again.strings[function.object], "/lib/far.so");
    }
  }
  ASSERT_EQ(again.parts().size(), 2u);
  EXPECT_EQ(again.parts()[PartId{1}].number, 4u);
  EXPECT_EQ(again.parts()[PartId{1}].end_ns, 500u);
  EXPECT_EQ(written(profile, {.time = 1'700'000'000}).bytes, out.bytes);
  EXPECT_NE(written(profile).bytes, out.bytes);
  // RFC 1952: no flags, and therefore no name; no time.
  EXPECT_EQ(out.bytes.substr(0, 8), std::string("\x1f\x8b\x08\0\0\0\0\0", 8));
}

TEST(Pprof, ReportsWhatIsLost) {
  StackProfileBuilder builder;
  builder.add_value_type("bytes", "bytes");
  const auto word = [&](std::string_view text) { return builder.intern(text); };
  Mapping mapping;
  mapping.limit = 0x1000;
  mapping.path = word("a");
  const SourceLine line{builder.add_function({word("f\xff"), {}, word("f.c"), word("b"), 0}),
                        word("f.inc"), 3};
  builder.add_sample(builder.push(none<StackId>, builder.add_location(builder.add_mapping(mapping),
                                                                      1, std::span(&line, 1))),
                     none<ThreadId>, none<PartId>, 2);
  const Written out = written(*builder.finish());
  EXPECT_EQ(out.lost, (std::vector<std::string>{
                          "lines in a file other than that of their function (written as unknown)",
                          "objects of functions that differ from the object of the address",
                          "bytes in names that are not valid UTF-8 (written as '?')"}));
  const StackProfile again = profile_of(out.bytes);
  const SourceLine read_line = again.location(LocationId{0}).lines.front();
  EXPECT_EQ(read_line.line, 0u);
  EXPECT_EQ(again.strings[again.functions()[read_line.function].name], "f?");
}

TEST(Pprof, RefusesWhatCannotBeWritten) {
  const auto refused = [](std::vector<int64_t> values, uint64_t period) {
    StackProfileBuilder builder;
    builder.add_value_type("ticks", "count");
    builder.set_period_ns(period);
    uint64_t address = 0;
    for (const int64_t value : values)
      builder.add_sample(
          builder.push(none<StackId>, builder.add_location(none<MappingId>, ++address)),
          none<ThreadId>, none<PartId>, value);
    const auto out = pprof::write(*builder.finish(), {});
    return out ? "" : out.error().text();
  };
  EXPECT_EQ(refused({-1}, 1000), "a sample has a negative value");
  EXPECT_EQ(refused({int64_t{1} << 60}, 1000),
            "the time of a sample's ticks does not fit in 64 bits");
  EXPECT_EQ(refused({int64_t{1} << 60, int64_t{1} << 60}, 4),
            "the sum of the values exceeds 63 bits");
  EXPECT_EQ(refused({int64_t{1} << 60, int64_t{1} << 60}, 0), "");
  EXPECT_EQ(refused({1}, uint64_t{1} << 63), "the clock's period does not fit in 63 bits");
  EXPECT_EQ(pprof::write(StackProfile(), {}).error().code, ErrorCode::no_data);
}

TEST(Pprof, ReadsTheOutputOfOtherTools) {
  OneSample file;
  const StackProfile plain = profile_of(file.with_strings());
  EXPECT_EQ(types_of(plain), (std::vector<std::string>{"samples/count"}));
  EXPECT_EQ(rows_of(plain, true), (Rows{{"16(f||f.c|0:7;)", {5}}}));

  // Repeated numbers that are not packed, unknown fields of every wire type, ids of any size,
  // negative values, and the string table first.
  File other;
  std::string top;
  pbf_writer writer(top);
  for (const std::string &each : file.strings)
    writer.add_string(6, each);
  const uint64_t far = uint64_t{1} << 63;
  other.type(1, 2).function(far, 3).location(far + 1, 0, 0x10, far, 7);
  other.top.add_string(100, "more");
  other.top.add_fixed64(101, 1);
  other.top.add_fixed32(102, 1);
  other.top.add_uint64(103, 1);
  {
    pbf_writer message(other.top, 2);
    message.add_uint64(1, far + 1);
    message.add_uint64(1, far + 1);
    message.add_int64(2, -5);
    message.add_fixed32(77, 1);
  }
  const StackProfile odd = profile_of(top + other.bytes);
  EXPECT_EQ(rows_of(odd, true), (Rows{{"16(f||f.c|0:7;)16(f||f.c|0:7;)", {-5}}}));
}

TEST(Pprof, ReadsLabelsAsThreadsAndParts) {
  File file;
  file.type(1, 2).function(1, 3).location(1, 0, 0x10, 1, 7);
  const uint64_t thread = file.string("thread"), tid = file.string("tid"), pid = file.string("pid"),
                 name = file.string("worker"), part = file.string("part"),
                 trigger = file.string("trigger"), why = file.string("end"),
                 size = file.string("bytes");
  file.sample({1}, {3},
              label(thread, name, 0) + label(tid, 0, 8) + label(pid, 0, 7) + label(part, 0, 2) +
                  label(trigger, why, 0));
  file.sample({1}, {4}, label(tid, 0, 8) + label(pid, 0, 7));
  EXPECT_EQ(findings_of(file.with_strings()), "");
  EXPECT_EQ(rows_of(profile_of(file.with_strings()), false),
            (Rows{{"16(f||f.c|0;) thread 7,8,worker| part 2,end|0-0", {3}},
                  {"16(f||f.c|0;) thread 7,8,worker|", {4}}}));
  // Labels of other tools are reported once.
  file.sample({1}, {1}, label(size, 0, 512));
  file.sample({1}, {1}, label(size, 0, 1024) + label(part, why, 0));
  file.sample({1}, {1}, label(thread, name, 0) + label(tid, 0, int64_t{1} << 40));
  EXPECT_EQ(findings_of(file.with_strings()),
            "p.pb.gz: note: labels of samples are not kept: bytes, part, thread, tid\n");
}

TEST(Pprof, ReadsTicksAndTimeOfOneClockAsOneValue) {
  const auto types = [](int64_t time, int64_t period, const std::string &shown) {
    File file;
    const uint64_t cpu = file.string("cpu"), ns = file.string("nanoseconds");
    file.type(1, 2).type(cpu, ns).sample({1}, {5, time}).sample({1, 1}, {-1, -period});
    file.location(1, 0, 0x10, 1, 7).function(1, 3);
    {
      pbf_writer message(file.top, 11);
      message.add_uint64(1, cpu);
      message.add_uint64(2, ns);
    }
    file.top.add_int64(12, period);
    if (!shown.empty())
      file.top.add_uint64(14, file.string(shown));
    const StackProfile profile = profile_of(file.with_strings());
    EXPECT_EQ(findings_of(file.with_strings()).find("the clock's period is not kept: 10") !=
                  std::string::npos,
              profile.period_ns == 0);
    std::string out = std::to_string(profile.period_ns);
    for (const std::string &type : types_of(profile))
      out += " " + type;
    return out + " " + std::to_string(profile.totals()[0]);
  };
  EXPECT_EQ(types(50, 10, ""), "10 ticks/count 4");
  EXPECT_EQ(types(50, 10, "samples"), "10 ticks/count 4");
  // The value that pprof shows comes first: the default value, or the last one without a default.
  EXPECT_EQ(types(51, 10, ""), "0 cpu/nanoseconds samples/count 41");
  EXPECT_EQ(types(51, 10, "nothing"), "0 cpu/nanoseconds samples/count 41");
  EXPECT_EQ(types(51, 10, "samples"), "10 samples/count cpu/nanoseconds 4");
}

TEST(Pprof, DistinguishesLocationsWithOneAddress) {
  File file;
  const uint64_t path = file.string("/bin/x"), other = file.string("g");
  file.type(1, 2).function(1, 3).function(2, other).mapping(9, 0x1000, 0x2000, path);
  // Two locations without an address, and two with the same address.
  file.location(1, 9, 0, 1, 7).location(2, 9, 0, 2, 8);
  file.location(3, 9, 0x1100, 1, 7).location(4, 9, 0x1100, 2, 8);
  file.sample({1}, {1}).sample({2}, {2}).sample({3}, {3}).sample({4}, {4});
  const StackProfile profile = profile_of(file.with_strings());
  EXPECT_EQ(rows_of(profile, true), (Rows{{"0(f||f.c|0:7;)", {1}},
                                          {"0(g||f.c|0:8;)", {2}},
                                          {"4352(f||f.c|0:7;)", {3}},
                                          {"4352(g||f.c|0:8;)", {4}}}));
  for (const SourceFunction &function : profile.functions())
    EXPECT_EQ(profile.strings[function.object], "/bin/x");
  EXPECT_EQ(rows_of(profile_of(written(profile).bytes), true), rows_of(profile, true));
}

// Each file that was not symbolized is one row, as in `go tool pprof -top`.
TEST(Pprof, NamesLocationsWithoutFunctionsAfterTheirMapping) {
  File file;
  const uint64_t path = file.string("/lib/libc-2.15.so"), program = file.string("/bin/x");
  file.type(1, 2).function(1, 3).mapping(1, 0x1000, 0x2000, program);
  file.mapping(2, 0x8000, 0x9000, path);
  file.location(1, 1, 0x1100).location(2, 2, 0x8100).location(3, 2, 0x8200).location(4, 0, 0x10);
  file.location(5, 1, 0x1200, 1, 7).location(6, 1, 0);
  file.sample({2, 1}, {1}).sample({3, 1}, {2}).sample({4}, {4}).sample({5, 1}, {8});
  file.sample({6}, {16});
  const StackProfile profile = profile_of(file.with_strings());
  // Returns the self and inclusive values by "NAME@OBJECT", or by "@OBJECT".
  using Table = std::map<std::string, std::vector<int64_t>>;
  const auto rows = [](const StackProfile &of, bool by_function) {
    Table out;
    for (size_t row = 0; row < of.sample_count(); ++row) {
      const Sample sample = of.sample(row);
      std::set<std::string> names;
      for (const Frame &frame : frames_of(of, sample.stack)) {
        const auto &[object, source, function] = frame.function;
        const std::string name = (by_function ? function : "") + "@" + object;
        std::vector<int64_t> &sums = out.try_emplace(name, 2, 0).first->second;
        sums[0] += names.empty() ? sample.values[0] : 0; // the first frame is the leaf
        sums[1] += names.insert(name).second ? sample.values[0] : 0;
      }
    }
    return out;
  };
  EXPECT_EQ(rows(profile, true), (Table{{"[libc-2.15.so]@/lib/libc-2.15.so", {3, 3}},
                                        {"[unknown]@", {4, 4}},
                                        {"[x]@/bin/x", {16, 27}},
                                        {"f@/bin/x", {8, 8}}}));
  EXPECT_EQ(rows(profile, false),
            (Table{{"@/lib/libc-2.15.so", {3, 3}}, {"@", {4, 4}}, {"@/bin/x", {24, 27}}}));
  // Addresses are kept, and the file that is written has no such functions.
  const std::string again = unpacked(written(profile).bytes);
  EXPECT_EQ(again.find("[x]"), again.npos);
  EXPECT_EQ(again.find("[libc"), again.npos);
  EXPECT_EQ(rows_of(profile_of(again), true), rows_of(profile, true));
  EXPECT_EQ(rows_of(profile, true).begin()->first, "0([x]|||0:0;)");
}

TEST(Pprof, ReportsWhatItIgnores) {
  OneSample file;
  file.top.add_uint64(7, 3);
  const std::vector<uint64_t> comments{3};
  file.top.add_packed_uint64(13, comments.begin(), comments.end());
  file.top.add_int64(12, 512);
  file.location(2, 0, 0x20, 1, -1);
  const size_t at = file.bytes.size() - 11; // the line's number
  EXPECT_EQ(findings_of(file.with_strings()),
            "p.pb.gz:" + describe_position("", Position::at_offset(at)).substr(1) +
                ": warning: line -1 does not exist: treated as unknown\n"
                "p.pb.gz: note: frames that pprof hides (drop_frames) are kept\n"
                "p.pb.gz: note: comments are not kept\n");
}

TEST(Pprof, ErrorsStateTheOffset) {
  const auto fault = [](auto change) {
    OneSample file;
    change(file);
    return error_of(file.with_strings());
  };
  const std::string end =
      describe_position("p.pb.gz", Position::at_offset(OneSample().bytes.size()));
  EXPECT_EQ(fault([](File &file) { file.location(1, 0, 1); }),
            end + ": a location has the id 1 of an earlier one");
  EXPECT_EQ(fault([](File &file) { file.location(0, 0, 1); }), end + ": a location has no id");
  EXPECT_EQ(fault([](File &file) { file.function(1, 3); }),
            end + ": a function has the id 1 of an earlier one");
  EXPECT_EQ(fault([](File &file) { file.function(0, 3); }), end + ": a function has no id");
  EXPECT_EQ(fault([](File &file) { file.mapping(0, 0, 1, 0); }), end + ": a mapping has no id");
  EXPECT_EQ(fault([](File &file) { file.mapping(1, 5, 1, 0); }),
            end + ": a mapping begins at 0x5 and ends at 0x1");
  EXPECT_EQ(fault([](File &file) {
              file.sample({1}, {1, 2});
            }),
            end + ": a sample has 2 values, but there are 1 value types");
  EXPECT_EQ(fault([](File &file) { file.top.add_string(12, "x"); }),
            end + ": field 12 of the profile has the wire type 2 instead of 0");
  EXPECT_EQ(fault([](File &file) { file.top.add_uint64(2, 1); }),
            end + ": field 2 of the profile has the wire type 0 instead of 2");
  EXPECT_EQ(fault([](File &file) { file.top.add_uint64(14, 99); }),
            end + ": names string 99, but there are 5");
  EXPECT_EQ(fault([](File &file) { file.bytes += '\0'; }),
            end + ": the profile has a field of number 0");
  EXPECT_EQ(fault([](File &file) { file.bytes += '\x0b'; }),
            end + ": field 1 of the profile has the wire type 3, which is not supported");
  EXPECT_EQ(fault([](File &file) { file.bytes += std::string(11, '\xff'); }),
            end + ": the profile has a number of more than 64 bits");
  EXPECT_EQ(fault([](File &file) {
              file.strings = {};
              file.bytes += '\x80';
            }),
            end + ": the profile ends in the middle of a number");
  EXPECT_EQ(fault([](File &file) {
              file.strings = {};
              file.bytes += "\x12\x05xy";
            }),
            end + ": field 2 of the profile has 5 bytes, but only 2 are left");
  EXPECT_EQ(fault([](File &file) { file.strings[0] = "x"; }),
            end + ": the first string is not empty");

  // Errors inside messages.
  const auto inside = [&](size_t into, std::string_view text) {
    return describe_position("p.pb.gz", Position::at_offset(OneSample().bytes.size() + into)) +
           ": " + std::string(text);
  };
  EXPECT_EQ(fault([](File &file) { file.location(2, 9, 1); }),
            inside(4, "names mapping 9, which does not exist"));
  EXPECT_EQ(fault([](File &file) { file.location(2, 0, 1, 9); }),
            inside(10, "names function 9, which does not exist"));
  EXPECT_EQ(fault([](File &file) { file.top.add_message(4, std::string("\x08\x02\x22\x00"sv)); }),
            inside(6, "a line has no function"));
  EXPECT_EQ(fault([](File &file) {
              file.sample({1, 9}, {1});
            }),
            inside(5, "names location 9, which does not exist"));
  EXPECT_EQ(fault([](File &file) { file.sample({0}, {1}); }),
            inside(4, "names location 0, which does not exist"));
  EXPECT_EQ(fault([](File &file) { file.top.add_message(2, std::string("\x12\x01\x80"sv)); }),
            inside(4, "a sample ends in the middle of a number"));
  EXPECT_EQ(fault([](File &file) { file.sample({1}, {1}, label(99, 0, 0)); }),
            inside(10, "names string 99, but there are 5"));
  EXPECT_EQ(fault([](File &file) { file.function(2, 99); }),
            inside(4, "names string 99, but there are 5"));

  EXPECT_EQ(error_of(File().type(1, 2).with_strings()), "p.pb.gz: holds no samples");
  EXPECT_EQ(error_of(File().sample({}, {}).with_strings()),
            "p.pb.gz: has samples, but no value types");
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(fault([&](File &file) { file.sample({1}, {most}); }),
            "p.pb.gz: the sum of the counts of a sample exceeds 63 bits");
}

} // namespace
} // namespace tally::formats_pprof_test
