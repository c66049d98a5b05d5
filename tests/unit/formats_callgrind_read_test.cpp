// The reader's rules for a file: its header, totals and parts, in the order of FORMAT.md; and its
// limits. formats_callgrind_rows_test.cpp has the rules for lines.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "../support/read_profile.h"
#include "callgrind_rules.h"
#include "formats/formats.h"
#include "packed.h"
#include "temporary.h"

namespace tally::formats_callgrind_read_test {
namespace {

using namespace callgrind_rules;

const std::vector<Rule> rules{
    // --- the header
    {"HeaderInAnyOrder",
     "summary: 2\nevents: A\ndesc: Note: n\npositions: line\ncmd: x\nversion: 1\ncreator: c\nfl=a\n"
     "fn=f\n1 2\n",
     {},
     {"f@a a:1 2"}},
    {"DescriptionsAfterEvents", "events: A\ndesc: Note: n\nfl=a\nfn=f\n1 2\n", {}, {"f@a a:1 2"}},
    {"NoEvents", "fl=a\nfn=f\n1 2\n3 4\n", {}, {}, "3:1: costs before any events: line"},
    {"EventsTooLate", "fl=a\nfn=f\n1 2\nevents: A\n", {}, {}, "3:1: costs before any events: line"},
    {"EventsAfterNames", "fl=a\nfn=f\nevents: A\n1 2\n", {}, {"f@a a:1 2"}},
    {"EventsEmpty",
     "events:\n",
     {},
     {},
     "1:8: expected the names of events, found the end of the line"},
    {"EventsTwice", "events: A A\n", {}, {}, "1:11: event A is named twice"},
    {"EventNames",
     "events: sysTime Time_(10ns) cpu(ms)\nfl=a\nfn=f\n1 2 3 4\n",
     {},
     {"f@a a:1 2 3 4"}},
    {"VersionUnknown",
     "# callgrind format\nversion: 7\nevents: A\n",
     {},
     {},
     "2:10: version 7 is not supported; 1 is"},
    {"VersionIsNotANumber", "version: x\n", {}, {}, "1:10: expected a version, found 'x'"},
    {"NumbersOfTheHeader",
     "pid: x\nthread: 99999999999\n" + one + "1 2\n",
     {"1:6: error: expected a number up to 2147483647, found 'x'",
      "2:9: error: expected a number up to 2147483647, found '99999999999'"},
     {"f@a a:1 2"}},
    {"EventWithoutAName",
     "event: = A\n",
     {},
     {},
     "1:1: expected the name of an event after event:"},
    {"EventWithoutASign",
     "event: n A\n" + one + "1 2\n",
     {"1:1: error: expected '=' or ':' after the event's name, found 'A'"},
     {"f@a a:1 2"}},
    {"UnknownHeader",
     "nonsense: 1\n" + one + "1 2\n",
     {"1:1: error: unknown line: nonsense"},
     {"f@a a:1 2"}},
    {"UnknownLine",
     one + "nonsense\n1 2\nword=3\n!\n",
     {"4:1: error: unknown line: nonsense", "6:1: error: unknown line: word",
      "7:1: error: unknown line: !"},
     {"f@a a:1 2"}},
    {"CommentsAndBlankLines", "# x\n\n" + one + "# 3 4\n \t\n1 2\n#", {}, {"f@a a:1 2"}},

    // --- totals and summaries
    {"SummaryMayDifferFromTotals", "summary: 9\n" + one + "1 2\ntotals: 2\n", {}, {"f@a a:1 2"}},
    {"TotalsDiffer",
     two + "1 2 3\ntotals: 2 4\n",
     {"5:11: error: totals: says 4 B, but the lines add up to 3"},
     {"f@a a:1 2 3"}},
    {"TotalsDifferIsToldOnce",
     two + "1 2 3\ntotals: 1 4\n",
     {"5:9: error: totals: says 1 A, but the lines add up to 2"},
     {"f@a a:1 2 3"}},
    {"TotalsOmitZeros", two + "1 2\ntotals: 2\n", {}, {"f@a a:1 2 0"}},
    {"TotalsOfMoreThanTheEvents",
     one + "1 2\ntotals: 2 0\n",
     {"5:11: error: more totals than events"},
     {"f@a a:1 2"}},
    {"TotalsTooLarge",
     one + "1 2\ntotals: 18446744073709551616\n",
     {},
     {},
     "5:9: the number does not fit in 64 bits"},
    {"CallsDoNotCount",
     one + "1 2\ncfn=g\ncalls=1 1\n1 7\ntotals: 2\n",
     {},
     {"f@a a:1 2", "f@a a:1 -> g@a:1 x1 7"}},
    {"Truncated",
     valgrind + "summary: 5\n" + one + "1 2\n",
     {"6:1: error: truncated: there is no totals: line, and the lines add up to 2 of 5 A"},
     {"f@a a:1 2"}},
    {"TruncatedInALine",
     valgrind + "summary: 5\n" + one + "1 2\n+",
     {"7:1: error: truncated: there is no totals: line, and the lines add up to 2 of 5 A"},
     {"f@a a:1 2"}},
    {"TruncatedBehindCalls",
     "creator: tally-0.1.0\nsummary: 5\n" + one + "1 2\ncfn=g\ncalls=1 2\n",
     {"8:1: error: truncated: there is no totals: line, and the lines add up to 2 of 5 A"},
     {"f@a a:1 2"}},
    {"SummaryOfOthersIsNoSum",
     "summary: 5\n" + one + "1 2\n",
     {"5:1: warning: there is no totals: line, and the lines add up to 2 of 5 A: the file may be "
      "truncated"},
     {"f@a a:1 2"}},
    {"NoTotalsButTheSummaryIsReached", "summary: 2\n" + one + "1 2\n", {}, {"f@a a:1 2"}},
    {"SummaryAfterTheCosts", two + "1 2 3\nsummary: 2 3\n", {}, {"f@a a:1 2 3"}},
    {"SummaryAfterTheCostsIsNoSum",
     two + "1 2 3\nsummary: 5 9\n",
     {"5:1: warning: summary: says 5 A, but the lines add up to 2, which is used"},
     {"f@a a:1 2 3"}},
    {"HalfALineWithoutASummary", one + "1 2\n+", {}, {}, "5:1: expected a position, found '+'"},

    // --- parts
    {"PartsAreKeptApart",
     "part: 1\nevents: A\nfl=(1) a\nfn=(1) f\n1 2\ntotals: 2\n\npart: 2\nevents: A\nfl=(1) a\n"
     "fn=(1) f\n1 3\ntotals: 3\n",
     {},
     {"f@a a:1 2", "2|f@a a:1 3"}},
    {"PartsOfOtherEvents",
     "part: 1\nevents: A B\nfl=a\nfn=f\n1 2 3\ntotals: 2 3\npart: 2\nevents: C A\nfl=a\nfn=f\n1 4 "
     "5\n"
     "cfn=g\ncalls=1 2\n1 6 7\ntotals: 4 5\n",
     {},
     {"f@a a:1 2 3 0", "2|f@a a:1 5 0 4", "2|f@a a:1 -> g@a:2 x1 7 0 6"}},
    {"PartsOfOtherPositions",
     "part: 1\nevents: A\nfl=a\nfn=f\n1 2\npart: 2\npositions: instr line\nfl=a\nfn=f\n0x10 1 3\n",
     {},
     {"f@a a:0x0,1 2", "2|f@a a:0x10,1 3"}},
    {"IdsOfAnEarlierPart",
     "part: 1\nevents: A\nfl=(1) a\nfn=(1) f\n1 2\ntotals: 2\npart: 2\nfl=(1)\nfn=(1)\n1 3\n"
     "fn=(1)\n2 4\ntotals: 7\n",
     {"8:4: warning: file ids are used that only an earlier part defines",
      "9:4: warning: function ids are used that only an earlier part defines (2 times)"},
     {"f@a a:1 2", "2|f@a a:1 3", "2|f@a a:2 4"}},
    {"IdsOfAPartAreItsOwn",
     "part: 1\nevents: A\nfl=(1) a\nfn=(1) f\n1 2\npart: 2\nfl=(1) b\nfn=(1) g\n1 3\n",
     {},
     {"f@a a:1 2", "2|g@b b:1 3"}},
    {"TotalsOfEachPart",
     "part: 1\nevents: A\nfl=a\nfn=f\n1 2\ntotals: 2\npart: 2\nfl=a\nfn=f\n1 3\ntotals: 5\n",
     {"11:9: error: totals: says 5 A, but the lines add up to 3"},
     {"f@a a:1 2", "2|f@a a:1 3"}},
    {"TruncatedPart",
     valgrind +
         "part: 1\nevents: A\nsummary: 9\nfl=a\nfn=f\n1 2\npart: 2\nfl=a\nfn=f\n1 3\ntotals: 3\n",
     {"8:1: error: truncated: there is no totals: line, and the lines add up to 2 of 9 A"},
     {"f@a a:1 2", "2|f@a a:1 3"}},
    {"SumOfPartsTooLarge",
     "part: 1\nevents: A\nfl=a\nfn=f\n1 18446744073709551615\npart: 2\nfl=a\nfn=f\n1 1\n",
     {},
     {},
     "9:1: the sum of event A exceeds 64 bits"},
    {"RowsAfterTotals",
     "events: A\nfl=a\nfn=f\n1 2\ntotals: 2\n2 3\n3 4\n",
     {"6:1: error: lines with costs after totals:"},
     {"f@a a:1 2", "f@a a:2 3", "f@a a:3 4"}},
    {"EventsLinesTwice",
     "events: A\nevents: B\nfl=a\nfn=f\n1 2\n",
     {"2:1: warning: events: occurs twice; the last one is used"},
     {"f@a a:1 0 2"}},
    {"NoBlankAfterCalls",
     "events: A\nfl=a\nfn=f\ncfn=g\ncalls=1-3 5\n1 2\n",
     {},
     {},
     "5:8: expected a blank after a count, found a negative number"},
    {"NoBlankAfterJumps",
     "events: A\nfl=a\nfn=f\njump=1+3\n1\n",
     {},
     {},
     "4:7: expected a blank after a count, found '+3'"},

    // --- Cachegrind's subset
    {"Cachegrind",
     "desc: I1 cache: 32768 B, 64 B, 8-way associative\ncmd: ./a\nevents: Ir\nfl=a.c\nfn=main\n1 "
     "5\n"
     "fi=a.h\n7 1\nfe=a.c\nfn=g\n2 6\nsummary: 12\n",
     {},
     {"main@a.c a.c:1 5", "main@a.c a.h:7 1", "g@a.c a.c:2 6"}},
    {"CachegrindTruncated",
     "events: Ir\nfl=a.c\nfn=main\n1 5\nsummary: 11\n",
     {"5:1: warning: summary: says 11 Ir, but the lines add up to 5, which is used"},
     {"main@a.c a.c:1 5"}},
};

class CallgrindReader : public testing::TestWithParam<Rule> {};

TEST_P(CallgrindReader, FollowsTheRule) { check_rule(GetParam()); }

INSTANTIATE_TEST_SUITE_P(Rules, CallgrindReader, testing::ValuesIn(rules),
                         [](const auto &each) { return each.param.name; });

CostProfile profile_of(std::string_view text) {
  Diagnostics diagnostics;
  auto profile = read(text, diagnostics);
  EXPECT_TRUE(profile) << profile.error().text();
  return std::move(*profile);
}

TEST(CallgrindReaderHeader, IsKept) {
  const CostProfile p = profile_of(
      "version: 1\ncreator: c 1 \npid: 12\ncmd:  ./a -x \npart: 3\nthread: 2\n"
      "desc: Timerange: Basic block 0 - 9\ndesc: Trigger: end: of it\ndesc: I1 cache: 32 KB\n"
      "desc: odd\nevent: B = 2 A + 10 C : Long\nevent: A : All of it\nevents: A C\nsummary: 9 9\n"
      "fl=a\nfn=f\n1 2 3\ntotals: 2 3\n");
  const auto text = [&](StringId id) { return p.strings[id]; };
  ASSERT_EQ(p.parts().size(), 1u);
  const CostPart &part = p.parts()[CostPartId{0}];
  EXPECT_EQ(text(p.creator), "c 1");
  EXPECT_EQ(part.pid, 12);
  EXPECT_EQ(part.thread, 2);
  EXPECT_EQ(part.number, 3u);
  EXPECT_EQ(text(part.command), "./a -x");
  EXPECT_EQ(text(part.time_range), "Basic block 0 - 9");
  EXPECT_EQ(text(part.trigger), "end: of it");
  EXPECT_EQ(part.summary, (std::vector<uint64_t>{9, 9}));
  ASSERT_EQ(part.descriptions.size(), 2u);
  EXPECT_EQ(text(part.descriptions[0].first), "I1 cache");
  EXPECT_EQ(text(part.descriptions[0].second), "32 KB");
  EXPECT_EQ(text(part.descriptions[1].first), "odd");
  ASSERT_EQ(p.events().size(), 2u);
  EXPECT_EQ(text(p.events()[0].long_name), "All of it");
  ASSERT_EQ(p.derived_events().size(), 1u);
  EXPECT_EQ(text(p.derived_events()[0].formula), "2 A + 10 C");
  EXPECT_EQ(text(p.derived_events()[0].long_name), "Long");
  EXPECT_FALSE(p.has_addresses);
  EXPECT_TRUE(p.has_lines);
}

TEST(CallgrindReaderHeader, LimitsTheNumberOfEvents) {
  std::string text = "events:";
  for (int i = 0; i < 257; ++i)
    text += fmt::format(" e{}", i);
  Diagnostics diagnostics;
  const auto profile = read(text + "\n", diagnostics);
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().code, ErrorCode::limit);
}

TEST(CallgrindReaderHeader, LimitsTheNumberOfDescribedEvents) {
  std::string text;
  for (int i = 0; i < 2000; ++i)
    text += fmt::format("event: e{} = A\n", i % 1000);
  Diagnostics diagnostics;
  EXPECT_TRUE(read(text + one + "1 2\n", diagnostics));
  const auto profile = read(text + "event: more\n" + one + "1 2\n", diagnostics);
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().text(), "f:2001:1: more than 1000 events are described");
}

