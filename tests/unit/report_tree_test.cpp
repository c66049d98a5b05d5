#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fmt/format.h>

#include "../support/sanitized.h"
#include "formats/callgrind/read.h"
#include "formats/folded/folded.h"
#include "report/names.h"
#include "report/tree.h"

namespace tally::report_tree_test {
namespace {

template <class Read> Profile read(Read reader, std::string_view text) {
  Diagnostics diagnostics;
  auto profile = reader(*ByteSource::of(text, "f"), diagnostics);
  EXPECT_TRUE(profile) << profile.error().text();
  return std::move(*profile);
}
CostProfile costs(std::string_view text) {
  return std::get<CostProfile>(read(callgrind::read, text));
}
StackProfile stacks(std::string_view text) {
  return std::get<StackProfile>(read(folded::read, text));
}

// Returns "  name inclusive self xCALLS ~ (recursive)" for each node, indented by depth, without
// the items that are 0 or false.
template <class AnyProfile>
std::vector<std::string> nodes(const AnyProfile &profile, const TreeOptions &options = {}) {
  const auto tree = call_tree(profile, options);
  EXPECT_TRUE(tree) << tree.error().text();
  std::vector<std::string> out;
  for (const TreeNode &node : tree->nodes) {
    std::string row = fmt::format("{:{}}{} {}", "", 2 * node.depth, node.name, node.inclusive[0]);
    if (node.self[0])
      row += fmt::format(" {}", node.self[0]);
    if (node.calls)
      row += fmt::format(" x{}", node.calls);
    if (node.estimated)
      row += " ~";
    if (node.recursive)
      row += " (recursive)";
    out.push_back(std::move(row));
  }
  if (tree->left_out)
    out.push_back(fmt::format("left out {}", tree->left_out));
  return out;
}

using Rows = std::vector<std::string>;

// leaf costs 8: its calls by a cost 5, and those by b 3.
const std::string diamond =
    "events: A\nfl=f\nfn=main\ncfn=a\ncalls=1 1\n1 6\ncfn=b\ncalls=2 1\n2 4\n"
    "fn=a\n1 1\ncfn=leaf\ncalls=5 1\n2 5\n"
    "fn=b\n1 1\ncfn=leaf\ncalls=3 1\n2 3\n"
    "fn=leaf\n1 4\ncfn=deep\ncalls=8 1\n2 4\nfn=deep\n1 4\ntotals: 10\n";

TEST(TreeOfArcs, EstimatesCostsBelowSeveralCallers) {
  EXPECT_EQ(nodes(costs(diamond)),
            (Rows{"main 10", "  a 6 1 x1", "    leaf 5 2 x5", "      deep 2 2 ~", "  b 4 1 x2",
                  "    leaf 3 1 x3", "      deep 1 1 ~"}));
}

TEST(TreeOfArcs, BeginsAtAFunction) {
  EXPECT_EQ(nodes(costs(diamond), {.function = "leaf"}), (Rows{"leaf 8 4 x8", "  deep 4 4 x8"}));
}

TEST(TreeOfArcs, FoldsLayersOfTheLibrary) {
  const std::string called = "events: A\nfl=f\nfn=main\ncfn=std::function<void (int)>::operator()"
                             "(int) const\ncalls=1 1\n1 9\n"
                             "fn=std::function<void (int)>::operator()(int) const\n1 2\n"
                             "cfn=job(int)\ncalls=1 1\n1 7\nfn=job(int)\n1 7\ntotals: 9\n";
  EXPECT_EQ(nodes(costs(called)), (Rows{"main 9 2", "  job(int) 7 7 x1"}));
  EXPECT_EQ(nodes(costs(called), {.full = true}),
            (Rows{"main 9", "  std::function<void (int)>::operator()(int) const 9 2 x1",
                  "    job(int) 7 7 x1"}));
}

TEST(TreeOfArcs, ShowsCallers) {
  // All costs of a belong to main, its only caller, so they are not estimates.
  EXPECT_EQ(nodes(costs(diamond), {.function = "leaf", .callers = true}),
            (Rows{"leaf 8 4 x8", "  a 5 x5", "    main 5", "  b 3 x3", "    main 3"}));
  EXPECT_EQ(nodes(costs(diamond), {.function = "deep", .callers = true}),
            (Rows{"deep 4 4 x8", "  leaf 4 x8", "    a 2 ~", "      main 2 ~", "    b 1 ~",
                  "      main 1 ~"}));
}

TEST(TreeOfStacks, FoldsLayersOfTheLibrary) {
  const std::string invoke = "void std::__invoke_impl<void, main::{lambda(int)#1}&, int>"
                             "(std::__invoke_other, main::{lambda(int)#1}&, int&&);"
                             "std::enable_if<is_invocable_r_v<void, f&>, void>::type "
                             "std::__invoke_r<void, f&>(f&);";
  const std::string thread = "std::thread::_Invoker<std::tuple<f> >::operator()();";
  const StackProfile profile = stacks(
      "main;" + invoke + "job 4\nmain;std::function<void (int)>::operator()(int) const;" +
      "std::_Function_handler<void (int), f>::_M_invoke(std::_Any_data const&, int&&);job 3\n" +
      "main;" + invoke.substr(0, invoke.find(';')) + " 2\n" + thread + "job 1\n" +
      "main;mystd::invoke(f);std::operator<<(g) 1\n");
  EXPECT_EQ(nodes(profile),
            (Rows{"main 10 2", "  job 7 7", "  mystd::invoke(f) 1", "    std::operator<<(g) 1 1",
                  // This function has no caller, so it stays.
                  "std::thread::_Invoker<std::tuple<f> >::operator()() 1", "  job 1 1"}));
  EXPECT_EQ(
      nodes(profile, {.function = "job", .callers = true}),
      (Rows{"job 8 8", "  main 7", "  std::thread::_Invoker<std::tuple<f> >::operator()() 1"}));
  EXPECT_EQ(nodes(profile, {.full = true}).size(), 11u);
}

TEST(TreeOfArcs, ShowsRecursionOnce) {
  const CostProfile profile = costs("events: A\nfl=f\nfn=main\ncfn=f(int)\ncalls=1 1\n1 10\n"
                                    "fn=f(int)\n1 10\ncfn=f(int)\ncalls=5 1\n2 30\n");
  const Rows rows = nodes(profile);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0], "main 10");
  EXPECT_EQ(rows[1], "  f(int) 10 10 x1");
  // The row shows no more than the function's total cost; the recursion is not followed again.
  EXPECT_EQ(rows[2], "    f(int) 10 10 x5 ~ (recursive)");
  EXPECT_EQ(nodes(profile, {.function = "f"}).front(), "f(int) 10 10 x6");
}

