// Compares trees of stacks with a plain way to fold recursion: sample by sample, path by path.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "formats/folded/folded.h"
#include "random_profile.h"
#include "report/tree.h"
#include "transform/sample_filter.h"

namespace tally::report_tree_recursion_test {
namespace {

using Path = std::vector<FunctionKey>; // outermost first; for callers, the function first
struct Row {
  Costs self, inclusive;
  bool recursive = false;
  friend bool operator==(const Row &, const Row &) = default;
};
using Tree = std::map<Path, Row>;

StackProfile stacks(std::string_view text) {
  Diagnostics diagnostics;
  auto profile = folded::read(*ByteSource::of(text, "f"), diagnostics);
  EXPECT_TRUE(profile) << profile.error().text();
  return std::get<StackProfile>(std::move(*profile));
}

Tree rows_of(const CallTree &tree) {
  Tree out;
  Path path;
  for (const TreeNode &node : tree.nodes) {
    path.resize(node.depth);
    path.emplace_back(node.object, node.file, node.name);
    EXPECT_TRUE(out.emplace(path, Row{node.self, node.inclusive, node.recursive}).second);
  }
  return out;
}

// The functions of a folded stack, and which of them recur.
struct Folded {
  Path path;
  std::vector<bool> recursive;
};

Folded fold(const Path &stack) {
  Folded out;
  for (size_t i = 0; i < stack.size(); ++i) {
    const auto at = std::ranges::find(out.path, stack[i]);
    if (at != out.path.end()) {
      const auto length = static_cast<size_t>(at - out.path.begin()) + 1;
      out.path.resize(length);
      out.recursive.resize(length);
    } else {
      out.path.push_back(stack[i]);
      out.recursive.push_back(false);
    }
  }
  return out;
}

// Marks the nodes that a stack enters while their function is already on it.
void mark(const Path &owner, const Path &stack, Tree &tree) {
  for (size_t length = 1; length <= stack.size(); ++length) {
    const auto end = stack.begin() + static_cast<std::ptrdiff_t>(length);
    if (std::find(stack.begin(), end - 1, *(end - 1)) == end - 1)
      continue;
    Path path = owner;
    for (const FunctionKey &key : fold({stack.begin(), end}).path)
      path.push_back(key);
    tree[path].recursive = true;
  }
}

// Lists each caller once: the outermost call counts if a function is on the stack several times.
Folded fold_callers(const Path &callers) {
  Folded out;
  for (size_t i = 0; i < callers.size();) {
    const auto last = std::find(callers.rbegin(), callers.rend(), callers[i]);
    const auto at = static_cast<size_t>(callers.rend() - last) - 1;
    out.path.push_back(callers[i]);
    out.recursive.push_back(at != i);
    i = at + 1;
  }
  return out;
}

std::string owner_of(const StackProfile &profile, const Sample &sample, By by) {
  if (by == By::thread)
    return sample.thread == none<ThreadId>
               ? "[no thread]"
               : fmt::format("{} thread", profile.threads()[sample.thread].tid);
  return sample.part == none<PartId> ? "[no part]"
                                     : fmt::format("{}", profile.parts()[sample.part].number);
}

Tree expected(const StackProfile &profile, const TreeOptions &options) {
  Tree tree;
  const size_t width = profile.value_types().size();
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    const Costs costs(sample.values.begin(), sample.values.end());
    if (std::ranges::all_of(costs, [](uint64_t cost) { return cost == 0; }))
      continue;
    Path stack;
    for (const Frame &frame : frames_of(profile, sample.stack))
      stack.insert(stack.begin(), frame.function);
    const FunctionKey leaf = stack.back();
    Path owner;
    if (options.by)
      owner.emplace_back("", "", owner_of(profile, sample, *options.by));
    const bool upwards = options.callers || options.inverted;
    if (options.inverted) {
      if (!options.function.empty() && std::get<2>(leaf) != options.function)
        continue;
      std::ranges::reverse(stack);
    } else if (!options.function.empty()) {
      const auto begin = std::ranges::find(stack, options.function,
                                           [](const FunctionKey &key) { return std::get<2>(key); });
      if (begin == stack.end())
        continue;
      if (options.callers) {
        stack.erase(begin + 1, stack.end());
        std::ranges::reverse(stack);
      } else {
        stack.erase(stack.begin(), begin);
      }
    }
    const Folded folded = upwards ? fold_callers(stack) : fold(stack);
    if (!upwards)
      mark(owner, stack, tree);
    Path path = owner;
    const auto add = [&](const FunctionKey &key, bool is_self, bool recursive) {
      path.push_back(key);
      Row &each = tree[path];
      each.self.resize(width, 0);
      each.inclusive.resize(width, 0);
      each.recursive |= recursive;
      add_to(each.inclusive, costs);
      if (is_self)
        add_to(each.self, costs);
    };
    if (options.by) {
      path.clear();
      add(owner.front(), false, false);
    }
    for (size_t i = 0; i < folded.path.size(); ++i)
      add(folded.path[i], upwards ? i == 0 && leaf == folded.path[0] : i + 1 == folded.path.size(),
          folded.recursive[i]);
  }
  std::erase_if(tree, [](const auto &each) { return each.second.inclusive.empty(); });
  return tree;
}

TEST(FoldedTree, AgreesWithFoldingEachSample) {
  Random random(4711);
  for (int round = 0; round < rounds(150); ++round) {
    RandomShape shape = random_shape(random);
    shape.depth = 1 + static_cast<uint32_t>(pick(random, 30));
    const StackProfile profile = random_profile(random, shape);
    std::vector<TreeOptions> all;
    for (const char *function : {"", "a", "c"})
      for (const bool callers : {false, true})
        for (const std::optional<By> by :
             {std::optional<By>(), std::optional(By::thread), std::optional(By::part)})
          for (const bool inverted : {false, true})
            if (callers ? *function && !inverted : true)
              all.push_back({.function = function,
                             .callers = callers,
                             .inverted = inverted,
                             .limit = 0,
                             .by = by});
    for (const TreeOptions &options : all) {
      SCOPED_TRACE(fmt::format("round {}: '{}'{}{}", round, options.function,
                               options.callers    ? " callers"
                               : options.inverted ? " inverted"
                                                  : "",
                               !options.by                ? ""
                               : options.by == By::thread ? " by thread"
                                                          : " by part"));
      const auto tree = call_tree(profile, options);
      if (!tree) { // there is no such function, thread or part
        const bool has_groups =
            !options.by ||
            (*options.by == By::thread ? profile.threads().size() > 0 : profile.parts().size() > 0);
        EXPECT_TRUE(!has_groups || expected(profile, options).empty()) << tree.error().text();
        continue;
      }
      const Tree rows = rows_of(*tree);
      ASSERT_EQ(rows, expected(profile, options));
      for (const TreeNode &node : tree->nodes)
        for (size_t v = 0; v < tree->totals.size(); ++v)
          ASSERT_LE(node.inclusive[v], tree->totals[v]);
      // A node costs its self cost and the costs of its children.
      if (options.callers)
        continue;
      if (options.inverted && options.function.empty()) {
        uint64_t roots = 0;
        for (const TreeNode &node : tree->nodes)
          roots += node.depth == 0 ? node.inclusive[0] : 0;
        ASSERT_EQ(roots, tree->totals[0]);
      }
      if (options.inverted)
        continue;
      std::map<Path, uint64_t> below;
      for (const auto &[path, row] : rows)
        below[{path.begin(), path.end() - 1}] += row.inclusive[0];
      for (const auto &[path, row] : rows)
        ASSERT_EQ(row.inclusive[0], row.self[0] + below[path]);
    }
  }
}

std::vector<std::string> nodes(std::string_view text, const TreeOptions &options = {}) {
  const auto tree = call_tree(stacks(text), options);
  EXPECT_TRUE(tree) << tree.error().text();
  std::vector<std::string> out;
  for (const TreeNode &node : tree->nodes)
    out.push_back(fmt::format("{:{}}{} {} {}{}", "", 2 * node.depth, node.name, node.inclusive[0],
                              node.self[0], node.recursive ? " (recursive)" : ""));
  return out;
}
using Rows = std::vector<std::string>;

TEST(FoldedTree, FoldsDirectAndMutualRecursion) {
  EXPECT_EQ(nodes("main;f;f;f;leaf 3\nmain;f;leaf 4\nmain;f;f 2\n"),
            (Rows{"main 9 0", "  f 9 2 (recursive)", "    leaf 7 7"}));
  EXPECT_EQ(nodes("main;a;b;a;b 5\nmain;a;b;a 2\nmain;a 1\n"),
            (Rows{"main 8 0", "  a 8 3 (recursive)", "    b 5 5 (recursive)"}));
  // A function between two calls of another has no part in the costs below the second call.
  EXPECT_EQ(nodes("main;a;b;a;c 5\nmain;a;b 2\n"),
            (Rows{"main 7 0", "  a 7 0 (recursive)", "    c 5 5", "    b 2 2"}));
  EXPECT_EQ(nodes("[truncated: not a stack];f;f;f 3\n[truncated: not a stack];f 1\n"),
            (Rows{"[truncated: not a stack] 4 0", "  f 4 4 (recursive)"}));
}

TEST(FoldedTree, FoldsCallersOfRecursiveFunctions) {
  EXPECT_EQ(nodes("main;f;f;leaf 3\nmain;g;leaf 1\n", {.function = "leaf", .callers = true}),
            (Rows{"leaf 4 4", "  f 3 0 (recursive)", "    main 3 0", "  g 1 0", "    main 1 0"}));
  // All of the cost belongs to the caller of the outermost call.
  EXPECT_EQ(nodes("main;f;f;f 3\n", {.function = "f", .callers = true}),
            (Rows{"f 3 3", "  main 3 0"}));
}

TEST(InvertedTree, ShowsSelfCostWithCallers) {
  EXPECT_EQ(
      nodes("main;f;f;leaf 3\nmain;g;leaf 1\nmain;f 2\nmain;leaf;leaf 4\n", {.inverted = true}),
      (Rows{"leaf 8 8 (recursive)", "  main 4 0", "  f 3 0 (recursive)", "    main 3 0", "  g 1 0",
            "    main 1 0", "f 2 2", "  main 2 0"}));
  EXPECT_EQ(nodes("main;f;leaf 3\nmain;f 2\n", {.function = "f", .inverted = true}),
            (Rows{"f 2 2", "  main 2 0"}));
  // The self cost of a layer of the library counts for its caller, as in other trees.
  EXPECT_EQ(nodes("main;std::invoke(f) 3\nstd::invoke(f) 1\n", {.inverted = true}),
            (Rows{"main 3 3", "std::invoke(f) 1 1"}));
}

TEST(InvertedTree, RefusesWhatItCannotShow) {
  const auto refused = [](const auto &profile, const TreeOptions &options) {
    const auto tree = call_tree(profile, options);
    return tree ? std::string("shown") : tree.error().text();
  };
  EXPECT_EQ(refused(stacks("a;b 1\n"), {.function = "b", .callers = true, .inverted = true}),
            "--inverted: shows the self cost of functions, --callers the inclusive cost of one: "
            "give one of the two");
  EXPECT_TRUE(refused(stacks("a;b 1\n"), {.function = "c", .inverted = true})
                  .starts_with("c: the profile has no such function"));
  Random random(5);
  EXPECT_TRUE(refused(random_costs(random), {.inverted = true}).starts_with("--inverted: needs "));
}

std::string deep(size_t depth, std::string_view period, std::string_view leaf, int count) {
  std::string line = "main;";
  for (size_t i = 0; i < depth; ++i)
    line += period;
  return fmt::format("{}{} {}\n", line, leaf, count);
}

// This holds for any depth of the recursion, and wherever in it a sample was taken.
TEST(FoldedTree, HasNoMoreLevelsThanFunctions) {
  std::string text;
  for (size_t depth = 10; depth <= 10'000; depth += TALLY_SANITIZED ? 900 : 90)
    text += deep(depth, "a;b;", "leaf", 1) + deep(depth, "f;", "leaf", 1);
  const StackProfile profile = stacks(text);
  const auto tree = call_tree(profile, {.limit = 0});
  ASSERT_TRUE(tree);
  ASSERT_EQ(tree->nodes.size(), 6u); // main; a, b, leaf; f, leaf
  EXPECT_EQ(tree->nodes[0].inclusive[0], tree->totals[0]);
  for (const TreeNode &node : tree->nodes)
    EXPECT_LE(node.depth, 3u);
  EXPECT_LT(to_text(*tree).size(), 600u);
  const auto callers = call_tree(profile, {.function = "leaf", .callers = true, .limit = 0});
  ASSERT_TRUE(callers);
  EXPECT_EQ(callers->nodes.size(), 6u); // leaf; b, a, main; f, main
}

// If each frame of a long chain calls a function, the function has as many callers as the square of
// the chain's length. No more nodes are made than are shown.
TEST(FoldedTree, LimitsTheCallersOfAFunctionCalledFromEverywhere) {
  constexpr uint64_t callers = TALLY_SANITIZED ? 500 : 2000;
  std::string line, text;
  for (uint64_t i = 0; i < callers; ++i) {
    line += fmt::format("f{};", i);
    text += line + "leaf 1\n";
  }
  const auto tree = call_tree(stacks(text), {.function = "leaf", .callers = true, .limit = 30});
  ASSERT_TRUE(tree);
  EXPECT_EQ(tree->nodes.size(), 30u);
  EXPECT_EQ(tree->nodes[0].inclusive[0], callers);
  EXPECT_GT(tree->left_out, callers - 100);
}

// Hundreds of threads share most stacks: rows grow with the distinct stacks, and limits hold.
TEST(FoldedTree, AllowsManyThreads) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  const auto location = [&](std::string_view name) {
    SourceFunction function;
    function.name = builder.intern(name);
    const SourceLine line{builder.add_function(function), {}, 0};
    return builder.add_location(none<MappingId>, 0, std::span(&line, 1));
  };
  const LocationId begin = location("begin"), recur = location("recur");
  StackId stack = builder.push(none<StackId>, begin);
  for (int i = 0; i < rounds(5000); ++i)
    stack = builder.push(stack, recur);
  constexpr int threads = rounds(400);
  for (int i = 1; i <= threads; ++i)
    builder.add_sample(stack, builder.add_thread(7, i, "worker"), none<PartId>, i);
  const auto profile = builder.finish();
  ASSERT_TRUE(profile);
  const auto all = call_tree(*profile, {.limit = 0, .by = By::thread});
  ASSERT_TRUE(all);
  EXPECT_EQ(all->nodes.size(), size_t{3} * threads);
  EXPECT_EQ(all->nodes[0].name, fmt::format("{} worker", threads));
  const auto some = call_tree(*profile, {.limit = 40, .by = By::thread});
  ASSERT_TRUE(some);
  EXPECT_EQ(some->nodes.size(), 40u);
  EXPECT_EQ(call_tree(*filter_samples(*profile, {.thread = "7"}))->totals[0], 7u);
}

TEST(FoldedTree, RefusesProfilesWithoutThreads) {
  const auto refusal = call_tree(stacks("a;b 1\n"), {.by = By::thread});
  ASSERT_FALSE(refusal);
  EXPECT_EQ(refusal.error().text(), "--by: the profile does not distinguish threads");
}

} // namespace
} // namespace tally::report_tree_recursion_test
