#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "report/groups.h"
#include "report/render.h"
#include "report/report.h"
#include "report/row_match.h"
#include "report/value_text.h"
#include "support/sort.h"
#include "support/text.h"

namespace tally {

DiffTable diff_tables(const FlatTable &before, const FlatTable &after, SortBy cost) {
  DiffTable diff;
  diff.by = after.by;
  diff.cost = cost;
  diff.event = after.events.front();
  diff.unit = after.units.empty() ? std::string() : after.units.front();
  diff.before_total = before.totals.front();
  diff.after_total = after.totals.front();
  const RowMatch match(before, after);
  std::map<Identity, DiffRow> rows;
  const auto row_of = [&](const FlatRow &from) -> DiffRow & {
    DiffRow &row = rows[match.key(from)];
    row.name = from.name;
    if (!from.file.empty()) {
      row.file = from.file;
      row.line = from.line;
    }
    if (!from.object.empty())
      row.object = from.object;
    return row;
  };
  const bool self = cost == SortBy::self;
  const auto cost_of = [&](const FlatRow &from) {
    return self ? from.self.front() : from.inclusive.front();
  };
  const auto percent_of = [&](const FlatRow &from, uint64_t total) {
    return self ? self_percent(from, total) : percent(from.inclusive.front(), total);
  };
  for (const FlatRow &from : before.rows) {
    DiffRow &row = row_of(from);
    row.before += cost_of(from);
    row.before_percent += percent_of(from, diff.before_total);
  }
  for (const FlatRow &from : after.rows) {
    DiffRow &row = row_of(from);
    row.after += cost_of(from);
    row.after_percent += percent_of(from, diff.after_total);
  }
  for (auto &[key, row] : rows) {
    if (row.before != 0 || row.after != 0)
      diff.rows.push_back(std::move(row));
  }
  const auto size = [](const DiffRow &row) {
    return std::pair(std::max(row.before, row.after) - std::min(row.before, row.after),
                     std::abs(row.after_percent - row.before_percent));
  };
  sort_stably(diff.rows, [&](const DiffRow &a, const DiffRow &b) { return size(a) > size(b); });
  return diff;
}

// Returns what makes the changes hard to judge, as a line; empty if nothing does.
static std::string diff_remark(const DiffTable &table) {
  const uint64_t least = std::min(table.before_total, table.after_total);
  const uint64_t most = std::max(table.before_total, table.after_total);
  constexpr uint64_t enough_ticks = 100, far_apart = 4;
  if (table.event == "ticks" && least < enough_ticks)
    return fmt::format("(a side has {}; with less than {}, most changes are chance)",
                       counted(least, table.event), enough_ticks);
  if (least != 0 && most / far_apart >= least)
    return fmt::format("(one side has {} times the cost of the other: compare the percentages)",
                       most / least);
  return {};
}

std::string to_text(const DiffTable &table, const TextOptions &options) {
  TextTable text;
  text.add_column("change", true, Role::highlight);
  text.add_column("before", true);
  text.add_column("after", true);
  text.add_column("before%", true);
  text.add_column("after%", true);
  const bool has_place = table.by == By::function || table.by == By::line;
  text.add_column(std::string(row_title(table.by)), false,
                  has_place ? Role::function : Role::filename);
  if (has_place) {
    text.shorten_names();
    text.add_column("place", false, Role::filename);
  }
  bool any = false;
  for (const DiffRow &row : table.rows) {
    if (row.before == row.after && row.before_percent == row.after_percent)
      continue;
    any = true;
    const uint64_t change = std::max(row.before, row.after) - std::min(row.before, row.after);
    std::vector<std::string> cells{
        (row.after < row.before ? "-"
         : change == 0          ? ""
                                : "+") +
            value_text(change, table.unit),
        value_text(row.before, table.unit), value_text(row.after, table.unit),
        fmt::format("{:.2f}%", row.before_percent), fmt::format("{:.2f}%", row.after_percent)};
    if (!has_place) {
      cells.emplace_back(shown_group(table.by, row.name, row.object));
    } else {
      cells.push_back(row.name);
      cells.push_back(location_of(row.file, row.line, row.object));
    }
    text.add_row(std::move(cells));
  }
  std::string out = fmt::format("{} before, {} now; changes of the {} cost\n",
                                total_text(table.before_total, table.event, table.unit),
                                value_text(table.after_total, table.unit),
                                table.cost == SortBy::self ? "self" : "inclusive");
  out += any ? text.render(options) : "nothing changed\n";
  if (const std::string remark = diff_remark(table); any && !remark.empty())
    out += options.style.paint(Role::metadata, remark) + '\n';
  return out;
}

} // namespace tally