// As many large ids as lines, chosen to collide in a table with a fixed hash function.
TEST(CallgrindReaderLimits, AllowIdsFarApart) {
  std::string text = one;
  for (uint64_t i = 1; i <= 20000; ++i)
    text += fmt::format("fn=({}) f{}\n1 1\n", i * 1056323 * 4096, i);
  EXPECT_EQ(profile_of(text).functions().size(), 20000u);
}

// Repeating the same long name takes no more memory.
TEST(CallgrindReaderLimits, StoreARepeatedCompositeNameOnce) {
  std::string text = "events: A\nfl=a\nfn=(1) " + std::string(20000, 'n') + "\n";
  for (int i = 0; i < 5000; ++i)
    text += "fn=(1)'2\n1 1\n";
  EXPECT_EQ(profile_of(text).totals()[0], 5000u);
}

TEST(CallgrindReaderLimits, AllowAVeryLongLine) {
  const std::string name(100'000'000, 'n');
  const CostProfile p = profile_of("# " + name + "\n" + one + "1 2\nfn=" + name + "\n2 3\n");
  ASSERT_EQ(p.functions().size(), 2u);
  EXPECT_EQ(p.strings[p.functions()[CostFunctionId{1}].name], name);
  EXPECT_EQ(p.totals()[0], 5u);
}

