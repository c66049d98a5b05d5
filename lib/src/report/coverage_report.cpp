
#include "report/coverage_report.h"

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include <fmt/format.h>

#include "report/coverage_text.h"
#include "report/render.h"
#include "support/alternatives.h"
#include "support/hash.h"
#include "support/path.h"
#include "support/sort.h"

namespace tally {

std::string share_text(uint64_t part, uint64_t whole) {
  if (whole == 0)
    return "-";
  std::string text = fmt::format("{:.1f}%", percent(part, whole));
  if (part < whole && text == "100.0%")
    return "99.9%";
  if (part > 0 && text == "0.0%")
    return "0.1%";
  return text;
}

std::string share_with_counts(const CoverageMetric &metric) {
  if (metric.whole == 0)
    return "-";
  return fmt::format("{} ({}/{})", share_text(metric.part, metric.whole), metric.part,
                     metric.whole);
}

std::vector<MissingRange> ranges_not_run(const FileCoverage &file) {
  std::vector<MissingRange> out;
  bool within = false;
  for (const LineCoverage &line : file.lines) {
    if (line.count != 0) {
      within = false;
      continue;
    }
    if (!within)
      out.push_back({line.line, line.line, 0});
    within = true;
    out.back().last = line.line;
    ++out.back().lines;
  }
  return out;
}

std::string missing_ranges(const FileCoverage &file, size_t most) {
  const std::vector<MissingRange> ranges = ranges_not_run(file);
  const size_t shown = most == 0 ? ranges.size() : std::min(most, ranges.size());
  std::string out;
  for (const MissingRange &range : std::span(ranges).first(shown)) {
    out += out.empty() ? "" : ", ";
    out += range.first == range.last ? fmt::format("{}", range.first)
                                     : fmt::format("{}-{}", range.first, range.last);
  }
  if (shown < ranges.size())
    out += fmt::format(", … {} more", ranges.size() - shown);
  return out;
}

namespace {
std::vector<std::string> cells_of(const CoverageTotals &totals, const CoverageTotals &all,
                                  std::string name, std::string missing) {
  std::vector<std::string> cells{std::move(name)};
  for (const CoverageMetric &metric : metrics_in_table(totals, all)) {
    cells.push_back(share_text(metric.part, metric.whole));
    if (metric.name == "lines")
      cells.push_back(fmt::format("{}/{}", metric.part, metric.whole));
  }
  cells.push_back(std::move(missing));
  return cells;
}

// Shortens `text` to `width` columns. Removes the beginning, because the end of a path is more
// specific.
std::string last_columns(std::string_view text, size_t width) {
  const size_t all = display_width(text);
  if (all <= width)
    return std::string(text);
  size_t begin = 0;
  for (size_t columns = all + 1; columns > width && begin < text.size(); --columns)
    while (++begin < text.size() && !begins_character(text[begin]))
      ;
  return "…" + std::string(text.substr(begin));
}

// Returns the sort key of a file; smaller keys come first. For FileOrder::file all files have the
// same key, because they are sorted by path already. `word` is the name of the order.
double rank(const FileCoverage &file, FileOrder order, std::string_view word) {
  const CoverageTotals totals = totals_of(file);
  if (order == FileOrder::missed)
    return -static_cast<double>(totals.lines - totals.lines_executed);
  for (const CoverageMetric &metric : metrics_of(totals))
    if (metric.name == word)
      return metric.whole == 0 ? 101 : percent(metric.part, metric.whole);
  return 0;
}

} // namespace

std::vector<const FileCoverage *> in_order(const Coverage &coverage, FileOrder order) {
  const std::string_view word = alternatives(file_order_words)[static_cast<size_t>(order)];
  std::vector<std::pair<double, const FileCoverage *>> ranked;
  for (const FileCoverage &file : coverage.files)
    ranked.emplace_back(rank(file, order, word), &file);
  sort_stably(ranked, {}, [](const auto &each) { return each.first; });
  std::vector<const FileCoverage *> out;
  out.reserve(ranked.size());
  for (const auto &each : ranked)
    out.push_back(each.second);
  return out;
}

namespace {

struct Folder {
  size_t files = 0;
  CoverageTotals totals{};
};
using Folders = std::map<std::string, Folder, std::less<>>; // by path, which ends with '/'

// Directories below this depth have no sums, because a path in a malicious file may have a
// directory in every second byte.
constexpr size_t deepest_folder = 64;

Folders folders_of(const Coverage &coverage, std::string_view root) {
  Folders out;
  for (const FileCoverage &file : coverage.files) {
    const std::string_view path = relative_path(file.path, root);
    const CoverageTotals totals = totals_of(file);
    size_t depth = 0;
    for (size_t slash = path.find('/'); slash != path.npos && depth < deepest_folder;
         slash = path.find('/', slash + 1), ++depth) {
      Folder &folder = out[std::string(path.substr(0, slash + 1))];
      ++folder.files;
      folder.totals += totals;
    }
  }
  return out;
}

// Returns the directories that add information. A directory adds none if it has all files, or the
// same files as one of its subdirectories.
Folders informative(const Folders &folders, size_t files) {
  Folders out;
  for (auto at = folders.begin(); at != folders.end(); ++at) {
    const auto next = std::next(at); // a subdirectory with the same files, if there is one
    const bool same = next != folders.end() && next->first.starts_with(at->first) &&
                      next->second.files == at->second.files;
    if (!same && at->second.files < files)
      out.insert(*at);
  }
  return out;
}

size_t level_of(const Folders &folders, std::string_view path) {
  size_t level = 1;
  for (size_t slash = path.find('/'); slash + 1 < path.size(); slash = path.find('/', slash + 1))
    level += folders.contains(path.substr(0, slash + 1));
  return level;
}

Folders folders_to_show(const Coverage &coverage, std::string_view root) {
  constexpr size_t screen = 20;
  const Folders all = informative(folders_of(coverage, root), coverage.files.size());
  if (std::ranges::all_of(all, [](const auto &each) { return each.second.files == 1; }))
    return {};
  Folders out;
  for (size_t level = 1;; ++level) {
    Folders more = out;
    for (const auto &each : all)
      if (level_of(all, each.first) == level)
        more.insert(each);
    if (more.size() == out.size() || (level > 1 && more.size() > screen))
      return out;
    out = std::move(more);
  }
}
} // namespace

Result<FileOrder> file_order_of(std::string_view word) {
  const auto words = alternatives(file_order_words);
  const auto at = std::ranges::find(words, word);
  if (at == words.end())
    return fail(ErrorCode::invalid_argument,
                fmt::format("expected {}, found '{}'", file_order_words, word));
  return static_cast<FileOrder>(at - words.begin());
}

std::string to_text(const Coverage &coverage, std::string_view root, const TextOptions &options,
                    FileOrder order) {
  const CoverageTotals totals = totals_of(coverage);
  TextTable text;
  text.cut_text();
  text.add_column("file", false);
  size_t columns = 0; // their width, with the blanks before them
  for (const CoverageMetric &metric : metrics_in_table(totals, totals)) {
    text.add_column(std::string(metric.name), true);
    if (metric.name == "lines")
      text.add_column("", true);
    else
      columns += 2 + metric.name.size();
  }
  text.add_column("lines not run", false);
  text.wrap_last(options.full ? 0 : 2);
  // Where no width cuts it off, the list of a large file would be tens of thousands of characters.
  constexpr size_t most_in_a_line = 20;
  const size_t most_ranges = options.full || options.width > 0 ? 0 : most_in_a_line;

  // The name gets the width that the titles and numbers leave. The widest numbers are in the row of
  // the totals.
  const size_t others =
      fmt::format("  100.0%  {}/{}  lines not run", totals.lines_executed, totals.lines).size() +
      columns;
  constexpr size_t least_name = 16;
  const size_t name_width =
      options.width == 0
          ? 0
          : std::max(least_name, options.width - std::min<size_t>(options.width, others));
  const size_t shown = options.limit == 0 ? coverage.files.size()
                                          : std::min<size_t>(options.limit, coverage.files.size());
  text.leave_out(coverage.files.size() - shown);
  const auto shown_name = [&](std::string_view name) {
    return name_width == 0 ? std::string(name) : last_columns(name, name_width);
  };
  const std::vector<const FileCoverage *> files = in_order(coverage, order);
  for (const FileCoverage *file : std::span(files).first(shown))
    text.add_row(cells_of(totals_of(*file), totals, shown_name(relative_path(file->path, root)),
                          missing_ranges(*file, most_ranges)));
  for (const auto &[path, folder] : folders_to_show(coverage, root))
    text.add_subtotal(cells_of(folder.totals, totals, shown_name(path), ""));
  text.add_total(cells_of(totals, totals, "TOTAL", ""));
  return text.render({.limit = options.limit, .width = options.width});
}

namespace {

// The number of lines that a test ran, and the number of those lines that no other test ran.
struct Reached {
  uint64_t lines = 0, alone = 0;
};

std::vector<Reached> reached_by(const std::vector<TestCoverage> &tests) {
  // By path and line: the number of tests that ran the line.
  SeededMap<std::string_view, SeededMap<uint32_t, size_t>> files;
  std::vector<Reached> out(tests.size());
  const auto each_line = [&](const auto &act) {
    for (size_t i = 0; i < tests.size(); ++i)
      for (const FileCoverage &file : tests[i].files)
        for (const LineCoverage &line : file.lines)
          if (line.count != 0)
            act(i, files[file.path][line.line]);
  };
  each_line([&](size_t i, size_t &those) {
    ++out[i].lines;
    ++those;
  });
  each_line([&](size_t i, size_t those) { out[i].alone += those == 1; });
  return out;
}

} // namespace

std::string tests_to_text(const std::vector<TestCoverage> &tests,
                          const std::vector<std::string> &without_data,
                          const TextOptions &options) {
  const std::vector<Reached> reached = reached_by(tests);
  TextTable text;
  text.cut_text();
  text.add_column("test", false);
  text.add_column("lines", true);
  text.add_column("by it alone", true);
  for (size_t i = 0; i < tests.size(); ++i) {
    const std::string &name = tests[i].name;
    if (name.empty() && reached[i].lines == 0)
      continue; // the counts that belong to no test, all of them 0
    if (std::ranges::binary_search(without_data, name))
      text.add_row({name, "no data", ""});
    else
      text.add_row({name.empty() ? "(no test)" : name, fmt::format("{}", reached[i].lines),
                    fmt::format("{}", reached[i].alone)});
  }
  return text.render({.limit = options.limit, .width = options.width});
}

} // namespace tally
