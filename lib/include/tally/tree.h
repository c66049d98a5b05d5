// The call tree: who calls whom, and what it costs there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/cost_profile.h>
#include <tally/report.h>
#include <tally/result.h>
#include <tally/stack_profile.h>

namespace tally {

struct TreeOptions {
  std::string function{}; // the root; empty: where the program begins
  bool callers = false;   // who calls the function, and not whom it calls; needs a function
  uint32_t limit = 40;    // nodes, the heaviest; 0: 100,000
  std::optional<By> by{}; // thread or part: the roots are these; of stacks alone
  // With the functions of the standard library that only call another one: the layers of
  // std::invoke, std::function, std::bind, std::apply and std::thread. Without them, what they cost
  // themselves is their caller's. One that begins the tree is always shown.
  bool full = false;
};

struct TreeNode {
  std::string name, file, object;
  uint32_t depth = 0;
  std::vector<uint64_t> self, inclusive; // here, one for each event
  uint64_t calls = 0;                    // 0: not counted
  bool estimated = false;
  bool recursive = false; // it calls itself, also by others, and that is folded in here
};

// Depth first, heavier siblings first. No path holds a function twice. From stacks, costs are
// exact: when a stack enters a function again, it goes on at the function's first node, so that
// what was between has no part in what is called then. Arcs that lead back end in a node that is
// marked, and followed at the function's first. Arcs tell what a function costs for each of its
// callers, but not whom it calls for each of them: below a function with several callers, costs are
// spread as they are over all its calls, and marked as estimated.
struct CallTree {
  std::vector<std::string> events;
  std::vector<uint64_t> totals; // of the profile
  bool callers = false;
  std::vector<TreeNode> nodes;
  size_t left_out = 0; // nodes that the limit left out, without those below them
};

// A name that is no function's is not_found, with names that hold it.
TALLY_API Result<CallTree> call_tree(const StackProfile &profile, const TreeOptions &options = {});
TALLY_API Result<CallTree> call_tree(const CostProfile &profile, const TreeOptions &options = {});

TALLY_API std::string to_text(const CallTree &tree, const TextOptions &options = {});
// {"events":[…],"totals":[…],"tree":[{"name","file","object","self":[…],"inclusive":[…],"calls":N,
// "estimated":B,"recursive":B,"children":[…]}],"left_out":N}
TALLY_API std::string to_json(const CallTree &tree);

} // namespace tally
