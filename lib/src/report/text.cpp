#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <span>

#include <fmt/format.h>

#include "report/groups.h"
#include "report/render.h"
#include "report/report.h"
#include "report/rows.h"
#include "report/value_text.h"
#include "support/path.h"
#include "support/text.h"

namespace tally {

std::string location_of(std::string_view file, uint32_t line, std::string_view object) {
  // Keep the line number of an unknown file, so that its lines remain distinct.
  if (file.empty() && line != 0)
    return object.empty() ? fmt::format("???:{}", line)
                          : fmt::format("???:{} ({})", line, base_name(object));
  if (file.empty())
    return std::string(base_name(object));
  if (line == 0)
    return std::string(base_name(file));
  return fmt::format("{}:{}", base_name(file), line);
}

double percent(uint64_t part, uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

double self_percent(const FlatRow &row, uint64_t total) {
  if (!row.exact_self || total == 0)
    return percent(row.self[0], total);
  return 100.0 * *row.exact_self / static_cast<double>(total);
}

std::string expand_tabs(std::string_view text) {
  std::string out;
  size_t column = 0;
  for (char c : text) {
    if (c != '\t') {
      out += c;
      column += begins_character(c);
      continue;
    }
    const size_t blanks = 8 - column % 8;
    out.append(blanks, ' ');
    column += blanks;
  }
  return out;
}

namespace {
std::vector<std::string> printable_cells(std::vector<std::string> cells) {
  for (std::string &cell : cells)
    cell = printable(std::move(cell));
  return cells;
}
} // namespace

void TextTable::add_row(std::vector<std::string> cells) {
  rows_.push_back(printable_cells(std::move(cells)));
}

void TextTable::add_subtotal(std::vector<std::string> cells) {
  subtotals_.push_back(printable_cells(std::move(cells)));
}

void TextTable::add_total(std::vector<std::string> cells) {
  total_ = printable_cells(std::move(cells));
}

std::string first_columns(std::string_view text, size_t width) {
  if (display_width(text) <= width)
    return std::string(text);
  size_t end = 0;
  for (size_t columns = 0; end < text.size(); ++end) {
    columns += begins_character(text[end]);
    if (columns >= width) // the last column is needed for the "…"
      break;
  }
  return std::string(text.substr(0, end)) + "…";
}

namespace {

// Returns whether a cell has a percentage that is large enough to highlight. A sign or a mark may
// precede the percentage.
bool is_heavy(std::string_view cell) {
  constexpr double heavy_percent = 5;
  cell.remove_prefix(std::min(cell.find_first_of("0123456789"), cell.size()));
  return std::strtod(std::string(cell).c_str(), nullptr) >= heavy_percent;
}

// Breaks a text into lines of at most `width` columns, after blanks, and at most `most` of them.
// The last one is cut off if it is too wide.
std::vector<std::string> broken(std::string_view text, size_t width, size_t most) {
  std::vector<std::string> out;
  constexpr size_t most_bytes = 8; // of a column; the whole text may be long
  while (out.size() + 1 < most && display_width(text.substr(0, most_bytes * width)) > width) {
    size_t end = 0;
    for (size_t blank = text.find(' '); blank != text.npos; blank = text.find(' ', blank + 1)) {
      if (display_width(text.substr(0, blank)) > width)
        break;
      end = blank;
    }
    if (end == 0)
      break;
    out.emplace_back(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  out.push_back(first_columns(text, width));
  return out;
}

} // namespace

std::string TextTable::render(const TextOptions &options) const {
  const size_t limit = options.limit, width = options.width;
  const Style &style = options.style;
  const size_t shown = limit == 0 ? rows_.size() : std::min(limit, rows_.size());
  const auto first_text = std::ranges::find(columns_, false, &TextColumn::right);
  const size_t flexible =
      last_gives_way_ ? columns_.size() - 1 : static_cast<size_t>(first_text - columns_.begin());
  const bool shortens = shortens_names_ ? !options.full_names : width > 0;
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t widest = display_width(columns_[c].title);
    for (size_t r = 0; r < shown; ++r)
      widest = std::max(widest, display_width(rows_[r][c]));
    for (const auto &row : subtotals_)
      widest = std::max(widest, display_width(row[c]));
    if (!total_.empty())
      widest = std::max(widest, display_width(total_[c]));
    widths.push_back(widest);
  }
  // Without a limited width, one long name must not move the next column of all rows out of sight.
  if (width == 0)
    widths[flexible] = std::min(widths[flexible], widest_name);
  else {
    size_t others = 2 * (columns_.size() - 1);
    for (size_t c = 0; c < widths.size(); ++c)
      others += c == flexible ? 0 : widths[c];
    const size_t least = last_gives_way_ ? display_width(columns_.back().title) : 16;
    widths[flexible] =
        std::min(widths[flexible], std::max(least, width - std::min<size_t>(width, others)));
  }
  std::string out;
  const auto add_line = [&](auto cell_of, bool titles = false) {
    std::string line;
    std::vector<std::string> more; // what the last cell is continued by
    for (size_t c = 0; c < columns_.size(); ++c) {
      std::string cell(cell_of(c));
      if (c == flexible && width > 0 && most_lines_ > 1) {
        more = broken(cell, widths[c], most_lines_);
        cell = more.front();
        more.erase(more.begin());
      } else if (c == flexible && shortens)
        cell = cut_ ? first_columns(cell, widths[c]) : short_name(cell, widths[c]);
      const size_t used = display_width(cell);
      const std::string blanks(widths[c] - std::min(used, widths[c]), ' ');
      line += c > 0 ? "  " : "";
      Role role = titles ? Role::title : columns_[c].role;
      if (role == Role::highlight && !is_heavy(cell))
        role = Role::plain;
      cell = style.paint(role, cell); // after its width was measured
      line += columns_[c].right ? blanks + cell : cell + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
    const size_t before =
        2 * (columns_.size() - 1) + std::accumulate(widths.begin(), widths.end() - 1, size_t{0});
    for (const std::string &rest : more)
      out += std::string(before, ' ') + rest + '\n';
  };
  add_line([&](size_t c) -> const std::string & { return columns_[c].title; }, true);
  for (size_t r = 0; r < shown; ++r)
    add_line([&](size_t c) -> const std::string & { return rows_[r][c]; });
  const auto add_rule = [&] {
    size_t rule = 2 * (columns_.size() - 1);
    for (size_t columns : widths)
      rule += columns;
    out.append(width > 0 ? std::min<size_t>(rule, width) : rule, '-') += '\n';
  };
  if (!subtotals_.empty())
    add_rule();
  for (const auto &row : subtotals_)
    add_line([&](size_t c) -> const std::string & { return row[c]; });
  if (!total_.empty()) {
    add_rule();
    add_line([&](size_t c) -> const std::string & { return total_[c]; });
  }
  if (const size_t more = rows_.size() - shown + left_out_; more > 0)
    out += style.paint(Role::metadata, fmt::format("({} more; --limit 0 shows all)", more)) + '\n';
  return out;
}

namespace {
// Returns lines with the totals of the other events and of the derived events.
std::string other_events(const FlatTable &table, uint32_t width) {
  std::vector<std::string> words;
  for (size_t e = 1; e < table.events.size(); ++e)
    words.push_back(fmt::format(
        "{} {}", value_text(table.totals[e], table.units.empty() ? std::string() : table.units[e]),
        table.events[e]));
  for (const FlatTable::DerivedEvent &event : table.derived)
    words.push_back(fmt::format("{} {} = {}", event.total, event.name, event.formula));
  if (words.empty())
    return {};
  std::string out, line = "also:";
  for (size_t i = 0; i <= words.size(); ++i) {
    const bool hint = i == words.size();
    const std::string word =
        hint ? " (--event NAME shows another)"
             : fmt::format(" {}{}", printable(words[i]), i + 1 < words.size() ? "," : "");
    if (width > 0 && display_width(line) + display_width(word) > width) {
      out += line + '\n';
      line = "     ";
    }
    line += word;
  }
  return out + line + '\n';
}

// Returns a table with a row for each cycle as a whole. The rows of functions in a cycle leave out
// the costs of calls within the cycle.
std::string cycles_text(const FlatTable &table, const TextOptions &options) {
  if (table.cycles.empty())
    return {};
  TextTable text;
  text.cut_text();
  for (const auto &[title, role] : {std::pair("self%", Role::highlight),
                                    {"self", Role::plain},
                                    {"incl%", Role::highlight},
                                    {"incl", Role::plain}})
    text.add_column(title, true, role);
  text.add_column("functions that call each other", false, Role::function);
  constexpr size_t most_named = 20;
  for (const CycleRow &cycle : table.cycles) {
    const auto named =
        std::span(cycle.functions).first(std::min(cycle.functions.size(), most_named));
    text.add_row({fmt::format("{:.2f}%", percent(cycle.self[0], table.totals[0])),
                  fmt::format("{}", cycle.self[0]),
                  fmt::format("{:.2f}%", percent(cycle.inclusive[0], table.totals[0])),
                  fmt::format("{}", cycle.inclusive[0]),
                  fmt::format("{}: {}{}", cycle.functions.size(), joined_text(named, ", "),
                              named.size() < cycle.functions.size() ? ", …" : "")});
  }
  return "\n" + text.render(options);
}
} // namespace

static const std::vector<uint64_t> &shown_values(const FlatTable &table, const FlatRow &row) {
  return table.sort == SortBy::inclusive ? row.inclusive : row.self;
}

// Adds a cell for each value, with '-' for 0.
static void add_value_cells(const FlatTable &table, const FlatRow &row,
                            std::vector<std::string> &cells) {
  const std::vector<uint64_t> &values = shown_values(table, row);
  for (size_t e = 0; e < values.size(); ++e)
    cells.push_back(value_cell(values[e], table.units[e]));
}

std::string value_cell(uint64_t value, std::string_view unit) {
  return value == 0 ? "-" : value_text(value, unit);
}

std::string totals_of(std::span<const std::string> events, std::span<const uint64_t> totals,
                      std::span<const std::string> units) {
  std::string out;
  for (size_t e = 0; e < (has_all_totals(units) ? events.size() : 1); ++e) {
    out += out.empty() ? "" : ", ";
    out += total_text(totals[e], events[e], units.empty() ? std::string_view() : units[e]);
  }
  return printable(std::move(out));
}

// Returns whether a thread spent nearly all of its time in one wait. Server programs have dozens of
// them, which would push the others out of sight.
static bool is_idle(const FlatTable &table, const FlatRow &row) {
  const auto value = [&](std::string_view event) {
    const auto at = std::ranges::find(table.events, event);
    return at == table.events.end() ? 0 : row.self[static_cast<size_t>(at - table.events.begin())];
  };
  const uint64_t wait = value("wait");
  return wait > 0 && value("waits") <= 1 && wait / 19 > value("cpu") + value("queued");
}

// Returns the table as text. `idle` stands for several rows and comes last; null if there is none.
static std::string text_of(const FlatTable &table, const FlatRow *idle,
                           const TextOptions &options) {
  const bool has_location = table.by == By::function || table.by == By::line;
  const bool has_inclusive = table.has_inclusive && table.by != By::thread &&
                             table.by != By::part && table.by != By::process;
  const bool has_calls =
      !table.has_inclusive && table.by == By::function &&
      std::ranges::any_of(table.rows, [](const FlatRow &row) { return row.calls > 0; });

  const bool has_values = has_value_columns(table.events, table.units);
  const std::string_view unit = table.units.empty() ? std::string_view() : table.units[0];
  TextTable text;
  text.add_column("#", true);
  if (has_values)
    for (size_t e = 0; e < table.events.size(); ++e)
      text.add_column(printable(std::string(shown_event(table.events[e], table.units[e]))), true);
  if (!has_values) {
    text.add_column("self%", true, Role::highlight);
    text.add_column("self", true);
  }
  if (has_inclusive && !has_values) {
    text.add_column("incl%", true, Role::highlight);
    text.add_column("incl", true);
  }
  if (has_calls && !has_values)
    text.add_column("calls", true);
  text.add_column(std::string(row_title(table.by)), false,
                  has_location                                          ? Role::function
                  : table.by == By::object || table.by == By::directory ? Role::filename
                                                                        : Role::plain);
  if (has_location) {
    text.shorten_names();
    text.add_column("place", false, Role::filename);
  }
  const uint64_t total = table.totals[0];
  // Rows that come last because all their cells would be empty are not shown.
  const auto is_empty = [&](const FlatRow &row) {
    return has_values &&
           std::ranges::all_of(shown_values(table, row), [](uint64_t value) { return value == 0; });
  };
  size_t rows = table.rows.size();
  while (rows > 0 && is_empty(table.rows[rows - 1]))
    --rows;
  const size_t shown = options.limit == 0 ? rows : std::min<size_t>(options.limit, rows);
  text.leave_out(rows - shown);
  for (size_t number = 1; const FlatRow &row : std::span(table.rows).first(shown)) {
    std::vector<std::string> cells{fmt::format("{}", number++)};
    if (has_values)
      add_value_cells(table, row, cells);
    if (!has_values) {
      cells.push_back(fmt::format("{:.2f}%", self_percent(row, total)));
      cells.push_back(value_text(row.self[0], unit));
    }
    if (has_inclusive && !has_values) {
      cells.push_back(fmt::format("{:.2f}%", percent(row.inclusive[0], total)));
      cells.push_back(value_text(row.inclusive[0], unit));
    }
    if (has_calls && !has_values)
      cells.push_back(fmt::format("{}", row.calls));
    switch (table.by) {
    case By::object:
    case By::name_space:
    case By::directory:
      cells.emplace_back(shown_group(table.by, row.name, row.object));
      break;
    case By::thread:
    case By::part:
      cells.push_back(row.id == 0 && !row.name.empty()
                          ? row.name
                          : fmt::format("{} {}", signed_id(row), row.name));
      break;
    case By::process:
      cells.push_back(row.processes > 1 ? fmt::format("{} ×{}", row.name, row.processes)
                      : row.id == 0     ? row.name
                                        : fmt::format("{} {}", signed_id(row), row.name));
      break;
    case By::function:
    case By::line:
      cells.push_back(row.name);
      cells.push_back(location_of(row.file, row.line, row.object));
      break;
    }
    text.add_row(std::move(cells));
  }
  if (idle) {
    std::vector<std::string> cells{""};
    add_value_cells(table, *idle, cells);
    cells.push_back(idle->name);
    text.add_row(std::move(cells));
  }
  const bool has_unsampled =
      std::ranges::any_of(std::span(table.rows).first(shown),
                          [](const FlatRow &row) { return row.name == "[not sampled]"; });
  std::string out =
      fmt::format("{} in total\n", totals_of(table.events, table.totals, table.units));
  if (has_values && has_inclusive)
    out += table.sort == SortBy::self
               ? "the rows' own values; --sort inclusive adds their callees'\n"
               : "values of the rows and of their callees\n";
  if (!has_all_totals(table.units))
    out += other_events(table, options.width);
  out += text.render(options);
  if (has_unsampled)
    out += options.style.paint(Role::metadata,
                               "([not sampled] is CPU time that the kernel counted and no tick "
                               "showed: the work of fork and exit, and threads that live for "
                               "less than a tick)") +
           '\n';
  return out + cycles_text(table, options);
}

std::string to_text(const FlatTable &table, const TextOptions &options) {
  if (table.by != By::thread || !has_value_columns(table.events, table.units) || options.limit == 0)
    return text_of(table, nullptr, options);
  FlatTable busy = table;
  // The form for ranges is not understood by Clang 14.
  const auto first = std::stable_partition(
      busy.rows.begin(), busy.rows.end(), [&](const FlatRow &row) { return !is_idle(table, row); });
  const std::span others(first, busy.rows.end());
  if (others.size() < 2)
    return text_of(table, nullptr, options);
  FlatRow idle = others.front();
  idle.name = fmt::format("[{} threads, each in one wait]", others.size());
  for (const FlatRow &row : others.subspan(1))
    for (size_t e = 0; e < row.self.size(); ++e)
      idle.self[e] += row.self[e];
  busy.rows.resize(busy.rows.size() - others.size());
  return text_of(busy, &idle, options);
}

} // namespace tally
