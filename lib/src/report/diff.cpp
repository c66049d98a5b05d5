#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include <tally/report.h>

#include "report/render.h"

namespace tally {

namespace {

bool knows_names_only(const FlatTable &table) {
  return !table.rows.empty() && std::ranges::all_of(table.rows, [](const FlatRow &row) {
    return row.file.empty() && row.object.empty();
  });
}

} // namespace

DiffTable diff_tables(const FlatTable &before, const FlatTable &after) {
  DiffTable diff;
  diff.event = after.events.front();
  diff.before_total = before.totals.front();
  diff.after_total = after.totals.front();
  // Not by the line of declaration, which an edit moves. Where one side knows no more than names
  // (it was read from folded stacks), they are all that the other can be compared by.
  const bool by_name = knows_names_only(before) || knows_names_only(after);
  std::map<std::tuple<std::string, std::string, std::string>, DiffRow> rows;
  const auto row_of = [&](const FlatRow &from) -> DiffRow & {
    DiffRow &row = by_name ? rows[{from.name, "", ""}] : rows[{from.name, from.file, from.object}];
    row.name = from.name;
    if (!from.file.empty() || !from.object.empty()) {
      row.file = from.file;
      row.object = from.object;
      row.line = from.line;
    }
    return row;
  };
  for (const FlatRow &from : before.rows) {
    DiffRow &row = row_of(from);
    row.before += from.self.front();
    row.before_percent += self_percent(from, diff.before_total);
  }
  for (const FlatRow &from : after.rows) {
    DiffRow &row = row_of(from);
    row.after += from.self.front();
    row.after_percent += self_percent(from, diff.after_total);
  }
  for (auto &[key, row] : rows) {
    if (row.before != 0 || row.after != 0)
      diff.rows.push_back(std::move(row));
  }
  const auto size = [](const DiffRow &row) {
    return std::pair(std::abs(row.after_percent - row.before_percent),
                     std::max(row.before, row.after) - std::min(row.before, row.after));
  };
  std::ranges::stable_sort(diff.rows,
                           [&](const DiffRow &a, const DiffRow &b) { return size(a) > size(b); });
  return diff;
}

std::string to_text(const DiffTable &table, const TextOptions &options) {
  TextTable text;
  text.add_column("before%", true);
  text.add_column("after%", true);
  text.add_column("change", true);
  text.add_column("before", true);
  text.add_column("after", true);
  text.add_column("function", false);
  text.add_column("place", false);
  bool any = false;
  for (const DiffRow &row : table.rows) {
    if (row.before == row.after && row.before_percent == row.after_percent)
      continue;
    any = true;
    text.add_row({fmt::format("{:.2f}%", row.before_percent),
                  fmt::format("{:.2f}%", row.after_percent),
                  fmt::format("{:+.2f}", row.after_percent - row.before_percent),
                  fmt::format("{}", row.before), fmt::format("{}", row.after), row.name,
                  place_of(row.file, row.line, row.object)});
  }
  return fmt::format("{} {} before, {} now; self cost in percent of each\n", table.before_total,
                     table.event, table.after_total) +
         (any ? text.render(options.limit, options.width) : "nothing changed\n");
}

} // namespace tally
