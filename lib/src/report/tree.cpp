// Formats call trees as text.
#include <tally/tree.h>

#include <fmt/format.h>

#include "report/render.h"
#include "report/rows.h"
#include "report/tree_builder.h"
#include "report/value_text.h"
#include "support/text.h"

namespace tally {

std::string to_text(const CallTree &tree, const TextOptions &options) {
  // Rows deeper than this are not indented further, because in a very deep tree the indentation
  // would fill the line.
  const uint32_t most_indented = options.width > 0 ? options.width / 6 : 200;
  TextTable text;
  const bool several = has_value_columns(tree.units);
  text.add_column(tree.inverted ? "self%" : "incl%", true, Role::highlight);
  if (several)
    for (const std::string &event : tree.events)
      text.add_column(printable(event), true);
  else
    text.add_column(tree.inverted ? "self" : "incl", true);
  if (!tree.callers) // callers have only inclusive costs: those of the function that they call
    text.add_column("self%", true, Role::highlight);
  text.add_column(tree.callers ? "function, and its callers below it" : "function", false,
                  Role::function);
  text.add_column("place", false, Role::filename);
  bool estimated = false;
  const std::string_view unit = tree.units.empty() ? std::string_view() : tree.units[0];
  const uint64_t total = weight_of(tree.totals, tree.units);
  for (const TreeNode &node : tree.nodes) {
    estimated |= node.estimated;
    const std::string_view mark = node.estimated ? "~" : "";
    std::vector<std::string> cells{
        fmt::format("{}{:.2f}%", mark, percent(weight_of(node.inclusive, tree.units), total))};
    if (several)
      for (size_t event = 0; event < tree.events.size(); ++event)
        cells.push_back(value_cell(node.inclusive[event], tree.units[event]));
    else
      cells.push_back(std::string(mark) + value_text(node.inclusive[0], unit));
    if (!tree.callers)
      cells.push_back(fmt::format("{:.2f}%", percent(weight_of(node.self, tree.units), total)));
    // Where the width is not limited, the indentation takes nothing from the name.
    const std::string name = options.width == 0 && !options.full_names
                                 ? short_name(node.name, widest_name)
                                 : std::string(node.name);
    cells.push_back(fmt::format("{:>{}}{}{}", "", 2 * std::min(node.depth, most_indented), name,
                                node.recursive ? " (recursive)" : ""));
    cells.push_back(location_of(node.file, 0, node.object));
    text.add_row(std::move(cells));
  }
  std::string out = totals_of(tree.events, tree.totals, tree.units) + " in total\n";
  if (estimated)
    out += tree.callers
               ? "~: estimated, distributed over callers as in all calls (the file has no stacks)\n"
               : "~: estimated, distributed over callees as in all calls (the file has no "
                 "stacks)\n";
  out += text.render({.width = options.full_names ? 0 : options.width, .style = options.style});
  if (tree.left_out > 0)
    out += options.style.paint(
               Role::metadata,
               tree.nodes.size() < most_tree_nodes
                   ? fmt::format("(lighter branches: {}; --limit 0 shows all)", tree.left_out)
                   : fmt::format("(lighter branches: {}; no more than {} rows are shown)",
                                 tree.left_out, most_tree_nodes)) +
           '\n';
  return out;
}

} // namespace tally