// Each name is twice as long as the one before, so that a few lines would fill any memory.
TEST(CallgrindReaderLimits, RefuseTooLongCompositeNames) {
  std::string text = "events: A\nfl=a\nfn=(1) 0123456789\n";
  for (int i = 2; i < 60; ++i)
    text += fmt::format("fn=({}) ({})'({})\n", i, i - 1, i - 1);
  Diagnostics diagnostics;
  const auto profile = read(text, diagnostics);
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().code, ErrorCode::limit);
  EXPECT_NE(profile.error().text().find("names made of ids add up to more than 64 MiB"),
            std::string::npos);
}

TEST(CallgrindReaderLimits, ApplyToCompressedFiles) {
  std::string text = one;
  for (int i = 0; i < 100000; ++i)
    text += "1 2\n";
  const std::string packed = gzip(text);
  Diagnostics diagnostics;
  const auto whole = read(packed, diagnostics);
  ASSERT_TRUE(whole) << whole.error().text();
  EXPECT_EQ(whole->totals()[0], 200000u);
  for (size_t left : {packed.size() - 1, packed.size() - 8, packed.size() / 2, size_t{20}}) {
    const auto cut = read(std::string_view(packed).substr(0, left), diagnostics);
    ASSERT_FALSE(cut) << left;
    EXPECT_EQ(cut.error().code, ErrorCode::invalid_input) << cut.error().text();
    EXPECT_EQ(cut.error().source, "f");
  }
  const auto bomb = read(packed, diagnostics, {.max_unpacked_bytes = 100000});
  ASSERT_FALSE(bomb);
  EXPECT_EQ(bomb.error().code, ErrorCode::limit);
}

TEST(CallgrindReaderEmpty, ReportsNoData) {
  const TemporaryFolder folder;
  const auto message_of = [&](const std::string &name) {
    Diagnostics diagnostics;
    const auto profile = read_profile(folder / name, diagnostics);
    EXPECT_FALSE(profile);
    EXPECT_EQ(profile.error().code, ErrorCode::no_data);
    return profile.error().message;
  };
  folder.put("callgrind.out.1", "");
  EXPECT_EQ(message_of("callgrind.out.1"), "is empty");
  // Valgrind leaves this file empty if each thread has a file of its own.
  folder.put("callgrind.out.1-01", one + "1 2\n");
  EXPECT_EQ(message_of("callgrind.out.1"),
            "is empty; the threads are in separate files: callgrind.out.1-01, …");
}

} // namespace
} // namespace tally::formats_callgrind_read_test
