#include <algorithm>

#include <gtest/gtest.h>

#include "../support/read_profile.h"
#include "formats/folded/folded.h"
#include "formats/formats.h"
#include "random_profile.h"
#include "temporary.h"

namespace tally::formats_folded_test {
namespace {

using Stacks = std::map<std::vector<std::string>, int64_t>; // outermost first

Stacks stacks_of(const StackProfile &profile) {
  Stacks out;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    std::vector<std::string> names;
    for (const Frame &frame : frames_of(profile, profile.sample(row).stack))
      names.push_back(std::get<2>(frame.function));
    std::ranges::reverse(names);
    out[names] += profile.sample(row).values[0];
  }
  return out;
}

Result<Profile> read(std::string_view bytes) {
  Diagnostics diagnostics;
  return folded::read(*ByteSource::of(bytes, "f.folded"), diagnostics);
}

StackProfile stacks(std::string_view bytes) {
  auto profile = read(bytes);
  EXPECT_TRUE(profile) << profile.error().text();
  return std::move(std::get<StackProfile>(*profile));
}

std::string written(const StackProfile &profile) {
  const auto out = folded::write(profile, {});
  EXPECT_TRUE(out) << out.error().text();
  return out->bytes;
}

// Stacks that share frames have each of them in each line.
TEST(Folded, LimitsTheBytesThatItWrites) {
  const StackProfile profile = stacks("aaaa;bbbb 1\naaaa;cccc 2\naaaa;cccc 3\n");
  EXPECT_TRUE(folded::write_at_most(18, profile));
  for (const uint64_t too_few : {17U, 8U}) {
    const auto out = folded::write_at_most(too_few, profile);
    ASSERT_FALSE(out);
    EXPECT_EQ(out.error().code, ErrorCode::limit);
  }
}

TEST(Folded, ReadsBackWhatItWrites) {
  Random random(71);
  for (int round = 0; round < rounds(2000); ++round) {
    RandomShape shape = random_shape(random);
    shape.samples += 1;
    const StackProfile profile = random_profile(random, shape);
    const std::string text = written(profile);
    const StackProfile again = stacks(text);
    ASSERT_EQ(stacks_of(again), stacks_of(profile));
    ASSERT_EQ(written(again), text);
  }
}

TEST(Folded, KeepsTheCountsOfAnyName) {
  Random random(72);
  for (int round = 0; round < rounds(2000); ++round) {
    RandomShape shape = random_shape(random);
    shape.samples += 1;
    shape.strange_names = true;
    const StackProfile profile = random_profile(random, shape);
    const std::string text = written(profile);
    const StackProfile again = stacks(text);
    ASSERT_EQ(again.totals()[0], profile.totals()[0]) << text;
    ASSERT_EQ(written(again), text);
    ASSERT_TRUE(folded::probe(text.substr(0, 4096))) << text;
  }
}

TEST(Folded, ReportsWhatIsLost) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  builder.add_value_type("bytes", "bytes");
  builder.add_thread(1, 1, "a");
  builder.add_thread(1, 2, "b");
  builder.add_part({1, {}, 0, 0});
  builder.add_part({2, {}, 0, 0});
  const SourceLine line{builder.add_function({builder.intern("a;b"), {}, {}, {}, 0}), {}, 0};
  const std::vector<int64_t> values{1, 2};
  builder.add_sample(
      builder.push(none<StackId>, builder.add_location(none<MappingId>, 1, std::span(&line, 1))),
      none<ThreadId>, none<PartId>, values);
  const auto out = folded::write(*builder.finish(), {});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->bytes, "a:b 1\n");
  EXPECT_EQ(out->lost.size(), 5u);
}

TEST(Folded, ReportsThatTheNameOfAnEventIsLost) {
  StackProfileBuilder builder;
  builder.add_value_type("page-faults", "count");
  builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, std::vector<int64_t>{3});
  const auto out = folded::write(*builder.finish(), {});
  ASSERT_TRUE(out);
  EXPECT_EQ(out->lost, std::vector<std::string>{"the name of the event, page-faults (readers take "
                                                "the counts for ticks)"});
}

