#include <algorithm>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/cost_profile.h"
#include "random_profile.h"
#include "report/groups.h"
#include "report/render.h"
#include "report/report.h"
#include "report/tree.h"
#include "report/value_text.h"
#include "support/text.h"

namespace tally::report_table_test {
namespace {

using Json = nlohmann::json;
using RowKey = std::tuple<std::string, std::string, std::string, uint32_t, uint64_t>;
using Rows = std::map<RowKey, std::pair<Costs, Costs>>; // self, inclusive

RowKey key_of(const Frame &frame, By by) {
  const auto &[object, file, name] = frame.function;
  switch (by) {
  case By::line:
    return {name, frame.file, object, frame.line, 0};
  case By::object:
    return {"", "", object, 0, 0};
  case By::name_space: // random names belong to none
    return {"", "", "", 0, 0};
  case By::directory:
    return {file.empty() ? "" : ".", "", "", 0, 0};
  default:
    return {name, file, object, 0, 0};
  }
}

Rows plain_rows(const StackProfile &profile, By by) {
  Rows rows;
  for (size_t i = 0; i < profile.sample_count(); ++i) {
    const Sample sample = profile.sample(i);
    const Costs costs(sample.values.begin(), sample.values.end());
    if (std::ranges::all_of(costs, [](uint64_t cost) { return cost == 0; }))
      continue;
    std::set<RowKey> seen;
    const auto frames = frames_of(profile, sample.stack);
    add_to(rows[key_of(frames.front(), by)].first, costs);
    for (const Frame &frame : frames)
      if (seen.insert(key_of(frame, by)).second)
        add_to(rows[key_of(frame, by)].second, costs);
  }
  for (auto &[key, row] : rows) {
    row.first.resize(profile.value_types().size(), 0);
    row.second.resize(profile.value_types().size(), 0);
  }
  return rows;
}

TEST(FlatTable, AgreesWithCountingEachSample) {
  Random random(61);
  for (int round = 0; round < rounds(2000); ++round) {
    const StackProfile profile = random_profile(random, random_shape(random));
    for (const By by : {By::function, By::line, By::object, By::name_space, By::directory}) {
      const auto table = flat_table(profile, by);
      ASSERT_TRUE(table) << table.error().text();
      Rows rows;
      for (const FlatRow &row : table->rows)
        rows[{row.name, row.file, row.object, by == By::line ? row.line : 0, 0}] = {row.self,
                                                                                    row.inclusive};
      ASSERT_EQ(rows.size(), table->rows.size()); // no row occurs twice
      ASSERT_EQ(rows, plain_rows(profile, by));
    }
  }
}

TEST(FlatTable, SelfAddsUpToTheTotalAndInclusiveNeverExceedsIt) {
  Random random(62);
  for (int round = 0; round < rounds(500); ++round) {
    const StackProfile profile = random_profile(random, random_shape(random));
    for (const By by : {By::function, By::line, By::object, By::thread, By::part, By::name_space,
                        By::directory}) {
      const auto table = flat_table(profile, by);
      ASSERT_TRUE(table);
      Costs sum(table->totals.size(), 0);
      for (const FlatRow &row : table->rows) {
        add_to(sum, row.self);
        for (size_t e = 0; e < sum.size(); ++e) {
          ASSERT_LE(row.inclusive[e], table->totals[e]);
          ASSERT_LE(row.self[e], row.inclusive[e]);
        }
      }
      ASSERT_EQ(sum, table->totals);
    }
  }
}

TEST(FlatTable, SortsByFallingCost) {
  Random random(63);
  for (int round = 0; round < rounds(300); ++round) {
    RandomShape shape = random_shape(random);
    shape.largest_value = 1; // many ties
    const StackProfile profile = random_profile(random, shape);
    for (const SortBy sort : {SortBy::self, SortBy::inclusive}) {
      const auto table = flat_table(profile, By::function, sort);
      ASSERT_TRUE(table);
      ASSERT_TRUE(std::ranges::is_sorted(table->rows, [&](const FlatRow &a, const FlatRow &b) {
        const auto first = [&](const FlatRow &row) {
          return sort == SortBy::self ? row.self[0] : row.inclusive[0];
        };
        return first(a) > first(b);
      }));
      // Rows of equal costs are in the order of their names.
      for (size_t i = 1; i < table->rows.size(); ++i) {
        const FlatRow &a = table->rows[i - 1], &b = table->rows[i];
        if (a.self == b.self && a.inclusive == b.inclusive) {
          ASSERT_LE(a.name, b.name);
        }
      }
    }
  }
}

TEST(FlatTable, RefusesMissingAndNegativeValues) {
  StackProfileBuilder nothing;
  EXPECT_EQ(flat_table(*nothing.finish(), By::function).error().code, ErrorCode::no_data);
  for (const By by : {By::function, By::thread}) {
    StackProfileBuilder negative;
    negative.add_value_type("ticks", "count");
    negative.add_sample(none<StackId>, none<ThreadId>, none<PartId>, -1);
    EXPECT_EQ(flat_table(*negative.finish(), by).error().code, ErrorCode::invalid_input);
  }
}

FlatTable two_rows() {
  FlatTable table;
  table.events = {"ticks"};
  table.totals = {8};
  FlatRow row;
  row.name = "ma\xffin";
  row.file = "/src/a.c";
  row.object = "/bin/a";
  row.line = 4;
  row.id = 12;
  row.self = {6};
  row.inclusive = {8};
  table.rows.push_back(row);
  row.name = "f";
  row.file = "";
  row.line = 0;
  row.self = {2};
  row.inclusive = {2};
  table.rows.push_back(row);
  return table;
}

TEST(ReportJson, HasTheShapeThatScriptsDependOn) {
  EXPECT_EQ(to_json(two_rows()),
            "{\"events\":[\"ticks\"],\"totals\":[8],\"functions\":["
            "{\"name\":\"ma\xEF\xBF\xBDin\",\"file\":\"/src/a.c\",\"line\":4,\"object\":\"/bin/a\","
            "\"self\":[6],\"inclusive\":[8],\"calls\":0},"
            "{\"name\":\"f\",\"file\":\"\",\"line\":0,\"object\":\"/bin/"
            "a\",\"self\":[2],\"inclusive\":[2],"
            "\"calls\":0}]}\n");
  FlatTable table = two_rows();
  const auto first = [&](By by) {
    table.by = by;
    const Json json = Json::parse(to_json(table, 1));
    const std::vector<std::string> names{"functions", "lines", "objects", "threads", "parts"};
    const Json &rows = json.at(names[static_cast<size_t>(by)]);
    EXPECT_EQ(json.size(), 3u);
    EXPECT_EQ(rows.size(), 1u);
    return rows.at(0);
  };
  EXPECT_EQ(first(By::line)["line"], 4);
  EXPECT_EQ(first(By::line)["file"], "/src/a.c");
  EXPECT_EQ(first(By::object)["object"], "/bin/a");
  EXPECT_EQ(first(By::thread)["tid"], 12);
  EXPECT_EQ(first(By::part)["part"], 12);
  EXPECT_TRUE(first(By::part).contains("trigger"));
  table.rows.clear();
  table.by = By::function;
  EXPECT_EQ(to_json(table), "{\"events\":[\"ticks\"],\"totals\":[8],\"functions\":[]}\n");
}

std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    lines.push_back(line);
  return lines;
}

TEST(ReportText, HasRowsWithPercentNameAndLocation) {
  const auto lines = lines_of(to_text(two_rows()));
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_EQ(lines[0], "8 ticks in total");
  EXPECT_EQ(lines[1], "#   self%  self    incl%  incl  function  place");
  EXPECT_EQ(lines[3], "2  25.00%     2   25.00%     2  f         a");
  EXPECT_NE(lines[2].find("1  75.00%     6  100.00%     8  ma"), std::string::npos);
  EXPECT_TRUE(lines[2].ends_with("a.c:4"));
}

TEST(ReportText, ShowsLineNumbersOfUnknownFiles) {
  EXPECT_EQ(location_of("/src/a.c", 3, "/bin/x"), "a.c:3");
  EXPECT_EQ(location_of("", 3, "/bin/x"), "???:3 (x)");
  EXPECT_EQ(location_of("", 3, ""), "???:3");
  EXPECT_EQ(location_of("", 0, "/bin/x"), "x");
}

TEST(ReportText, ReportsTheLimit) {
  const std::string text = to_text(two_rows(), {.limit = 1});
  EXPECT_TRUE(text.ends_with("(1 more; --limit 0 shows all)\n")) << text;
  EXPECT_EQ(to_text(two_rows(), {.limit = 2}), to_text(two_rows()));
}

TEST(ReportText, NeverShortensNamesWithoutBrackets) {
  FlatTable table = two_rows();
  table.rows[0].name = std::string(300, 'n');
  for (const uint32_t width : {0u, 1u, 20u, 80u, 1000u})
    EXPECT_NE(to_text(table, {.width = width}).find(table.rows[0].name), std::string::npos);
  table.rows[0].name = "std::map<int, char>::at(int const&) const";
  EXPECT_NE(to_text(table, {.width = 0}).find(table.rows[0].name), std::string::npos);
  EXPECT_NE(to_text(table, {.width = 40}).find("std::map<…>::at(…) const"), std::string::npos);
}

TEST(ReportText, ReplacesControlCharactersInNames) {
  FlatTable table = two_rows();
  table.rows[0].name = "a\n\x1b[31mb\x7f";
  const std::string text = to_text(table);
  EXPECT_EQ(lines_of(text).size(), 4u);
  EXPECT_NE(text.find("a??[31mb?"), std::string::npos) << text;
}

TEST(ReportText, HasNoInclusiveColumnForThreadsAndParts) {
  FlatTable table = two_rows();
  table.by = By::thread;
  EXPECT_EQ(lines_of(to_text(table))[3], "2  25.00%     2  12 f");
  table.by = By::object;
  EXPECT_NE(to_text(table).find("/bin/a"), std::string::npos);
}

TEST(ReportText, FoldsThreadsThatAreInOneWait) {
  FlatTable table;
  table.by = By::thread;
  table.events = {"cpu", "wait", "queued", "waits"};
  table.units = {"nanoseconds", "nanoseconds", "nanoseconds", "count"};
  table.totals = {2'000'000, 3'600'000'000, 0, 23};
  const auto add = [&](std::string name, uint64_t id, std::vector<uint64_t> values) {
    FlatRow row;
    row.name = std::move(name);
    row.id = id;
    row.self = row.inclusive = std::move(values);
    table.rows.push_back(std::move(row));
  };
  add("busy", 1, {2'000'000, 600'000'000, 0, 20});
  add("pool", 2, {0, 1'000'000'000, 0, 1});
  add("often", 3, {0, 1'000'000'000, 0, 2}); // waits several times
  add("pool", 4, {0, 1'000'000'000, 0, 0});  // and still does
  const auto text = [&](uint32_t limit) { return lines_of(to_text(table, {.limit = limit})); };
  EXPECT_EQ(text(9).back(), "         -  2.00 s       -      1  [2 threads, each in one wait]");
  EXPECT_EQ(text(9).size(), 5u);
  EXPECT_EQ(text(0).size(), 6u); // none is folded
  table.rows.pop_back();
  EXPECT_EQ(text(9).size(), 5u); // one alone keeps its row
}

TEST(ShortName, OmitsTheTextInBrackets) {
  EXPECT_EQ(short_name("f(int)", 80), "f(int)");
  EXPECT_EQ(short_name("std::map<a<b>, c<d>>::at(e<f>)", 27), "std::map<a<…>, …>::at(e<f>)");
  EXPECT_EQ(short_name("std::map<a<b>, c>::at(d<e>)", 26), "std::map<a<…>, …>::at(…)");
  EXPECT_EQ(short_name("std::map<a<b>, c>::at(d<e>)", 5), "std::map<…>::at(…)");
  EXPECT_EQ(short_name("f<int (char, a<b>), c>(long, long)", 30), "f<int (…), …>(…)");
  EXPECT_EQ(short_name("f<&g->h, c>(long, long)", 20), "f<&g->h, …>(…)");
  EXPECT_EQ(short_name("(anonymous namespace)::f(int)", 5), "(anonymous namespace)::f(…)");
  EXPECT_EQ(short_name("operator<< <int>(long)", 5), "operator<< <…>(…)");
  EXPECT_EQ(short_name("a<b", 1), "a<b"); // not understood, so kept
  Random random(64);
  for (int round = 0; round < rounds(20'000); ++round) {
    std::string name;
    for (uint64_t i = pick(random, 20); i > 0; --i)
      name += std::vector<std::string>{
          "<", ">", "(", ")", "operator", "-", "a", "::", "()", "\xc3"}[pick(random, 10)];
    short_name(name, pick(random, 10)); // must return, and read nothing beyond the end
  }
}

TEST(ReportText, ShortensNamesWithoutATerminalToo) {
  FlatTable table = two_rows();
  const std::string name = "map<int, " + std::string(80, 'a') + ">";
  table.rows[0].name = name;
  const auto text = [&](const TextOptions &options) { return to_text(table, options); };
  EXPECT_NE(text({.width = 0}).find("  map<int, …>  "), std::string::npos);
  for (const uint32_t width : {0U, 60U})
    EXPECT_NE(text({.width = width, .full_names = true}).find(name), std::string::npos);
}

TEST(Diff, SortsByFallingSizeOfTheChange) {
  FlatTable before = two_rows(), after = two_rows();
  after.totals = {16};
  after.rows[0].self = {4};
  after.rows[1].self = {12};
  after.rows[1].line = 99; // an edit moves lines
  FlatRow fresh;
  fresh.name = "new";
  fresh.object = "/bin/a";
  fresh.self = fresh.inclusive = {0};
  after.rows.push_back(fresh);
  const DiffTable diff = diff_tables(before, after);
  ASSERT_EQ(diff.rows.size(), 2u);
  EXPECT_EQ(diff.rows[0].name, "f"); // 25 % to 75 %
  EXPECT_EQ(diff.rows[0].before, 2u);
  EXPECT_EQ(diff.rows[0].after, 12u);
  EXPECT_DOUBLE_EQ(diff.rows[0].before_percent, 25);
  EXPECT_DOUBLE_EQ(diff.rows[0].after_percent, 75);
  EXPECT_EQ(diff.before_total, 8u);
  EXPECT_EQ(diff.after_total, 16u);
  const Json json = Json::parse(to_json(diff));
  EXPECT_EQ(json["events"], Json::array({"ticks"}));
  EXPECT_EQ(json["totals"]["before"], 8);
  EXPECT_EQ(json["functions"][0]["after"], 12);
  EXPECT_NE(to_text(diff).find("+10 "), std::string::npos);
  EXPECT_NE(to_text(diff, {.limit = 1}).find("(1 more"), std::string::npos);
  before.totals = {1};
  EXPECT_TRUE(to_text(diff_tables(before, after)).starts_with("1 tick before, 16 now; "));
}

TEST(Diff, ComparesInclusiveCostsAndLines) {
  FlatTable before = two_rows(), after = two_rows();
  before.by = after.by = By::line;
  after.rows[0].inclusive = {1};
  after.rows[1].line = 99; // another line
  const DiffTable diff = diff_tables(before, after, SortBy::inclusive);
  EXPECT_EQ(diff.rows.size(), 3u);
  uint64_t sums[2] = {};
  for (const DiffRow &row : diff.rows) {
    sums[0] += row.before;
    sums[1] += row.after;
  }
  EXPECT_EQ(sums[0], before.rows[0].inclusive[0] + before.rows[1].inclusive[0]);
  EXPECT_EQ(sums[1], 1 + after.rows[1].inclusive[0]);
  EXPECT_NE(to_text(diff).find("inclusive cost"), std::string::npos);
  EXPECT_TRUE(Json::parse(to_json(diff))["lines"][0].contains("line"));
}

// Folded stacks have only names, by which they are compared.
// A profile of a program that runs, waits in `sleep`, and is queued in `main`.
StackProfile profile_with_waits() {
  StackProfileBuilder builder;
  builder.add_value_type("cpu", "nanoseconds");
  builder.add_value_type("wait", "nanoseconds");
  builder.add_value_type("waits", "count");
  const auto frame = [&](StackId caller, std::string_view name, uint64_t address) {
    const SourceLine line{builder.add_function({builder.intern(name), {}, {}, {}, 0}), {}, 0};
    return builder.push(caller,
                        builder.add_location(none<MappingId>, address, std::span(&line, 1)));
  };
  const StackId main = frame(none<StackId>, "main", 1);
  const auto add = [&](StackId stack, std::vector<int64_t> values) {
    builder.add_sample(stack, none<ThreadId>, none<PartId>, values);
  };
  add(main, {1'260'000, 0, 0});
  add(frame(main, "sleep", 2), {0, 15'200'000, 3});
  add(frame(frame(main, "outer", 3), "poll", 4), {0, 300'000, 1});
  return *builder.finish();
}

TEST(Text, HasAColumnForEachValue) {
  const auto table = flat_table(profile_with_waits(), By::function);
  ASSERT_TRUE(table);
  EXPECT_EQ(table->units, (std::vector<std::string>{"nanoseconds", "nanoseconds", "count"}));
  EXPECT_EQ(to_text(*table),
            "1.26 ms cpu, 15.5 ms wait, 4 waits in total\n"
            "the rows' own values; --sort inclusive adds their callees'\n"
            "#      cpu     wait  waits  function  place\n"
            "1        -  15.2 ms      3  sleep\n" // the longest time, of whatever kind
            "2  1.26 ms        -      -  main\n"
            "3        -   300 µs      1  poll\n"); // `outer` has no time of its own
  const auto inclusive = flat_table(profile_with_waits(), By::function, SortBy::inclusive);
  ASSERT_TRUE(inclusive);
  EXPECT_EQ(to_text(*inclusive), "1.26 ms cpu, 15.5 ms wait, 4 waits in total\n"
                                 "values of the rows and of their callees\n"
                                 "#      cpu     wait  waits  function  place\n"
                                 "1  1.26 ms  15.5 ms      4  main\n"
                                 "2        -  15.2 ms      3  sleep\n"
                                 "3        -   300 µs      1  outer\n"
                                 "4        -   300 µs      1  poll\n");
  const auto tree = call_tree(profile_with_waits());
  ASSERT_TRUE(tree);
  EXPECT_EQ(to_text(*tree), "1.26 ms cpu, 15.5 ms wait, 4 waits in total\n"
                            "  incl%      cpu     wait  waits   self%  function  place\n"
                            "100.00%  1.26 ms  15.5 ms      4   7.52%  main\n"
                            " 90.69%        -  15.2 ms      3  90.69%    sleep\n"
                            "  1.79%        -   300 µs      1   0.00%    outer\n"
                            "  1.79%        -   300 µs      1   1.79%      poll\n");
}

// As perf's clock events give them. Further values, here wait, have columns beside the cpu time.
TEST(Text, HasSharesOfTheTicksOfAClock) {
  const auto read = [](bool has_wait) {
    StackProfileBuilder builder;
    builder.add_value_type("ticks", "count");
    builder.add_value_type("cpu", "nanoseconds");
    if (has_wait)
      builder.add_value_type("wait", "nanoseconds");
    const SourceLine line{builder.add_function({builder.intern("main"), {}, {}, {}, 0}), {}, 0};
    const std::vector<int64_t> values{4, 4'000'000, 1};
    builder.add_sample(
        builder.push(none<StackId>, builder.add_location(none<MappingId>, 1, std::span(&line, 1))),
        none<ThreadId>, none<PartId>, std::span(values).first(has_wait ? 3 : 2));
    return *builder.finish();
  };
  EXPECT_EQ(to_text(*flat_table(read(false), By::function)),
            "4 ticks, 4.00 ms cpu in total\n"
            "#    self%  self    incl%  incl  function  place\n"
            "1  100.00%     4  100.00%     4  main\n");
  EXPECT_EQ(to_text(*call_tree(read(false))), "4 ticks, 4.00 ms cpu in total\n"
                                              "  incl%  incl    self%  function  place\n"
                                              "100.00%     4  100.00%  main\n");
  EXPECT_NE(
      to_text(*flat_table(read(true), By::function)).find("#  ticks      cpu  wait  function"),
      std::string::npos);
}

TEST(Text, ShowsOneValueWithItsUnit) {
  const auto table = flat_table(*one_event(profile_with_waits(), "wait"), By::function);
  ASSERT_TRUE(table);
  const std::string text = to_text(*table);
  EXPECT_TRUE(text.starts_with("15.5 ms wait in total\n")) << text;
  EXPECT_NE(text.find("1  98.06%  15.2 ms   98.06%  15.2 ms  sleep"), std::string::npos) << text;
}

TEST(ValueText, CountsInSingularAndPlural) {
  const std::vector<std::pair<std::string_view, std::string_view>> words{
      {"ticks", "tick"},         {"times", "time"},        {"files", "file"},
      {"functions", "function"}, {"processes", "process"}, {"passes", "pass"},
      {"branches", "branch"},    {"stretches", "stretch"}, {"cycles", "cycles"},
      {"Misses", "Misses"}};
  for (const auto &[plural, singular] : words) {
    EXPECT_EQ(counted(1, plural), "1 " + std::string(singular));
    EXPECT_EQ(counted(2, plural), "2 " + std::string(plural));
  }
}

TEST(ValueText, HasThreeDigits) {
  for (const auto &[ns, text] : {std::pair<uint64_t, std::string_view>{0, "0"},
                                 {999, "999 ns"},
                                 {1000, "1.00 µs"},
                                 {9'994, "9.99 µs"},
                                 {9'996, "10.0 µs"},
                                 {99'960, "100 µs"},
                                 {999'500, "1.00 ms"},
                                 {15'200'000, "15.2 ms"},
                                 {999'500'000, "1.00 s"},
                                 {61'000'000'000, "61.0 s"}})
    EXPECT_EQ(duration_text(ns), text);
  EXPECT_EQ(value_text(1'500'000, "nanoseconds"), "1.50 ms");
  EXPECT_EQ(value_text(1'500'000, "count"), "1500000");
  EXPECT_EQ(value_text(1'500'000'000, "billionths"), "1.5");
  EXPECT_EQ(value_text(20'000'000'000, "billionths"), "20");
  EXPECT_EQ(total_text(1, "nanoticks", "billionths"), "0.000000001 ticks");
}

TEST(Groups, TellTheOutermostScope) {
  const std::map<std::string_view, std::string_view> scopes{
      {"main", ""},
      {"main'(below main)", ""},
      {"parse(char const*, int)", ""},
      {"ns::S::run(int)", "ns"},
      {"(anonymous namespace)::f(int)", "(anonymous namespace)"},
      {"void (anonymous namespace)::f<ns::A>(ns::A)", "(anonymous namespace)"},
      {"ns::(anonymous namespace)::f()", "ns"},
      {"std::vector<ns::A, std::allocator<ns::A> >::push_back(ns::A&&)", "std"},
      {"std::vector<int> ns::make<int>(int)", "ns"},
      {"int tf<ns::A>(ns::A)", ""},
      {"void std::__1::sort<ns::A*>(ns::A*, ns::A*)", "std"},
      {"decltype (ns::f()) other::g<int>()", "other"},
      {"bool operator< <ns::A>(ns::A const&, ns::A const&)", ""},
      {"std::ostream& operator<<(std::ostream&, ns::A)", ""},
      {"ns::operator>(ns::A, ns::A)", "ns"},
      {"ns::A::operator bool() const", "ns"},
      {"ns::A::operator ns::B() const", "ns"},
      {"ns::A::operator()(int) const", "ns"},
      {"operator new(unsigned long)", ""},
      {"non-virtual thunk to ns::A::f()", "ns"},
      {"ns::f() [clone .cold]", "ns"},
      {"ns::f [clone .part.0]", "ns"},
      {"f(int)::{lambda(ns::A)#1}::operator()(ns::A) const", ""},
      {"main::{lambda(int)#1}::operator()(int) const", ""},
      {"main::$_0::operator()(int) const", ""},
      {"main::'lambda'(int)::operator()(int) const", ""},
      {"ns::f(int)::{lambda(int)#1}::operator()(int) const", "ns"},
      {"[kernel]", ""},
      {"core::fmt::Formatter::pad", "core"},
      {"prog::main::{{closure}}", "prog"},
      {"<alloc::vec::Vec<T> as core::fmt::Debug>::fmt", "alloc"},
      {"<&mut prog::A as core::fmt::Debug>::fmt", "prog"},
      {"<[T] as core::fmt::Debug>::fmt", "core"},
      {"<F as prog::Call<(ns::A,)>>::call", "prog"},
      {"<dyn prog::Trait>::f", "prog"},
      {"_$LT$alloc..vec..Vec$LT$T$GT$$u20$as$u20$core..fmt..Debug$GT$::fmt::h0123456789abcdef",
       "alloc"},
      {"_$LT$T$u20$as$u20$prog..A$GT$::fmt::h0123456789abcdef", "prog"},
      {"_$LT$$u5b$T$u3b$$u20$4$u5d$$u20$as$u20$prog..A$GT$::fmt::h0123456789abcdef", "prog"},
      {"_$LT$$BP$mut$u20$prog..A$u20$as$u20$core..fmt..Debug$GT$::fmt", "prog"},
      {"<", ""},
      {"<>", ""},
      {"::f", ""},
      {"", ""}};
  for (const auto &[function, scope] : scopes)
    EXPECT_EQ(namespace_of(function, "a.cc"), scope) << function;
  EXPECT_EQ(namespace_of("net/http.(*Server).Serve", "/go/server.go"), "net/http");
  EXPECT_EQ(namespace_of("main.main.func1", "/go/m.go"), "main");
  EXPECT_EQ(namespace_of("main.f.cold", "m.c"), "");
  EXPECT_EQ(directory_of("/usr/include/c++/12/vector"), "/usr/include/c++/12");
  EXPECT_EQ(directory_of("/x"), "/");
  EXPECT_EQ(directory_of("a.c"), ".");
  EXPECT_EQ(directory_of(""), "");
  EXPECT_EQ(by_of("module"), By::object);
  EXPECT_EQ(by_of("namespace"), By::name_space);
  EXPECT_EQ(by_of("directory"), By::directory);
}

TEST(Groups, AreRowsOfStacksAndOfCosts) {
  Random random(64);
  for (int round = 0; round < rounds(100); ++round) {
    RandomShape shape = random_shape(random);
    shape.strange_names = true;
    const StackProfile profile = random_profile(random, shape);
    const auto costs = aggregate(profile);
    ASSERT_TRUE(costs) << costs.error().text();
    for (const By by : {By::name_space, By::directory}) {
      const auto table = flat_table(profile, by), from_costs = flat_table(*costs, by);
      ASSERT_TRUE(table && from_costs);
      std::map<std::string, Costs> self, self_from_costs;
      for (const FlatRow &row : table->rows)
        self[row.name] = row.self;
      for (const FlatRow &row : from_costs->rows) {
        self_from_costs[row.name] = row.self;
        for (size_t e = 0; e < row.self.size(); ++e) {
          EXPECT_LE(row.self[e], row.inclusive[e]);
          EXPECT_LE(row.inclusive[e], from_costs->totals[e]);
        }
      }
      const auto no_cost = [](const auto &each) {
        return std::ranges::all_of(each.second, [](uint64_t cost) { return cost == 0; });
      };
      std::erase_if(self, no_cost);
      std::erase_if(self_from_costs, no_cost);
      EXPECT_EQ(self, self_from_costs);
    }
  }
}

TEST(Groups, HaveTitlesInTextAndJson) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  StackId stack = none<StackId>;
  for (const auto &[name, file] :
       {std::pair("main", "/src/main.c"), {"ns::f(int)", "/src/f.cc"}, {"puts", ""}}) {
    const SourceLine line{
        builder.add_function({builder.intern(name), {}, builder.intern(file), {}, 0}), {}, 0};
    stack = builder.push(stack, builder.add_location(none<MappingId>, 0, std::span(&line, 1)));
    builder.add_sample(stack, none<ThreadId>, none<PartId>, 1);
  }
  const StackProfile profile = *builder.finish();
  EXPECT_EQ(to_text(*flat_table(profile, By::name_space)),
            "3 ticks in total\n"
            "#   self%  self    incl%  incl  namespace\n"
            "1  66.67%     2  100.00%     3  [global]\n"
            "2  33.33%     1   66.67%     2  ns\n");
  const FlatTable directories = *flat_table(profile, By::directory);
  EXPECT_EQ(to_text(directories), "3 ticks in total\n"
                                  "#   self%  self    incl%  incl  directory\n"
                                  "1  66.67%     2  100.00%     3  /src\n"
                                  "2  33.33%     1   33.33%     1  [unknown]\n");
  EXPECT_EQ(to_json(directories),
            R"({"events":["ticks"],"totals":[3],"directories":[{"directory":"/src","self":[2],)"
            R"("inclusive":[3]},{"directory":"","self":[1],"inclusive":[1]}]})"
            "\n");
  FlatTable after = directories;
  after.rows[0].self[0] = 1;
  after.rows[1].self[0] = 2;
  EXPECT_EQ(to_text(diff_tables(directories, after)),
            "3 ticks before, 3 now; changes of the self cost\n"
            "change  before  after  before%  after%  directory\n"
            "    +1       1      2   33.33%  66.67%  [unknown]\n"
            "    -1       2      1   66.67%  33.33%  /src\n"
            "(a side has 3 ticks; with less than 100, most changes are chance)\n");
}

TEST(Diff, ComparesByNameIfOneSideHasOnlyNames) {
  FlatTable names = two_rows();
  for (FlatRow &row : names.rows)
    row.file = row.object = "";
  for (const auto &[before, after] :
       {std::pair(names, two_rows()), std::pair(two_rows(), names), std::pair(names, names)}) {
    const DiffTable diff = diff_tables(before, after);
    ASSERT_EQ(diff.rows.size(), 2u);
    EXPECT_EQ(diff.rows[0].before, diff.rows[0].after);
  }
  EXPECT_EQ(diff_tables(names, two_rows()).rows[1].file, "/src/a.c");
  // Two functions of one name stay separate if both sides distinguish them.
  FlatTable twins = two_rows();
  twins.rows[1].name = twins.rows[0].name;
  EXPECT_EQ(diff_tables(twins, twins).rows.size(), 2u);
  EXPECT_EQ(diff_tables(FlatTable{By::function, {"ticks"}, {0}, {}}, twins).rows.size(), 2u);
}

TEST(FlatTable, ShowsIdsThatReadersMadeUp) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  for (const int32_t tid : {-2, 7})
    builder.add_sample(none<StackId>, builder.add_thread(-3, tid, "t"), none<PartId>, 1);
  const StackProfile profile = std::move(*builder.finish());
  const auto threads = flat_table(profile, By::thread),
             processes = flat_table(profile, By::process);
  ASSERT_TRUE(threads && processes);
  const std::string text = to_text(*threads, {});
  EXPECT_LT(text.find(" -2 t\n"), text.find(" 7 t\n")) << text; // in the order of the ids
  EXPECT_NE(to_json(*threads, 0).find(R"({"tid":-2,"name":"t")"), std::string::npos);
  EXPECT_NE(to_text(*processes, {}).find(" -3\n"), std::string::npos);
  EXPECT_NE(to_json(*processes, 0).find(R"("pid":-3,)"), std::string::npos);
}

TEST(FlatTable, AddsUpManyProcessesOfOneName) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  const auto add = [&](int32_t pid, int32_t tid, const char *process, int64_t ticks) {
    const ThreadId thread = builder.add_thread(pid, tid, "");
    builder.set_process(thread, process);
    builder.add_sample(none<StackId>, thread, none<PartId>, ticks);
  };
  add(1, 1, "make", 40);
  add(2, 2, "cc1", 10);
  add(3, 3, "cc1", 20);
  add(3, 4, "cc1", 20);
  add(5, 5, "", 9);
  add(6, 6, "", 8); // without a name, each is a row of its own
  builder.add_sample(none<StackId>, none<ThreadId>, none<PartId>, 7);
  StackProfile few = *builder.finish();
  EXPECT_NE(to_text(*flat_table(few, By::process), {}).find("   40  3 cc1\n"), std::string::npos);
  builder = StackProfileBuilder(std::move(few));
  for (int32_t other = 100; other < 120; ++other) // which have no samples
    builder.add_thread(other, other, "");
  const auto table = flat_table(std::move(*builder.finish()), By::process);
  ASSERT_TRUE(table);
  EXPECT_EQ(to_text(*table, {}), "114 ticks in total\n"
                                 "#   self%  self  process\n"
                                 "1  43.86%    50  cc1 ×2\n"
                                 "2  35.09%    40  1 make\n"
                                 "3   7.89%     9  5\n"
                                 "4   7.02%     8  6\n"
                                 "5   6.14%     7  [no process]\n");
  EXPECT_NE(to_json(*table, 0).find(R"("processes":[{"pid":2,"name":"cc1","processes":2,)"),
            std::string::npos);
}

} // namespace
} // namespace tally::report_table_test