TEST(TreeOfArcs, BeginsInACycleThatNothingEnters) {
  const Rows rows = nodes(costs("events: A\nfl=f\nfn=a\n1 3\ncfn=b\ncalls=1 1\n1 9\n"
                                "fn=b\n1 4\ncfn=a\ncalls=1 1\n1 9\n"));
  ASSERT_FALSE(rows.empty());
  EXPECT_EQ(rows[0], "b 4 4 x1"); // the heaviest function of the cycle
}

// A thread's first function has no known caller, even if another call of the function is known.
TEST(TreeOfArcs, BeginsAlsoAtCostsThatNoCallExplains) {
  const CostProfile profile = costs("events: A\nfl=f\nfn=main\n1 10\ncfn=work\ncalls=1 1\n2 2\n"
                                    "fn=work\n1 1\ncfn=leaf\ncalls=9 1\n2 99\nfn=leaf\n1 99\n");
  EXPECT_EQ(nodes(profile),
            (Rows{"work 98 ~", "  leaf 97 97 ~", "main 12 10", "  work 2 x1", "    leaf 1 1 ~"}));
  const auto tree = call_tree(profile, {});
  uint64_t roots = 0;
  for (const TreeNode &node : tree->nodes)
    roots += node.depth == 0 ? node.inclusive[0] : 0;
  EXPECT_EQ(roots, profile.totals()[0]);
}

// Each function calls all others: of millions of paths, no more are kept than are shown.
TEST(TreeOfArcs, LimitsADenseCycle) {
  std::string text = "events: A\nfl=f\n";
  constexpr int functions = TALLY_SANITIZED ? 20 : 60;
  for (int from = 0; from < functions; ++from) {
    text += fmt::format("fn=f{}\n1 {}\n", from, from + 1);
    for (int to = 0; to < functions; ++to)
      text += fmt::format("cfn=f{}\ncalls=1 1\n2 {}\n", to, from * to % 97 + 1);
  }
  const auto tree = call_tree(costs(text), {.limit = 0});
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->nodes.size(), 100000u);
  EXPECT_GT(tree->left_out, 100000u);
}