TEST(Folded, ReadsTheOutputOfOtherTools) {
  const StackProfile profile = stacks("# a comment\r\nmain;f g;h(int) 3\r\n\n \t\nmain\t4\n"
                                      "main;f g;h(int)   5\nmain;;x 1");
  EXPECT_EQ(stacks_of(profile),
            (Stacks{{{"main", "f g", "h(int)"}, 8}, {{"main"}, 4}, {{"main", "", "x"}, 1}}));
  EXPECT_EQ(profile.strings[profile.value_types()[0].type], "ticks");
}

// flamegraph.pl counts such a line, too.
TEST(Folded, ReadsAStackWithoutAName) {
  EXPECT_EQ(stacks_of(stacks(" 84\nmain;f 2\n")),
            (Stacks{{{"[unknown]"}, 84}, {{"main", "f"}, 2}}));
}

TEST(Folded, ErrorsStateLineAndColumn) {
  const auto text = [](std::string_view bytes) {
    const auto profile = read(bytes);
    EXPECT_FALSE(profile) << bytes;
    return profile ? std::string() : profile.error().text();
  };
  EXPECT_EQ(text("a;b 1\na;b\n"), "f.folded:2:1: expected a stack, a blank and a count");
  EXPECT_EQ(text("5\n"), "f.folded:1:1: expected a stack, a blank and a count");
  EXPECT_EQ(text(" x\n"), "f.folded:1:1: expected a stack, a blank and a count");
  EXPECT_EQ(text("a \n"), "f.folded:1:1: expected a stack, a blank and a count");
  EXPECT_EQ(text("\n#\na;b x1\n"), "f.folded:3:5: expected a count, found 'x1'");
  EXPECT_EQ(text("a 1.5.1\n"), "f.folded:1:3: expected a count, found '1.5.1'");
  EXPECT_EQ(text("a .5\n"), "f.folded:1:3: expected a count, found '.5'");
  EXPECT_EQ(text("a 1e5\n"), "f.folded:1:3: expected a count, found '1e5'");
  EXPECT_EQ(text("a 9223372036854775807\na 0.5\n"),
            "f.folded:2:2: the counts do not fit in 63 bits with 9 decimal places");
  std::string two;
  for (int i = 0; i < 10000; ++i)
    two += "a;b 1 2\n";
  EXPECT_EQ(text(two + "a 12\n"),
            "f.folded:10001:1: expected a stack and two counts, as in the first lines");
  EXPECT_EQ(text("a -1\n"), "f.folded:1:3: expected a count, found '-1'");
  EXPECT_EQ(text("a +1\n"), "f.folded:1:3: expected a count, found '+1'");
  EXPECT_EQ(text("a 9223372036854775808\n"),
            "f.folded:1:3: the count 9223372036854775808 does not fit in 63 bits");
  EXPECT_EQ(text("a 99999999999999999999999\n"),
            "f.folded:1:3: the count 99999999999999999999999 does not fit in 63 bits");
  EXPECT_EQ(text("# nothing\n"), "f.folded: holds no stacks");
  EXPECT_EQ(read("a 9223372036854775807\nb 1\n").error().code, ErrorCode::overflow);
  EXPECT_EQ(read("a 9223372036854775807\na 1\n").error().code, ErrorCode::overflow);
  EXPECT_TRUE(read("a 9223372036854775807\n"));
}

struct Read {
  std::vector<std::string> types, findings;
  std::vector<int64_t> totals;
  std::string written;
};

Read read_all(std::string_view bytes) {
  Diagnostics diagnostics;
  const auto profile = folded::read(*ByteSource::of(bytes, "f"), diagnostics);
  EXPECT_TRUE(profile) << profile.error().text();
  const auto &stacks = std::get<StackProfile>(*profile);
  Read out{{}, {}, stacks.totals(), written(stacks)};
  for (const ValueType &type : stacks.value_types())
    out.types.emplace_back(stacks.strings[type.type]);
  for (const Finding &finding : diagnostics.findings())
    out.findings.push_back(finding.text());
  return out;
}

