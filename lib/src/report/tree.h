// Makes call trees: the functions with their callees, or with their callers, and the costs on each
// path.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/cost_profile.h"
#include "model/stack_profile.h"
#include "report/report.h"
#include "support/result.h"

namespace tally {

struct TreeOptions {
  // The root, of which both callees and callers are shown. If empty, the functions with which the
  // program begins.
  std::string function{};
  bool callers = false; // show only the callers, below the function; needs `function`
  // Show the self cost of each function, or only of `function`, with its callers below it, heaviest
  // first. Not with `callers`, and only for stacks.
  bool inverted = false;
  uint32_t limit = 40;    // the number of nodes, of which the heaviest are shown; 0 means 100,000
  std::optional<By> by{}; // By::thread or By::part makes these the roots; only for stacks
  // Show the functions of the standard library that only call another function: the layers of
  // std::invoke, std::function, std::bind, std::apply and std::thread. If they are not shown, their
  // self cost counts for their caller. A layer at the root is always shown.
  bool full = false;
};

struct TreeNode {
  std::string name, file, object;
  uint32_t depth = 0;
  std::vector<uint64_t> self, inclusive; // on this path, one for each event
  uint64_t calls = 0;                    // 0 if calls are not counted
  bool estimated = false;                // the costs are estimated, see CallTree
  bool recursive = false;                // the function calls itself, directly or through others
};

// A call tree. Its nodes are in depth-first order, heavier siblings first.
//
// From stacks, costs are exact, and no path contains a function twice. When a stack enters a
// function again, the tree continues at the function's first node on the path, so that the
// functions in between have no share in the calls that follow.
//
// From arcs, a call of a function that is already on the path ends in a node that is marked as
// recursive; its calls are shown at the function's first node. Arcs contain the cost of a function
// for each of its callers, but do not show on behalf of which caller the function made its own
// calls. Below a function with several callers, costs are therefore distributed as in all its calls
// together, and marked as estimated.
struct CallTree {
  std::vector<std::string> events;
  std::vector<uint64_t> totals; // of the whole profile
  bool callers = false;         // the nodes below a function are its callers
  bool inverted = false;        // and the costs are the self cost of the functions at the roots
  std::vector<TreeNode> nodes;
  size_t left_out = 0; // nodes left out because of the limit, not counting those below them
  // The unit of each event, as in FlatTable. With several times, their sum is a node's weight.
  std::vector<std::string> units{};
  // With the callees of TreeOptions::function and without `by`: the callers of the same functions,
  // as a tree with `callers` has them. Each tree has up to TreeOptions::limit nodes.
  std::vector<TreeNode> above{};
  size_t above_left_out = 0;
};

// Returns the call tree of a profile. A name that matches no function is not_found, and the error
// lists names that contain it.
Result<CallTree> call_tree(const StackProfile &profile, const TreeOptions &options = {});
Result<CallTree> call_tree(const CostProfile &profile, const TreeOptions &options = {});

std::string to_text(const CallTree &tree, const TextOptions &options = {});
// Returns {"events":[…],"totals":[…],"tree":[{"name","file","object","self":[…],"inclusive":[…],
// "calls":N,"estimated":B,"recursive":B,"children":[…]}],"left_out":N}. With the callees of a
// function, "callers" is a list as "tree" is, of CallTree::above, and "callers_left_out" a number.
std::string to_json(const CallTree &tree);

} // namespace tally
