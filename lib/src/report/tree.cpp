// Formats call trees as text.

#include "report/tree.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include <fmt/format.h>

#include "report/render.h"
#include "report/rows.h"
#include "report/tree_builder.h"
#include "report/value_text.h"
#include "support/text.h"

namespace tally {

namespace {

// Returns the callers of each root, by its name, file and object: the nodes of CallTree::above from
// the function on.
auto callers_of_roots(const CallTree &tree) {
  std::map<std::array<std::string_view, 3>, std::span<const TreeNode>> out;
  for (size_t begin = 0, end = 0; begin < tree.above.size(); begin = end) {
    do
      ++end;
    while (end < tree.above.size() && tree.above[end].depth > 0);
    const TreeNode &root = tree.above[begin];
    out[{root.name, root.file, root.object}] = std::span(tree.above).subspan(begin, end - begin);
  }
  return out;
}

} // namespace

std::string to_text(const CallTree &tree, const TextOptions &options) {
  // Rows deeper than this are not indented further, because in a very deep tree the indentation
  // would fill the line.
  const uint32_t most_indented = options.width > 0 ? options.width / 6 : 200;
  const bool has_above =
      std::ranges::any_of(tree.above, [](const TreeNode &node) { return node.depth > 0; });
  TextTable text;
  const bool several = has_value_columns(tree.events, tree.units);
  text.add_column(tree.inverted ? "self%" : "incl%", true, Role::highlight);
  if (several)
    for (const std::string &event : tree.events)
      text.add_column(printable(event), true);
  else
    text.add_column(tree.inverted ? "self" : "incl", true);
  if (!tree.callers) // callers have only inclusive costs: those of the function that they call
    text.add_column("self%", true, Role::highlight);
  text.add_column(tree.callers ? "function, and its callers below it"
                  : has_above  ? "function, and its callers above it"
                               : "function",
                  false, Role::function);
  text.add_column("place", false, Role::filename);
  bool estimated = false;
  const std::string_view unit = tree.units.empty() ? std::string_view() : tree.units[0];
  const uint64_t total = weight_of(tree.totals, tree.units);
  const auto add_node = [&](const TreeNode &node, bool is_caller) {
    estimated |= node.estimated;
    const std::string_view mark = node.estimated ? "~" : "";
    std::vector<std::string> cells{
        fmt::format("{}{:.2f}%", mark, percent(weight_of(node.inclusive, tree.units), total))};
    if (several)
      for (size_t event = 0; event < tree.events.size(); ++event)
        cells.push_back(value_cell(node.inclusive[event], tree.units[event]));
    else
      cells.push_back(std::string(mark) + value_text(node.inclusive[0], unit));
    if (is_caller && !tree.callers)
      cells.emplace_back();
    else if (!tree.callers)
      cells.push_back(fmt::format("{:.2f}%", percent(weight_of(node.self, tree.units), total)));
    // Where the width is not limited, the indentation takes nothing from the name.
    const std::string name = options.width == 0 && !options.full_names
                                 ? short_name(node.name, widest_name)
                                 : std::string(node.name);
    cells.push_back(fmt::format("{:>{}}{}{}", "", 2 * std::min(node.depth, most_indented), name,
                                node.recursive ? " (recursive)" : ""));
    cells.push_back(location_of(node.file, 0, node.object));
    text.add_row(std::move(cells));
  };
  const auto callers = callers_of_roots(tree);
  for (const TreeNode &node : tree.nodes) {
    const auto above = callers.find({node.name, node.file, node.object});
    if (node.depth == 0 && above != callers.end())
      for (size_t i = above->second.size(); i-- > 1;) // the nearest caller stands last
        add_node(above->second[i], true);
    add_node(node, false);
  }
  std::string out = totals_of(tree.events, tree.totals, tree.units) + " in total\n";
  if (estimated)
    out +=
        fmt::format("~: estimated, distributed over {} as in all calls (the file has no stacks)\n",
                    tree.callers ? "callers"
                    : has_above  ? "callers and callees"
                                 : "callees");
  out += text.render({.width = options.full_names ? 0 : options.width, .style = options.style});
  if (const size_t left_out = tree.left_out + tree.above_left_out; left_out > 0)
    out += options.style.paint(
               Role::metadata,
               std::max(tree.nodes.size(), tree.above.size()) < most_tree_nodes
                   ? fmt::format("(lighter branches: {}; --limit 0 shows all)", left_out)
                   : fmt::format("(lighter branches: {}; no more than {} rows are shown)", left_out,
                                 most_tree_nodes)) +
           '\n';
  return out;
}

} // namespace tally