TEST(Folded, KeepsFractions) {
  const Read hundredths = read_all("a;b 1.5\na 2\nc 0.25\na;b 1.000\n");
  EXPECT_EQ(hundredths.types, std::vector<std::string>{"nanoticks"});
  EXPECT_EQ(hundredths.totals, std::vector<int64_t>{4'750'000'000});
  EXPECT_EQ(hundredths.written, "a 2\na;b 2.5\nc 0.25\n");
  EXPECT_EQ(
      hundredths.findings,
      std::vector<std::string>{
          "f: note: counts have fractions, which are kept as billionths of a tick (nanoticks)"});
  // Zeros after the decimal point are not a fraction; the smaller unit may become necessary late.
  EXPECT_EQ(read_all("a 1.000\n").types, std::vector<std::string>{"ticks"});
  const Read billionths = read_all("a 1\na 0.5\na 0.0000001\n");
  EXPECT_EQ(billionths.types, std::vector<std::string>{"nanoticks"});
  EXPECT_EQ(billionths.totals, std::vector<int64_t>{1'500'000'100});
  EXPECT_EQ(read_all("a 1.05\n").written, "a 1.05\n");
  const Read rounded = read_all("a 0.12345678949\nb 0.1234567895\n");
  EXPECT_EQ(rounded.written, "a 0.123456789\nb 0.12345679\n");
  EXPECT_EQ(rounded.findings[0],
            "f:1:3: warning: counts of more than 9 decimal places are rounded (2 times)");
}

TEST(Folded, ReadsTheDifferentialForm) {
  const Read two = read_all("# difffolded.pl\na;b 3 5\na 0 7\na;b 1 1\n");
  EXPECT_EQ(two.types, (std::vector<std::string>{"before", "after"}));
  EXPECT_EQ(two.totals, (std::vector<int64_t>{4, 13}));
  EXPECT_EQ(two.written, "a 0 7\na;b 4 6\n");
  EXPECT_EQ(
      two.findings,
      std::vector<std::string>{
          "f: note: each line has two counts, which are read as the values 'before' and 'after'"});
  const Read fractions = read_all("a 1 1.5\n");
  EXPECT_EQ(fractions.types, (std::vector<std::string>{"nanoticks before", "nanoticks after"}));
  EXPECT_EQ(fractions.written, "a 1 1.5\n");
  EXPECT_EQ(fractions.findings[0],
            "f: note: each line has two counts, which are read as the values "
            "'nanoticks before' and 'nanoticks after'");
  // A name may end in a number, if not every line has two numbers.
  const Read name = read_all("worker 1 5\nmain 4\n");
  EXPECT_EQ(name.types, std::vector<std::string>{"ticks"});
  EXPECT_EQ(name.written, "main 4\nworker 1 5\n");
}

TEST(Folded, DoesNotWriteNamesThatEndInNumbersAsCounts) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  const SourceLine line{builder.add_function({builder.intern("worker 1"), {}, {}, {}, 0}), {}, 0};
  builder.add_sample(
      builder.push(none<StackId>, builder.add_location(none<MappingId>, 1, std::span(&line, 1))),
      none<ThreadId>, none<PartId>, 5);
  EXPECT_EQ(written(*builder.finish()), "worker_1 5\n");
}

TEST(Folded, ReadsUtf16AndByteOrderMarks) {
  const std::string text = "a;\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80 3\r\nb 4\r\n";
  const std::u16string wide = u"a;\u00E9\u20AC\U0001F600 3\r\nb 4\r\n";
  const Stacks expected{{{"a", "\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"}, 3}, {{"b"}, 4}};
  EXPECT_EQ(stacks_of(stacks("\xEF\xBB\xBF" + text)), expected);
  for (const bool big_endian : {false, true}) {
    std::string bytes = big_endian ? "\xFE\xFF" : "\xFF\xFE";
    for (const char16_t unit : wide) {
      const char low = static_cast<char>(unit & 0xFF), high = static_cast<char>(unit >> 8);
      bytes += big_endian ? high : low;
      bytes += big_endian ? low : high;
    }
    EXPECT_TRUE(folded::probe(bytes));
    EXPECT_EQ(stacks_of(stacks(bytes)), expected);
  }
  using namespace std::string_view_literals;
  const std::string half{"\xFF\xFE\x3D\xD8 \0001\0\n\0"sv};
  EXPECT_EQ(stacks_of(stacks(half)), (Stacks{{{"\xEF\xBF\xBD"}, 1}}));
}

TEST(Folded, ProbeChecksEveryLine) {
  EXPECT_TRUE(folded::probe("a;b 1\n"));
  EXPECT_TRUE(folded::probe("# c\n\na;b 1\nx 2"));
  EXPECT_FALSE(folded::probe(""));
  EXPECT_FALSE(folded::probe("# c\n"));
  EXPECT_FALSE(folded::probe("a;b\n"));
  // A stray line is an error of the file, if other lines are stacks with callees.
  EXPECT_TRUE(folded::probe("a;b 1\na stray line\n"));
  EXPECT_FALSE(folded::probe("a 1\na stray line\n"));
  EXPECT_FALSE(folded::probe("a;b 1\na stray line\nand one more\n"));
  EXPECT_FALSE(folded::probe("# callgrind format\nversion: 1\ncreator: x\nevents: Ir\n"));
  const std::string head = ("a;b 1\n" + std::string(4096, 'x')).substr(0, 4096);
  EXPECT_TRUE(folded::probe(head)); // the last line is incomplete
}

TEST(Folded, DemanglesNames) {
  EXPECT_EQ(written(stacks("_start;_Z3fooi;_R 3\n")), "_start;foo(int);_R 3\n");
}

TEST(Folded, AllowsAMillionFrames) {
  std::string text;
  for (int i = 0; i < (TALLY_SANITIZED ? 100'000 : 1'000'000); ++i)
    text += i % 2 ? "f;" : "g;";
  text += "leaf 1\n";
  EXPECT_EQ(written(stacks(text)), text);
}

TEST(Folded, ReadsPiecesOfAnySizeAlike) {
  const std::string text = "# c\nmain;f g 3\r\n\nmain;a_name_longer_than_a_piece 4\nmain;f g 5";
  const Stacks whole = stacks_of(stacks(text));
  for (const size_t piece : {1u, 2u, 3u, 7u, 20u}) {
    Diagnostics diagnostics;
    const auto profile =
        folded::read(*ByteSource::of(text, "f", {.piece_bytes = piece}), diagnostics);
    ASSERT_TRUE(profile) << profile.error().text();
    EXPECT_EQ(stacks_of(std::get<StackProfile>(*profile)), whole);
    const auto fault =
        folded::read(*ByteSource::of(text + "\nodd", "f", {.piece_bytes = piece}), diagnostics);
    ASSERT_FALSE(fault);
    EXPECT_EQ(fault.error().where, Position::at_line(6));
  }
}

// This holds for a name that does not imply a format, too.
TEST(Folded, AllowsAFirstLineOfAnyLength) {
  TemporaryFolder folder;
  Diagnostics diagnostics;
  constexpr size_t longest = TALLY_SANITIZED ? 1'000'000 : 70'000'000;
  for (const size_t size : {size_t{4083}, size_t{4084}, size_t{5000}, longest})
    for (const std::string end : {" 1", " 1\n", " 1\nb 2\n"}) {
      if (size == longest && end != " 1")
        continue; // it takes seconds
      const std::string text = "start;" + std::string(size, 'x') + ";leaf" + end;
      const auto read = read_profile(folder.put("plain", text), diagnostics);
      ASSERT_TRUE(read) << size << ": " << read.error().text();
      EXPECT_EQ(read->format->name, "folded");
      EXPECT_GE(std::get<StackProfile>(read->profile).stack_count(), 3u);
    }
}

TEST(Formats, AreRecognizedByNameFileAndContent) {
  EXPECT_EQ((*format_by_name("folded"))->name, "folded");
  const auto unknown = format_by_name("nonsense");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("folded, gcov-data"), std::string::npos);
  for (const char *path : {"/a.b/callgrind.out.12", "x.callgrind", "d/x.cg"})
    EXPECT_EQ(format_by_file_name(path)->name, "callgrind") << path;
  for (const char *path : {"x.folded", "x.collapsed"})
    EXPECT_EQ(format_by_file_name(path)->name, "folded") << path;
  // Output is never compressed.
  for (const char *path : {"x", "x.txt", "x.folded/y", "folded", "x.folded.gz", "x.cg.zst"})
    EXPECT_EQ(format_by_file_name(path), nullptr) << path;
}

TEST(Formats, SelectTheOutputFormat) {
  EXPECT_EQ((*format_for_output("x.cg", "", "--to"))->name, "callgrind");
  EXPECT_EQ((*format_for_output("x.cg", "folded", "--to"))->name, "folded");
  EXPECT_EQ(format_for_output("x", "", "--to").error().text(),
            "x: the file's name does not imply a format: add --to callgrind, or another format");
  const Error unknown = format_for_output("x", "nonsense", "--to").error();
  EXPECT_EQ(unknown.source, "--to");
  EXPECT_EQ(unknown.code, ErrorCode::invalid_argument);
  EXPECT_EQ(default_file_name(**format_by_name("callgrind"), "7"), "callgrind.out.7");
  EXPECT_EQ(default_file_name(**format_by_name("folded"), "7"), "7.folded");
  for (const Format &format : formats())
    EXPECT_EQ(format_by_file_name(default_file_name(format, "7")),
              format.file_names.empty() ? nullptr : &format);
}

TEST(Formats, ReadingReportsErrors) {
  TemporaryFolder folder;
  Diagnostics diagnostics;
  const auto error = [&](const std::string &path) {
    const auto read = read_profile(path, diagnostics);
    EXPECT_FALSE(read);
    return read ? Error() : read.error();
  };
  EXPECT_EQ(error(folder.put("empty.folded", "")).code, ErrorCode::no_data);
  EXPECT_EQ(error(folder.put("zero.folded", "a 0\nb 0\n")).code, ErrorCode::no_data);
  EXPECT_EQ(error(folder.put("odd.txt", "odd\n")).message, "is not in a known format");
  EXPECT_EQ(error(folder.put("odd.folded", "odd\n")).where, Position::at_line(1));
  EXPECT_EQ(error(folder / "none").code, ErrorCode::not_found);
  const std::string path = folder.put("plain", "a;b 2\n");
  const auto read = read_profile(path, diagnostics);
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->format->name, "folded");
}

TEST(Formats, WritingRefusesMissingData) {
  CostProfileBuilder costs;
  costs.add_event("Ir");
  const Profile arcs(std::move(*costs.finish()));
  EXPECT_EQ(write_profile(arcs, **format_by_name("folded")).error().code, ErrorCode::unsupported);
  EXPECT_TRUE(write_profile(arcs, **format_by_name("callgrind")));
  const StackProfile whole = stacks("a 1\n");
  EXPECT_EQ(write_parts(whole, **format_by_name("folded")).error().code, ErrorCode::unsupported);
  EXPECT_EQ(write_parts(whole, **format_by_name("callgrind")).error().code, ErrorCode::no_data);
}

TEST(Formats, WriteAFileForEachPart) {
  Random random(73);
  const Format &callgrind = **format_by_name("callgrind");
  for (int round = 0; round < rounds(100); ++round) {
    const StackProfile profile = random_profile(random, random_shape(random));
    if (profile.parts().size() == 0)
      continue;
    const auto files = write_parts(profile, callgrind);
    ASSERT_TRUE(files) << files.error().text();
    ASSERT_EQ(files->size(), profile.parts().size());
    for (uint32_t i = 0; i < files->size(); ++i) {
      const uint32_t number = profile.parts()[static_cast<PartId>(i)].number;
      EXPECT_NE((*files)[i].bytes.find("\npart: " + std::to_string(number) + "\n"),
                std::string::npos);
    }
  }
}

} // namespace
} // namespace tally::formats_folded_test