TEST(FunctionMatcher, AcceptsNamesAsUsersTypeThem) {
  const std::vector<std::string_view> names{"main'(below main)",
                                            "fib(int)'2",
                                            "ns::S::run(int)",
                                            "int tf<int>(int)",
                                            "main::{lambda(int)#1}::operator()(int) const",
                                            "std::map<S::run, int>::at(int)",
                                            "(anonymous namespace)::anon()",
                                            "operator<<(S)",
                                            "runner",
                                            "mainly",
                                            "ns::Table<key<int>, long>::add(key<int>, long)"};
  const auto matches = [&](std::string_view wanted) {
    const FunctionMatcher matcher(wanted, names);
    std::vector<size_t> out;
    for (size_t i = 0; i < names.size(); ++i)
      if (matcher.matches(names[i]))
        out.push_back(i);
    return out;
  };
  using Found = std::vector<size_t>;
  EXPECT_EQ(matches("main"), Found{0});
  EXPECT_EQ(matches("fib"), Found{1});
  EXPECT_EQ(matches("run"), Found{2});
  EXPECT_EQ(matches("S::run"), Found{2});
  EXPECT_EQ(matches("ns::S::run(int)"), Found{2});
  EXPECT_EQ(matches("tf"), Found{3});
  EXPECT_EQ(matches("tf<int>"), Found{3});
  EXPECT_EQ(matches("at"), Found{5});
  EXPECT_EQ(matches("anon"), Found{6});
  EXPECT_EQ(matches("operator<<"), Found{7});
  EXPECT_EQ(matches("Table::add"), Found{10});
  EXPECT_EQ(matches("ns::Table<key<…>, …>::add(…)"), Found{10});
  EXPECT_EQ(matches("ns::Table<key<…>, …>::sub(…)"), Found{});
  EXPECT_EQ(matches("tf<int>(int)"), Found{3});
  EXPECT_EQ(matches("tf<…>(…)"), Found{3});
  EXPECT_EQ(matches("…"), (Found{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}));
  EXPECT_EQ(matches(""), Found{});
  EXPECT_EQ(matches("ru"), Found{});
}

TEST(TreeOfArcs, ShowsTheHeaviestUpToALimit) {
  EXPECT_EQ(nodes(costs(diamond), {.limit = 2}), (Rows{"main 10", "  a 6 1 x1", "left out 2"}));
  EXPECT_EQ(nodes(costs(diamond), {.limit = 4}),
            (Rows{"main 10", "  a 6 1 x1", "    leaf 5 2 x5", "  b 4 1 x2", "left out 2"}));
  EXPECT_EQ(nodes(costs(diamond), {.limit = 0}).size(), 7u);
}

TEST(TreeOfStacks, IsExact) {
  const StackProfile profile = stacks("main;a;leaf;deep 5\nmain;b;leaf 3\nmain;a 1\nother 2\n");
  EXPECT_EQ(nodes(profile), (Rows{"main 9", "  a 6 1", "    leaf 5", "      deep 5 5", "  b 3",
                                  "    leaf 3 3", "other 2 2"}));
  EXPECT_EQ(nodes(profile, {.function = "leaf"}), (Rows{"leaf 8 3", "  deep 5 5"}));
  EXPECT_EQ(nodes(profile, {.function = "leaf", .callers = true}),
            (Rows{"leaf 8 3", "  a 5", "    main 5", "  b 3", "    main 3"}));
  EXPECT_EQ(nodes(profile, {.limit = 1}), (Rows{"main 9", "left out 3"}));
}

TEST(Tree, ReportsErrors) {
  const CostProfile arcs = costs(diamond);
  const StackProfile samples = stacks("main;leaf 5\n");
  const auto refused = [&](const TreeOptions &options, ErrorCode code, std::string_view text) {
    for (const auto &tree : {call_tree(arcs, options), call_tree(samples, options)}) {
      ASSERT_FALSE(tree);
      EXPECT_EQ(tree.error().code, code);
      EXPECT_EQ(tree.error().text(), text);
    }
  };
  refused({.function = "nothing"}, ErrorCode::not_found,
          "nothing: the profile has no such function");
  refused({.function = "lea"}, ErrorCode::not_found,
          "lea: the profile has no such function; names that contain it: leaf");
  EXPECT_EQ(call_tree(arcs, {.by = By::part}).error().text(),
            "--by: the profile has the calls of all threads and parts together, and no stacks: "
            "select one with --thread or --part");
  refused({.callers = true}, ErrorCode::invalid_argument,
          "--callers: requires the name of a function");
}

