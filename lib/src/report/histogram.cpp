#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "report/histogram_text.h"
#include "report/names.h"
#include "report/pc_range.h"
#include "report/render.h"
#include "report/value_text.h"
#include "support/path.h"
#include "support/sort.h"
#include "support/text.h"

namespace tally {

namespace {

// The number of bins to aim for without a scale, so that they fit on a screen.
constexpr uint64_t bins_of_a_screen = 40;
constexpr uint64_t most_bins = uint64_t{1} << 22;

// Parses a number, which is hexadecimal if it begins with 0x and otherwise decimal.
std::optional<uint64_t> address_of(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  if (hex)
    text.remove_prefix(2);
  uint64_t value = 0;
  const auto [end, fault] =
      std::from_chars(text.data(), text.data() + text.size(), value, hex ? 16 : 10);
  if (text.empty() || fault != std::errc() || end != text.data() + text.size())
    return {};
  return value;
}

} // namespace

std::optional<std::pair<uint64_t, uint64_t>> range_of(std::string_view text) {
  const size_t middle = text.find_first_of("-,");
  if (middle == text.npos)
    return {};
  const auto low = address_of(text.substr(0, middle)), high = address_of(text.substr(middle + 1));
  if (!low || !high)
    return {};
  return std::pair(*low, *high);
}

Result<uint32_t> scale_of(std::string_view text, std::string source) {
  const auto value = address_of(text);
  if (!value || *value < 2 || *value > 0xFFFF)
    return fail(ErrorCode::invalid_argument,
                fmt::format("expected a scale from 2 to 0xFFFF, found '{}'{}", text,
                            value && *value < 2 ? " (0 and 1 turn profil() off)" : ""),
                std::move(source));
  return static_cast<uint32_t>(*value);
}

namespace {

using Range = std::pair<uint64_t, uint64_t>;

// Returns the range of the bins that have ticks. It is empty if there is no tick.
Range counted_range(const PcHistogram &histogram) {
  Range out{UINT64_MAX, 0};
  for (const PcRange &range : histogram.ranges())
    for (size_t bin = 0; bin < range.counters.size(); ++bin)
      if (range.counters[bin] > 0) {
        const auto [low, high] = range.extent(bin);
        out = {std::min(out.first, low), std::max(out.second, high)};
      }
  return out;
}

bool touches(const Range &a, const Range &b) { return a.first < b.second && b.first < a.second; }

// Returns the range of the function `name`. Fails if several functions have this name. A name that
// is not in the view's table may be another symbol at the start of a function.
Result<Range> function_range(const PcView &view, std::string_view name) {
  std::vector<std::string_view> names;
  for (const PcView::Function &function : view.functions)
    names.push_back(function.name);
  const FunctionMatcher matcher(name, names);
  Range out{UINT64_MAX, 0};
  std::set<std::string_view> found;
  const auto take = [&](const PcView::Function &function) {
    out = {std::min(out.first, function.start), std::max(out.second, function.end)};
    found.insert(without_level(function.name));
  };
  for (const PcView::Function &function : view.functions)
    if (matcher.matches(function.name))
      take(function);
  if (found.empty() && view.starts_of)
    for (const uint64_t start : view.starts_of(name))
      for (const PcView::Function &function : view.functions)
        if (function.start <= start && start < function.end)
          take(function);
  if (found.size() > 1)
    return several_functions(name, found);
  if (out.first < out.second) // round to units of 2 bytes, the size of most bins
    return Range{out.first & ~uint64_t{1}, out.second + (out.second & 1)};
  if (view.functions.empty())
    return fail(ErrorCode::not_found, "no names of functions are known: give a range, LOW-HIGH",
                std::string(name));
  std::erase_if(names, [&](std::string_view each) { return each.find(name) == each.npos; });
  sort_stably(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return fail(ErrorCode::not_found,
              names.empty()
                  ? fmt::format("no such function{}{}", view.object.empty() ? "" : " in ",
                                base_name(view.object))
                  : fmt::format("no such function; names that contain it: {}", some_of(names)),
              std::string(name));
}

Result<Range> range_to_show(const PcView &view, const std::string &what) {
  const Range counted = counted_range(view.histogram);
  if (what.empty()) {
    if (counted.first >= counted.second)
      return fail(ErrorCode::no_data,
                  fmt::format("there is no tick in {}",
                              view.object.empty() ? "a bin" : base_name(view.object)));
    return counted;
  }
  const auto typed = range_of(what);
  if (!typed)
    return function_range(view, what);
  if (typed->first >= typed->second)
    return fail(ErrorCode::invalid_argument, "the range is empty: its end is not after its start",
                what);
  const Range run_time{typed->first - view.bias.value_or(0), typed->second - view.bias.value_or(0)};
  const Range code{view.functions.empty() ? counted.first
                                          : std::min(counted.first, view.functions.front().start),
                   view.functions.empty() ? counted.second
                                          : std::max(counted.second, view.functions.back().end)};
  return !touches(*typed, code) && touches(run_time, code) ? run_time : *typed;
}

// Returns the bins to show for a range, with or without a scale of profil().
Result<PcRange> bins_for(const Range &shown, std::optional<uint32_t> scale) {
  PcRange out{shown.first, shown.second, {}, {}};
  const uint64_t span = shown.second - shown.first;
  if (scale) {
    out.bins.scale = *scale;
    // Make as many bins as profil() needs counters to count the last pc.
    out.counters.resize(1);
    out.bins.fitted = true; // include the topmost bytes, which rounding up would leave out
    const double bins = std::ceil(static_cast<double>(span) * *scale / 0x20000);
    if (bins > static_cast<double>(most_bins))
      return fail(ErrorCode::limit,
                  fmt::format("{:.0f} bins are too many: the maximum is {}; choose a smaller range "
                              "or scale",
                              bins, most_bins));
    out.counters.resize(*scale == 2 ? 1 : std::max<size_t>(1, static_cast<size_t>(bins)), 0);
    return out;
  }
  const uint64_t least = span / bins_of_a_screen + (span % bins_of_a_screen != 0);
  out.bins.bytes = std::bit_ceil(std::max<uint64_t>(least, 2));
  if (const uint64_t aligned = shown.first & ~(out.bins.bytes - 1);
      out.bins.bytes > 2 && span > 2 * bins_of_a_screen)
    out.low_pc = aligned;
  const uint64_t whole = out.high_pc - out.low_pc;
  out.counters.resize(whole / out.bins.bytes + (whole % out.bins.bytes != 0), 0);
  return out;
}

// Returns the first function in [low, high) as "function+0x12", with ", …" if others follow.
std::string functions_in(const PcView &view, uint64_t low, uint64_t high) {
  auto at = std::ranges::upper_bound(view.functions, low, {}, &PcView::Function::end);
  if (at == view.functions.end() || at->start >= high)
    return {};
  std::string out = at->name;
  if (view.knows_starts && low > at->start)
    out += fmt::format("+{:#x}", low - at->start);
  const auto next = std::next(at);
  if (next != view.functions.end() && next->start < high && next->name != at->name)
    out += ", …";
  return out;
}

// Adds the row of a bin. Adjacent bins without a tick become one row.
void add_row(HistogramTable &table, const PcView &view, Range extent, const PcShare &share) {
  if (share.exact == 0) {
    if (!table.rows.empty() && table.rows.back().exact == 0) {
      table.rows.back().high = extent.second;
      ++table.rows.back().bins;
    } else {
      table.rows.push_back({extent.first, extent.second, 1, 0, 0, {}, {}});
    }
    return;
  }
  table.rows.push_back({extent.first, extent.second, 1, share.ticks, share.exact,
                        functions_in(view, extent.first, extent.second),
                        view.lines ? view.lines(extent.first, extent.second) : std::string()});
}

} // namespace

Result<HistogramTable> histogram_table(const PcView &view, const HistogramOptions &options) {
  TALLY_TRY(shown, range_to_show(view, options.what));
  TALLY_TRY(bins, bins_for(shown, options.scale));
  std::vector<PcExtent> extents;
  constexpr uint32_t before = UINT32_MAX - 1, behind = UINT32_MAX;
  extents.push_back({0, bins.low_pc, before});
  for (uint32_t i = 0; i < bins.counters.size(); ++i) {
    const auto [low, high] = bins.extent(i);
    extents.push_back({low, high, i});
  }
  extents.push_back({bins.high_pc, UINT64_MAX, behind});
  TALLY_TRY(shares, attribute(view.histogram, extents));

  HistogramTable table;
  table.object = view.object;
  table.event = view.event;
  table.low = bins.low_pc;
  table.high = bins.high_pc;
  table.bytes = options.scale ? 0x20000 / static_cast<double>(*options.scale)
                              : static_cast<double>(bins.bins.bytes);
  table.outside = view.histogram.outside() + shares.unattributed.ticks;
  table.total = view.histogram.ticks() + view.histogram.outside();
  for (const PcShare &share : shares.shares) {
    if (share.id == before)
      table.before = share.ticks;
    else if (share.id == behind)
      table.behind = share.ticks;
    else
      add_row(table, view, bins.extent(share.id), share);
  }
  return table;
}

namespace {

std::string not_shown(const HistogramTable &table) {
  std::string out;
  for (const auto &[ticks, where] :
       {std::pair(table.before, "before"), {table.behind, "behind"}, {table.outside, "elsewhere"}})
    if (ticks > 0)
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", ticks, where);
  return out.empty() ? out : fmt::format("; not shown: {}", out);
}

} // namespace

std::string to_text(const HistogramTable &table, const TextOptions &options) {
  std::string out = fmt::format("{} in total{}\n", printable(counted(table.total, table.event)),
                                not_shown(table));
  out += fmt::format("{:#x}-{:#x}{}{}, {:.4g} bytes a bin\n", table.low, table.high,
                     table.object.empty() ? "" : " of ", base_name(table.object), table.bytes);
  double most = 0;
  for (const HistogramTable::Row &row : table.rows)
    most = std::max(most, row.exact);
  TextTable text;
  text.cut_text();
  text.let_last_give_way();
  text.add_column("address", true, Role::address);
  text.add_column(table.event, true);
  text.add_column("%", true, Role::highlight);
  text.add_column("", false);
  text.add_column("function", false, Role::function);
  text.add_column("lines", false, Role::filename);
  const size_t name_columns = options.width > 0 ? 24 : 60;
  for (const HistogramTable::Row &row : table.rows) {
    if (row.exact == 0) {
      text.add_row({fmt::format("{:#x}", row.low), "", "", "",
                    row.bins == 1 ? "(no tick)" : fmt::format("({} bins without a tick)", row.bins),
                    ""});
      continue;
    }
    const double percents =
        table.total == 0 ? 0 : 100 * row.exact / static_cast<double>(table.total);
    text.add_row({fmt::format("{:#x}", row.low), fmt::format("{}", row.ticks),
                  fmt::format("{:.2f}%", percents), bar(most > 0 ? row.exact / most : 0),
                  short_name(row.symbol, name_columns), row.lines});
  }
  return out + text.render(options);
}

} // namespace tally
