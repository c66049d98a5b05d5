// The reader's rules, one row each: what it reads, which diagnostics it reports, what it refuses.
// The file is longer than 600 lines because it is one table, in the order of FORMAT.md, and would
// be harder to follow in two files.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <tally/formats.h>

#include "../support/read_profile.h"
#include "formats/callgrind/read.h"
#include "packed.h"
#include "temporary.h"

namespace tally::formats_callgrind_read_test {
namespace {

struct Rule {
  std::string name;
  std::string text;
  std::vector<std::string> findings; // "LINE:COLUMN: severity: message"
  std::vector<std::string> rows;     // as described() returns them
  std::string refused{};             // "LINE:COLUMN: message"
};

std::ostream &operator<<(std::ostream &out, const Rule &rule) { return out << rule.name; }

// Returns one text for each row: "f@FILE#OBJECT FILE:LINE COST…", with " -> CALLEE:LINE xCALLS" for
// a call, and "2|" before it in the second part. If there are addresses, "0x…" precedes the line.
std::vector<std::string> described(const CostProfile &p) {
  std::vector<std::string> out;
  const auto text = [&](StringId id) { return p.strings[id]; };
  const auto name_of = [&](CostFunctionId id) {
    const CostFunction &f = p.functions()[id];
    const std::string_view object = text(p.objects()[f.object]);
    return fmt::format("{}@{}{}{}", text(f.name), text(p.files()[f.file]),
                       object.empty() ? "" : "#", object);
  };
  const auto place = [&](const CostPosition &at) {
    return fmt::format("{}{}{}", p.has_addresses ? fmt::format("{:#x},", at.address) : "",
                       p.has_basic_blocks ? fmt::format("{:#x},", at.basic_block) : "", at.line);
  };
  std::vector<uint64_t> costs(p.events().size());
  for (const CostBlock &block : p.blocks()) {
    const std::string head = fmt::format(
        "{}{} {}:", index_of(block.part) ? fmt::format("{}|", index_of(block.part) + 1) : "",
        name_of(block.function), text(p.files()[block.file]));
    for (uint32_t i = block.first_cost; i < block.last_cost; ++i) {
      p.costs().get(i, costs);
      out.push_back(fmt::format("{}{} {}", head, place(p.cost_position(i)), fmt::join(costs, " ")));
    }
    for (uint32_t i = block.first_call; i < block.last_call; ++i) {
      const CostCall call = p.call(i);
      p.call_costs().get(i, costs);
      out.push_back(fmt::format("{}{} -> {}:{} x{} {}", head, place(call.from),
                                name_of(call.callee), place(call.target), call.count,
                                fmt::join(costs, " ")));
    }
    for (uint32_t i = block.first_jump; i < block.last_jump; ++i) {
      const CostJump jump = p.jump(i);
      std::string target = place(jump.target);
      if (jump.target_file != none<FileId>)
        target = fmt::format("{}:{}", text(p.files()[jump.target_file]), target);
      if (jump.target_function != none<CostFunctionId>)
        target = fmt::format("{} {}", name_of(jump.target_function), target);
      out.push_back(fmt::format("{}{} => {} {}", head, place(jump.from), target,
                                jump.conditional
                                    ? fmt::format("{}/{}", jump.followed, jump.executed)
                                    : std::to_string(jump.executed)));
    }
  }
  return out;
}

// Removes the name of the source before the position.
std::string placed(const std::string &text) {
  return text.starts_with("f: ") ? text.substr(3) : text.starts_with("f:") ? text.substr(2) : text;
}

Result<CostProfile> read(std::string_view text, Diagnostics &diagnostics,
                         const ReadOptions &options = {}) {
  TALLY_TRY(profile, callgrind::read(*ByteSource::of(text, "f", options), diagnostics));
  return std::move(std::get<CostProfile>(profile));
}

// One event; the first line of costs is line 4.
const std::string one = "events: A\nfl=a\nfn=f\n";
const std::string two = "events: A B\nfl=a\nfn=f\n";
const std::string valgrind = "creator: callgrind-3.19.0\n";

std::string crlf(std::string text) {
  for (size_t at = 0; (at = text.find('\n', at)) != text.npos; at += 2)
    text.insert(at, "\r");
  return text;
}

const std::vector<Rule> rules{
    // --- positions
    {"BaseByTheManual",
     one + "10 1\ncfn=g\ncalls=1 5\n+5 2\n+1 3\n",
     {},
     {"f@a a:10 1", "f@a a:16 3", "f@a a:15 -> g@a:5 x1 2"}},
    {"BaseByValgrind",
     valgrind + one + "10 1\ncfn=g\ncalls=1 5\n+5 2\n+1 3\n",
     {},
     {"f@a a:10 1", "f@a a:11 3", "f@a a:15 -> g@a:5 x1 2"}},
    {"BaseOfJumpsByTheManual",
     one + "10 1\njump=2 +7\n+5\n+1 3\n",
     {},
     {"f@a a:10 1", "f@a a:16 3", "f@a a:15 => 17 2"}},
    {"BaseOfJumpsByValgrind",
     valgrind + one + "10 1\njump=2 +7\n+5\n+1 3\n",
     {},
     {"f@a a:10 1", "f@a a:11 3", "f@a a:15 => 17 2"}},
    {"BaseGoesOnByTheManual", one + "10 1\nfn=g\n+2 1\n", {}, {"f@a a:10 1", "g@a a:12 1"}},
    {"BaseStartsAnewByValgrind",
     valgrind + one + "10 1\nfn=g\n+2 1\n",
     {},
     {"f@a a:10 1", "g@a a:2 1"}},
    {"TargetsDoNotMoveTheBase",
     one + "10 1\ncfn=g\ncalls=1 +3\n* 2\ncalls=1 -3\n* 2\n",
     {},
     {"f@a a:10 1", "f@a a:10 -> g@a:13 x1 2", "f@a a:10 -> g@a:7 x1 2"}},
    {"EachSubpositionHasItsBase",
     "positions: instr line\n" + one + "0x10 5 1\n+4 -2 1\n* +1 1\n",
     {},
     {"f@a a:0x10,5 1", "f@a a:0x14,3 1", "f@a a:0x14,4 1"}},
    {"BasicBlocks",
     "positions: instr bb line\n" + one + "0x10 0x8 5 1\n+4 * +1 2\n",
     {},
     {"f@a a:0x10,0x8,5 1", "f@a a:0x14,0x8,6 2"}},
    {"AddrIsInstr", "positions: addr\n" + one + "0x10 1\n", {}, {"f@a a:0x10,0 1"}},
    {"PositionsOutOfOrder",
     "positions: line instr\n" + one + "0x10 5 1\n",
     {"1:17: warning: positions: has another order; the numbers are read in the order instr, bb, "
      "line"},
     {"f@a a:0x10,5 1"}},
    {"PositionsTwice", "positions: line line\n", {}, {}, "1:17: position line is named twice"},
    {"PositionsUnknown", "positions: word\n", {}, {}, "1:12: expected instr, bb or line"},
    {"PositionsNone",
     "positions:\n" + two + "1 2\n0x10\ncfn=g\ncalls=3\n4 5\n",
     {},
     {"f@a a:0 1 2", "f@a a:0 16 0", "f@a a:0 -> g@a:0 x3 4 5"}},
    {"NegativeLine", one + "-1 2\n", {}, {}, "4:1: the position would be negative: 0 - 1"},
    {"NegativeLineLater",
     one + "5 2\n-6 2\n",
     {},
     {},
     "5:1: the position would be negative: 5 - 6"},
    {"NegativeTarget",
     one + "5 2\ncfn=g\ncalls=1 -6\n5 1\n",
     {},
     {},
     "6:9: the position would be negative: 5 - 6"},
    {"PositionTooLarge",
     one + "18446744073709551616 2\n",
     {},
     {},
     "4:1: the number does not fit in 64 bits"},
    {"RelativePositionTooLarge",
     "positions: instr\n" + one + "0xffffffffffffffff 2\n+1 2\n",
     {},
     {},
     "6:1: the position does not fit in 64 bits"},
    {"LineTooLarge",
     one + "4294967296 2\n",
     {},
     {},
     "4:1: the line number 4294967296 does not fit in 32 bits"},
    {"PositionMissing",
     "positions: instr line\n" + one + "0x10\n",
     {},
     {},
     "5:5: expected a position, found the end of the line"},
    {"PositionIsNoNumber", one + "+x 2\n", {}, {}, "4:1: expected a position, found '+x'"},
    {"Ranges",
     one + "10+3 1\n20:22 2\n",
     {"4:1: warning: a range of positions is read as its beginning (2 times)"},
     {"f@a a:10 1", "f@a a:20 2"}},

    // --- the header
    {"HeaderInAnyOrder",
     "summary: 2\nevents: A\ndesc: Note: n\npositions: line\ncmd: x\nversion: 1\ncreator: c\nfl=a\n"
     "fn=f\n1 2\n",
     {},
     {"f@a a:1 2"}},
    {"DescriptionsBehindEvents", "events: A\ndesc: Note: n\nfl=a\nfn=f\n1 2\n", {}, {"f@a a:1 2"}},
    {"NoEvents", "fl=a\nfn=f\n1 2\n3 4\n", {}, {}, "3:1: costs before any events: line"},
    {"EventsTooLate", "fl=a\nfn=f\n1 2\nevents: A\n", {}, {}, "3:1: costs before any events: line"},
    {"EventsBehindNames", "fl=a\nfn=f\nevents: A\n1 2\n", {}, {"f@a a:1 2"}},
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
    {"VersionIsNoNumber", "version: x\n", {}, {}, "1:10: expected a version, found 'x'"},
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
    {"TotalsLeaveOutZeros", two + "1 2\ntotals: 2\n", {}, {"f@a a:1 2 0"}},
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
    {"SummaryBehindTheCosts", two + "1 2 3\nsummary: 2 3\n", {}, {"f@a a:1 2 3"}},
    {"SummaryBehindTheCostsIsNoSum",
     two + "1 2 3\nsummary: 5 9\n",
     {"5:1: warning: summary: says 5 A, but the lines add up to 2, which is used"},
     {"f@a a:1 2 3"}},
    {"HalfALineWithoutASummary", one + "1 2\n+", {}, {}, "5:1: expected a position, found '+'"},

    // --- costs
    {"CostsLeftOut", two + "1\n2 3\n3 4 5\n", {}, {"f@a a:1 0 0", "f@a a:2 3 0", "f@a a:3 4 5"}},
    {"Tabs", two + "1\t2\t3\t\n\t2 4 \n", {}, {"f@a a:1 2 3", "f@a a:2 4 0"}},
    {"Hex", two + "0xA 0x1F 0X10\n+0x3 1\n", {}, {"f@a a:10 31 16", "f@a a:13 1 0"}},
    {"LargestCost", one + "1 18446744073709551615\n", {}, {"f@a a:1 18446744073709551615"}},
    {"CostTooLarge",
     one + "1 18446744073709551616\n",
     {},
     {},
     "4:3: the number does not fit in 64 bits"},
    {"HexCostTooLarge",
     one + "1 0x10000000000000000\n",
     {},
     {},
     "4:3: the number does not fit in 64 bits"},
    {"SumTooLarge",
     two + "1 1 18446744073709551615\n2 1 1\n",
     {},
     {},
     "5:5: the sum of event B does not fit in 64 bits"},
    {"MoreCostsThanEvents", one + "1 2 3\n", {}, {}, "4:5: more costs than events: there is 1"},
    {"MoreCostsThanTwoEvents",
     two + "1 2 3 4\n",
     {},
     {},
     "4:7: more costs than events: there are 2"},
    {"NegativeCostsOfOneEvent",
     two + "1 2 -3\ncfn=g\ncalls=1 0 0\n2 4 -5\n3 6 7\nsummary: 8 -1\n",
     {"4:5: warning: event B has negative costs; the event is ignored (3 times)"},
     {"f@a a:1 2", "f@a a:3 6", "f@a a:2 -> g@a:0 x1 4"}},
    {"NegativeCostsOfAllEvents", two + "1 -2 -3\n", {}, {}, "has no event that could be read"},
    {"NegativeCost", one + "1 -2\n", {}, {}, "4:3: expected a cost, found a negative number"},
    {"CostIsNoNumber", one + "1 x\n", {}, {}, "4:3: expected a cost, found 'x'"},
    {"CostIsNoWholeNumber",
     one + "1 2.5\n",
     {},
     {},
     "4:4: expected a blank after a cost, found '.5'"},
    {"CostBeforeAnyFunction", "events: A\nfl=a\n1 2\n", {}, {}, "3:1: costs before any fn= line"},
    {"LinesEndInCrLf",
     crlf(one + "1 2\n\n2 3\n"),
     {"1:10: warning: lines end in CR LF"},
     {"f@a a:1 2", "f@a a:2 3"}},

    // --- calls
    {"CallsOfCountZero", one + "cfn=g\ncalls=0 1\n1 5\n", {}, {"f@a a:1 -> g@a:1 x0 5"}},
    {"CallsWithBlanksBeforeTheCost",
     one + "cfn=g\ncalls=3 1\n\n# c\n1 5\n",
     {},
     {"f@a a:1 -> g@a:1 x3 5"}},
    {"CallsWithoutCostLine",
     one + "cfn=g\ncalls=1 2\nfn=h\n1 2\n",
     {},
     {},
     "5:1: a call needs a line with its position and cost"},
    {"CallsWithoutCostLineBeforeAnother",
     one + "cfn=g\ncalls=1 2\ncalls=1 3\n1 2\n",
     {},
     {},
     "5:1: a call needs a line with its position and cost"},
    {"CallsAtTheEnd",
     one + "cfn=g\ncalls=1 2\n",
     {},
     {},
     "5:1: a call needs a line with its position and cost"},
    {"CallsBeforeTotals",
     one + "cfn=g\ncalls=1 2\ntotals: 0\n",
     {},
     {},
     "5:1: a call needs a line with its position and cost"},
    {"JumpAtTheEnd", one + "jump=1 2\n", {}, {}, "4:1: a jump needs a line with its position"},
    {"MoreNumbersInATarget",
     one + "cfn=g\ncalls=1 2 3\n1 5\n",
     {"5:11: warning: more numbers after calls= than positions need; they are ignored"},
     {"f@a a:1 -> g@a:2 x1 5"}},
    {"NoTarget",
     one + "cfn=g\ncalls=1\n1 5\n",
     {"5:8: warning: calls= without the position of its target"},
     {"f@a a:1 -> g@a:0 x1 5"}},
    {"CallsWithoutCallee",
     one + "calls=1 2\n1 5\n",
     {},
     {},
     "4:1: calls= without a cfn= before it"},
    {"CalleeEndsWithItsFunction",
     one + "cfn=g\ncalls=1 2\n1 5\nfn=h\ncalls=1 2\n1 5\n",
     {},
     {},
     "8:1: calls= without a cfn= before it"},
    {"CallsShareACallee",
     one + "cfi=b\ncfn=g\ncalls=1 2\n1 5\ncalls=2 2\n3 6\n",
     {},
     {"f@a a:1 -> g@b:2 x1 5", "f@a a:3 -> g@b:2 x2 6"}},
    {"CallsTooMany",
     one + "cfn=g\ncalls=18446744073709551616 2\n1 5\n",
     {},
     {},
     "5:7: the number does not fit in 64 bits"},
    {"CallsOfNoNumber",
     one + "cfn=g\ncalls=x 2\n1 5\n",
     {},
     {},
     "5:7: expected the number of calls, found 'x'"},
    {"CalleeUsesUpFileAndObject",
     one + "cob=o\ncfi=b\ncfn=g\ncfn=h\ncalls=1 2\n1 5\n",
     {},
     {"f@a a:1 -> h@a:2 x1 5"}},
    {"CalleeBehindItsName",
     one + "cfn=g\ncfi=b\ncob=o\ncalls=1 2\n1 5\ncfn=h\ncalls=1 2\n1 6\n",
     {},
     {"f@a a:1 -> g@b#o:2 x1 5", "f@a a:1 -> h@a:2 x1 6"}},
    {"CalleeBehindItsNameIsShared",
     one + "cfn=g\ncfl=b\ncalls=1 2\n1 5\ncalls=2 2\n3 6\n",
     {},
     {"f@a a:1 -> g@b:2 x1 5", "f@a a:3 -> g@b:2 x2 6"}},
    {"CalleeWithoutCallsKeepsNothingOfTheNext",
     one + "cfn=g\ncob=o\ncfi=b\ncfn=h\ncalls=1 2\n1 5\n",
     {},
     {"f@a a:1 -> h@b#o:2 x1 5"}},
    {"CalleeIsOfTheLineFile", one + "fi=b\ncfn=g\ncalls=1 2\n1 5\n", {}, {"f@a b:1 -> g@b:2 x1 5"}},
    {"CalleeIsOfTheObject",
     "events: A\nob=o\nfl=a\nfn=f\ncfn=g\ncalls=1 2\n1 5\ncob=q\ncfn=g\ncalls=1 2\n1 6\n",
     {},
     {"f@a#o a:1 -> g@a#o:2 x1 5", "f@a#o a:1 -> g@a#q:2 x1 6"}},
    {"CflIsCfi", one + "cfl=b\ncfn=g\ncalls=1 2\n1 5\n", {}, {"f@a a:1 -> g@b:2 x1 5"}},
    {"Rcalls",
     one + "cfn=g\nrcalls=1 2\n1 5\n",
     {"5:1: warning: rcalls= is read as calls="},
     {"f@a a:1 -> g@a:2 x1 5"}},

    // --- jumps
    {"ConditionalJump", one + "jcnd=3/10 7\n1\n", {}, {"f@a a:1 => 7 3/10"}},
    {"ConditionalJumpByTheManual",
     one + "jcnd=10 3 7\n1\n",
     {"4:8: warning: jcnd= without a '/' is read as executed, followed"},
     {"f@a a:1 => 7 3/10"}},
    {"JumpElsewhere",
     one + "jfi=b\njfn=g\njump=3 7\n1\njump=4 8\n1\n",
     {},
     {"f@a a:1 => g@b b:7 3", "f@a a:1 => 8 4"}},
    {"JumpIsNoCost",
     one + "jump=3 7\n1 5\n2 1\n",
     {"5:3: warning: a jump's line has costs, which are ignored"},
     {"f@a a:2 1", "f@a a:1 => 7 3"}},
    {"JumpsDefineIds",
     one + "jfi=(2) b\njfn=(2) g\njump=3 7\n1\nfl=(2)\nfn=(2)\n1 2\n",
     {},
     {"f@a a:1 => g@b b:7 3", "g@b b:1 2"}},

    // --- names
    {"FnGoesBackToTheFile",
     one + "1 2\nfi=b\n2 3\nfn=g\n3 4\n",
     {},
     {"f@a a:1 2", "f@a b:2 3", "g@a a:3 4"}},
    {"FeGoesBackToTheFile", one + "fi=b\n2 3\nfe=a\n3 4\n", {}, {"f@a b:2 3", "f@a a:3 4"}},
    {"FiBeforeAnyFl",
     "events: A\nfi=a\nfn=f\n1 2\n\nfi=b\nfn=g\n3 4\ncfn=f\ncfi=a\ncalls=1 1\n3 5\n",
     {"2:1: warning: fi= before any fl= is read as fl= (2 times)"},
     {"f@a a:1 2", "g@b b:3 4", "g@b b:3 -> f@a:1 x1 5"}},
    {"FiBeforeFn", "events: A\nfl=a\nfi=b\nfn=f\n1 2\n", {}, {"f@a a:1 2"}},
    {"UndefinedId",
     "events: A\nob=(1)\nfl=(2)\nfn=(3)\n1 2\nfn=(3)\n2 3\n",
     {"2:4: error: object id (1) is not defined", "3:4: error: file id (2) is not defined",
      "4:4: error: function id (3) is not defined (2 times)"},
     {"(3)@(2)#(1) (2):1 2", "(3)@(2)#(1) (2):2 3"}},
    {"IdDefinedAgain",
     "events: A\nfl=a\nfn=(1) f\n1 2\nfn=(1) g\n1 3\nfn=(1)\n1 4\n",
     {"5:4: warning: function id (1) is defined again with another name; before in line 3"},
     {"f@a a:1 2", "g@a a:1 3", "g@a a:1 4"}},
    {"IdDefinedAgainAlike",
     "events: A\nfl=(1) a\nfn=(1) f\n1 2\nfn=(1) f\n1 3\n",
     {},
     {"f@a a:1 2", "f@a a:1 3"}},
    {"IdsOfThreeTables",
     "events: A\nob=(1) o\nfl=(1) a\nfn=(1) f\ncob=(2) q\ncfi=(2) b\ncfn=(2) g\ncalls=1 1\n1 5\n"
     "ob=(2)\nfl=(2)\nfn=(2)\n1 2\nfi=(1)\n2 3\n",
     {},
     {"f@a#o a:1 -> g@b#q:1 x1 5", "g@b#q b:1 2", "g@b#q a:2 3"}},
    {"IdTooLarge",
     "events: A\nfl=a\nfn=(18446744073709551616) f\n1 2\n",
     {},
     {},
     "3:5: the number does not fit in 64 bits"},
    {"LargestId",
     "events: A\nfl=a\nfn=(18446744073709551615) f\n1 2\nfn=(18446744073709551615)\n2 3\n",
     {},
     {"f@a a:1 2", "f@a a:2 3"}},
    {"IdWithoutItsEnd",
     "events: A\nfl=a\nfn=(1 f\n1 2\n",
     {},
     {},
     "3:6: expected ')' after an id, found ' '"},
    {"IdAtTheEndOfTheFile", "events: A\nfn=(1", {}, {}, "2:6: expected ')' after an id, found ''"},
    {"DefinedButNotUsed", "events: A\nfl=a\nfn=(3) unused\nfn=(4) f\n1 2\n", {}, {"f@a a:1 2"}},
    {"NoIds", "events: A\nfl=a\nfn=(below main)\n1 2\n", {}, {"(below main)@a a:1 2"}},
    {"NestedIds",
     "events: A\nfl=a\nfn=(1) f\nfn=(2) g\nfn=(3) (1)'(2)'2\n1 2\nfn=(4) (3)'h'(1)\n1 3\nfn=(4)\n1 "
     "4\n",
     {},
     {"f'g'2@a a:1 2", "f'g'2'h'f@a a:1 3", "f'g'2'h'f@a a:1 4"}},
    {"NestedIdsWithoutOneOfTheirOwn",
     "events: A\nfl=a\nfn=(1) f\nfn=(1)'2\n1 2\n",
     {},
     {"f'2@a a:1 2"}},
    {"NestedIdUndefined",
     "events: A\nfl=a\nfn=(3) (1)'2\n1 2\n",
     {"3:8: error: function id (1) is not defined"},
     {"(1)'2@a a:1 2"}},
    {"NamesKeepTheirSigns",
     "events: A\nfl=a\nfn=operator\"\"_x'2'c\n1 2\n",
     {},
     {"operator\"\"_x'2'c@a a:1 2"}},
    {"UnknownNames",
     "events: A\nob=???\nfl=???\nfn=???\n1 2\nob=\nfl=\nfn=\n2 3\n",
     {},
     {"???@ :1 2", "???@ :2 3"}},
    {"UnknownNamesWithIds",
     "events: A\nob=(1) ???\nfl=(1) ???\nfn=(1) f\n1 2\nfl=b\nob=(1)\nfl=(1)\nfn=(1)\n2 3\n",
     {},
     {"f@ :1 2", "f@ :2 3"}},
    {"BytesAreKept",
     "events: A\nfl=a\xff\xfe\nfn=" + std::string("n\0ul", 4) + "\x80\n1 2\n",
     {},
     {std::string("n\0ul", 4) + "\x80@a\xff\xfe a\xff\xfe:1 2"}},
    {"LinesOfValgrindsDebugging",
     "events: A\nfl=a\nfn=(1) f\nrec=1\nbb=0x10\nln=3\nfrfn=(2) g\n1 2\nrec=2\nfn=(2)\n2 3\n",
     {"4:1: warning: rec= is ignored (2 times)", "5:1: warning: bb= is ignored",
      "6:1: warning: ln= is ignored", "7:1: warning: frfn= is ignored"},
     {"f@a a:1 2", "g@a a:2 3"}},

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
     "9:1: the sum of event A does not fit in 64 bits"},
    {"RowsBehindTotals",
     "events: A\nfl=a\nfn=f\n1 2\ntotals: 2\n2 3\n3 4\n",
     {"6:1: error: lines with costs after totals:"},
     {"f@a a:1 2", "f@a a:2 3", "f@a a:3 4"}},
    {"EventsLinesTwice",
     "events: A\nevents: B\nfl=a\nfn=f\n1 2\n",
     {"2:1: warning: events: occurs twice; the last one is used"},
     {"f@a a:1 0 2"}},
    {"NoBlankBehindCalls",
     "events: A\nfl=a\nfn=f\ncfn=g\ncalls=1-3 5\n1 2\n",
     {},
     {},
     "5:8: expected a blank after a count, found a negative number"},
    {"NoBlankBehindJumps",
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
    {"CachegrindCutShort",
     "events: Ir\nfl=a.c\nfn=main\n1 5\nsummary: 11\n",
     {"5:1: warning: summary: says 11 Ir, but the lines add up to 5, which is used"},
     {"main@a.c a.c:1 5"}},
};

class CallgrindReader : public testing::TestWithParam<Rule> {};

TEST_P(CallgrindReader, FollowsTheRule) {
  const Rule &rule = GetParam();
  // In one piece, and in pieces that split any line.
  for (const size_t piece : {size_t{1} << 18, size_t{1}, size_t{7}}) {
    SCOPED_TRACE(piece);
    Diagnostics diagnostics;
    const auto profile = read(rule.text, diagnostics, {.piece_bytes = piece});
    std::vector<std::string> findings;
    for (const Finding &finding : diagnostics.findings())
      findings.push_back(placed(finding.text()));
    if (!rule.refused.empty()) {
      ASSERT_FALSE(profile);
      EXPECT_EQ(placed(profile.error().text()), rule.refused);
      EXPECT_NE(profile.error().code, ErrorCode::internal);
      continue;
    }
    ASSERT_TRUE(profile) << profile.error().text();
    EXPECT_EQ(findings, rule.findings);
    EXPECT_EQ(described(*profile), rule.rows);
  }
}

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