TEST(Tree, AllowsDeepTrees) {
  std::string line = "f0";
  constexpr int depth = TALLY_SANITIZED ? 5000 : 50000;
  for (int i = 1; i < depth; ++i)
    line += fmt::format(";f{}", i);
  const auto tree = call_tree(stacks(line + " 1\nf0;x 2\n"), {.limit = 0});
  ASSERT_TRUE(tree);
  EXPECT_LT(to_text(*tree).size(), 50u << 20);
  const auto json = nlohmann::json::parse(to_json(*tree));
  EXPECT_EQ(json["tree"][0]["children"][0]["name"], "x");
  const nlohmann::json *node = &json["tree"][0]["children"][1];
  int seen = 1;
  for (; !(*node)["children"].empty(); node = &(*node)["children"][0])
    ++seen;
  EXPECT_EQ(seen, depth - 1);
  EXPECT_EQ((*node)["name"], fmt::format("f{}", depth - 1));
}

// Callers stand above a function as callees do below it: the nearest next to it.
TEST(Tree, ShowsCallersAboveAFunctionAndCalleesBelow) {
  const StackProfile profile = stacks("main;a;leaf;deep 5\nmain;b;leaf 3\nmain;a 1\nother 1\n");
  const auto tree = call_tree(profile, {.function = "leaf"});
  ASSERT_TRUE(tree);
  EXPECT_EQ(to_text(*tree), "10 ticks in total\n"
                            " incl%  incl   self%  function, and its callers above it  place\n"
                            "30.00%     3              main\n"
                            "30.00%     3            b\n"
                            "50.00%     5              main\n"
                            "50.00%     5            a\n"
                            "80.00%     8  30.00%  leaf\n"
                            "50.00%     5  50.00%    deep\n");
  const auto json = nlohmann::json::parse(to_json(*tree));
  ASSERT_EQ(json["tree"].size(), 1u);
  EXPECT_EQ(json["tree"][0]["children"][0]["name"], "deep");
  EXPECT_EQ(json["callers"][0]["children"][0]["name"], "a");
  EXPECT_EQ(json["callers_left_out"], 0);
  const auto callers = call_tree(profile, {.function = "leaf", .callers = true});
  EXPECT_EQ(nlohmann::json::parse(to_json(*callers))["tree"], json["callers"]);
  // Each of two functions has its own callers, and those of arcs may be estimates.
  const std::string both = to_text(*call_tree(stacks("x;A::f 2\ny;B::f 1\n"), {.function = "f"}));
  EXPECT_NE(both.find("  x\n66.67%     2  66.67%  A::f\n33.33%     1            y\n"),
            std::string::npos)
      << both;
  const std::string arcs = to_text(*call_tree(costs(diamond), {.function = "deep"}));
  EXPECT_NE(arcs.find("distributed over callers and callees as in all calls"), std::string::npos);
}

TEST(Tree, WritesTextAndJson) {
  const auto tree = call_tree(costs(diamond), {.limit = 4});
  ASSERT_TRUE(tree);
  const std::string text = to_text(*tree);
  EXPECT_EQ(text, "10 A in total\n"
                  "  incl%  incl   self%  function  place\n"
                  "100.00%    10   0.00%  main      f\n"
                  " 60.00%     6  10.00%    a       f\n"
                  " 50.00%     5  20.00%      leaf  f\n"
                  " 40.00%     4  10.00%    b       f\n"
                  "(lighter branches: 2; --limit 0 shows all)\n");
  EXPECT_NE(to_text(*call_tree(costs(diamond))).find("~20.00%"), std::string::npos);
  const auto json = nlohmann::json::parse(to_json(*tree));
  EXPECT_EQ(json["left_out"], 2);
  ASSERT_EQ(json["tree"].size(), 1u);
  EXPECT_EQ(json["tree"][0]["children"][0]["children"][0]["name"], "leaf");
  EXPECT_EQ(json["tree"][0]["children"][0]["children"][0]["inclusive"][0], 5);
  EXPECT_EQ(json["tree"][0]["children"][1]["name"], "b");
  EXPECT_EQ(json["tree"][0]["children"][1]["calls"], 2);
}

} // namespace
} // namespace tally::report_tree_test
