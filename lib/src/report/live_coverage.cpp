#include "report/live_coverage.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <fmt/format.h>

#include "report/coverage_text.h"
#include "report/names.h"
#include "report/render.h"
#include "support/checked.h"
#include "support/json_out.h"
#include "support/path.h"
#include "support/sort.h"
#include "support/source_text.h"
#include "support/text.h"

namespace tally {

namespace {

using Json = JsonOut;

struct FunctionRow {
  const FileCoverage *file;
  const FunctionCoverage *function;
  uint32_t lines = 0, lines_run = 0;
};
struct LineRow {
  const FileCoverage *file;
  const LineCoverage *line;
};

// Sorts rows by the numbers that they show; `>=0` shows 0.
template <class Row, class CountOf> void sort_by_count(std::vector<Row> &rows, CountOf count_of) {
  const auto shown = [&](const Row &row) {
    const auto &counted = count_of(row);
    return counted.uncertain == INT64_MAX ? counted.count
                                          : saturated_sum(counted.count, counted.uncertain);
  };
  sort_stably(rows, [&](const Row &a, const Row &b) { return shown(a) > shown(b); });
}

template <class Counted> bool has_run(const Counted &counted) {
  return counted.count != 0 || counted.uncertain != 0;
}

// Returns the last line of a function. Clang 14 and GCC before version 8 do not note it; it is then
// taken to be the last line with a count before the next function begins.
uint32_t last_line_of(const FileCoverage &file, const FunctionCoverage &function) {
  if (function.end_line != 0)
    return function.end_line;
  const auto next = std::ranges::upper_bound(file.functions, function.start_line, {},
                                             &FunctionCoverage::start_line);
  const auto behind =
      next == file.functions.end()
          ? file.lines.end()
          : std::ranges::lower_bound(file.lines, next->start_line, {}, &LineCoverage::line);
  const uint32_t last = behind == file.lines.begin() ? 0 : std::prev(behind)->line;
  return std::max(function.start_line, last);
}

// Returns whether another function has the same lines.
bool is_instance(const FileCoverage &file, const FunctionCoverage &function) {
  const auto first = std::ranges::lower_bound(file.functions, function.start_line, {},
                                              &FunctionCoverage::start_line);
  const auto last = std::ranges::upper_bound(file.functions, function.start_line, {},
                                             &FunctionCoverage::start_line);
  return std::count_if(first, last, [&](const FunctionCoverage &each) {
           return each.end_line == function.end_line;
         }) > 1;
}

FunctionRow row_of(const FileCoverage &file, const FunctionCoverage &function) {
  FunctionRow row{&file, &function};
  const uint32_t last = last_line_of(file, function);
  for (auto line =
           std::ranges::lower_bound(file.lines, function.start_line, {}, &LineCoverage::line);
       line != file.lines.end() && line->line <= last; ++line) {
    ++row.lines;
    row.lines_run += line->count != 0;
  }
  return row;
}

std::vector<FunctionRow> functions_that_ran(const Coverage &coverage) {
  std::vector<FunctionRow> rows;
  for (const FileCoverage &file : coverage.files)
    for (const FunctionCoverage &function : file.functions) {
      const FunctionRow row = row_of(file, function);
      // A thread may have been in the function since before the mark. The lines of the instances of
      // a template have only the sum of their counts, which does not show which of them ran.
      if (has_run(function) || (row.lines_run > 0 && !is_instance(file, function)))
        rows.push_back(row);
    }
  sort_by_count(rows,
                [](const FunctionRow &row) -> const FunctionCoverage & { return *row.function; });
  return rows;
}

std::vector<LineRow> lines_that_ran(const Coverage &coverage) {
  std::vector<LineRow> rows;
  for (const FileCoverage &file : coverage.files)
    for (const LineCoverage &line : file.lines)
      if (has_run(line))
        rows.push_back({&file, &line});
  sort_by_count(rows, [](const LineRow &row) -> const LineCoverage & { return *row.line; });
  return rows;
}

Json json_of(int64_t count, int64_t uncertain) {
  return {{"count", count}, {"at_least", uncertain != 0}, {"exact", uncertain == 0}};
}

void add_totals(Json &row, const CoverageTotals &totals) {
  row.add("lines", totals.lines);
  row.add("lines_run", totals.lines_executed);
  row.add("functions", totals.functions);
  row.add("functions_run", totals.functions_executed);
  row.add("branches", totals.branches);
  row.add("branches_taken", totals.branches_taken);
}

Json json_of(const FunctionRow &row) {
  return {{"name", row.function->name},
          {"file", row.file->path},
          {"line", row.function->start_line},
          {"calls", json_of(row.function->count, row.function->uncertain)},
          {"lines", row.lines},
          {"lines_run", row.lines_run}};
}

Json json_of(const LineRow &row) {
  return {{"file", row.file->path},
          {"line", row.line->line},
          {"count", json_of(row.line->count, row.line->uncertain)}};
}

Json json_of(const FileCoverage &file) {
  Json row{{"file", file.path}};
  add_totals(row, totals_of(file));
  return row;
}

std::string dumped(const Json &json) { return json.text() + '\n'; }

size_t limited(size_t rows, uint32_t limit) {
  return limit == 0 ? rows : std::min<size_t>(rows, limit);
}

} // namespace

std::string count_text(int64_t count, int64_t uncertain) {
  if (uncertain == 0)
    return fmt::format("{}", count);
  return uncertain == 1 ? fmt::format("{}?", count + 1) : fmt::format(">={}", count);
}

std::string functions_to_text(const Coverage &coverage, std::string_view root,
                              const TextOptions &options) {
  TextTable table;
  table.add_column("#", true);
  table.add_column("calls", true);
  table.add_column("lines run", true);
  table.add_column("function", false, Role::function);
  table.add_column("place", false, Role::filename);
  size_t number = 0;
  for (const FunctionRow &row : functions_that_ran(coverage))
    table.add_row(
        {fmt::format("{}", ++number), count_text(row.function->count, row.function->uncertain),
         fmt::format("{}/{}", row.lines_run, row.lines), row.function->name,
         fmt::format("{}:{}", relative_path(row.file->path, root), row.function->start_line)});
  return table.render(options);
}

std::string lines_to_text(const Coverage &coverage, std::string_view root,
                          const TextOptions &options) {
  TextTable table;
  table.add_column("#", true);
  table.add_column("count", true);
  table.add_column("line", false, Role::filename);
  size_t number = 0;
  for (const LineRow &row : lines_that_ran(coverage))
    table.add_row({fmt::format("{}", ++number), count_text(row.line->count, row.line->uncertain),
                   fmt::format("{}:{}", relative_path(row.file->path, root), row.line->line)});
  return table.render(options);
}

std::string functions_to_json(const Coverage &coverage, uint32_t limit) {
  Json rows = Json::list();
  const auto functions = functions_that_ran(coverage);
  for (size_t i = 0; i < limited(functions.size(), limit); ++i)
    rows.push_back(json_of(functions[i]));
  return dumped({{"functions", rows}});
}

std::string lines_to_json(const Coverage &coverage, uint32_t limit) {
  Json rows = Json::list();
  const auto lines = lines_that_ran(coverage);
  for (size_t i = 0; i < limited(lines.size(), limit); ++i)
    rows.push_back(json_of(lines[i]));
  return dumped({{"lines", rows}});
}

std::string files_to_json(const Coverage &coverage, uint32_t limit) {
  Json rows = Json::list();
  for (size_t i = 0; i < limited(coverage.files.size(), limit); ++i)
    rows.push_back(json_of(coverage.files[i]));
  return dumped({{"files", rows}});
}

std::string to_json(const Coverage &coverage, std::string_view root, FileOrder order,
                    uint32_t limit) {
  const std::vector<const FileCoverage *> all = in_order(coverage, order);
  Json files = Json::list(), functions = Json::list(), lines = Json::list(),
       totals = Json::object();
  for (const FileCoverage *const file : std::span(all).first(limited(all.size(), limit))) {
    files.push_back(json_of(*file));
    for (const FunctionCoverage &function : file->functions)
      functions.push_back(json_of(row_of(*file, function)));
    for (const LineCoverage &line : file->lines)
      lines.push_back(json_of(LineRow{file, &line}));
  }
  const CoverageTotals sum = totals_of(coverage);
  add_totals(totals, sum);
  for (const CoverageMetric &metric : shown_metrics(sum, sum)) {
    if (metric.name == "lines" || metric.name == "functions" || metric.name == "branches")
      continue; // as above
    const std::string key(metric.name == "MC/DC" ? "mcdc" : metric.name);
    totals.add(key, metric.whole);
    totals.add(key + "_covered", metric.part);
  }
  return dumped({{"root", root},
                 {"totals", totals},
                 {"files", files},
                 {"functions", functions},
                 {"lines", lines}});
}

std::string objects_to_text(std::span<const ObjectCoverage> objects, std::string_view root,
                            const TextOptions &options) {
  TextTable table;
  table.add_column("object", false, Role::filename);
  table.add_column("lines", true);
  table.add_column("", true);
  table.add_column("functions", true);
  table.add_column("module", false, Role::filename);
  for (const ObjectCoverage &object : objects) {
    const CoverageTotals &totals = object.totals;
    table.add_row({std::string(relative_path(object.notes, root)),
                   share_text(totals.lines_executed, totals.lines),
                   fmt::format("{}/{}", totals.lines_executed, totals.lines),
                   share_text(totals.functions_executed, totals.functions),
                   std::string(base_name(object.module))});
  }
  return table.render(options);
}

std::string objects_to_json(std::span<const ObjectCoverage> objects, uint32_t limit) {
  Json rows = Json::list();
  for (const ObjectCoverage &object : objects.first(limited(objects.size(), limit))) {
    Json row{{"notes", object.notes}, {"module", object.module}};
    add_totals(row, object.totals);
    rows.push_back(row);
  }
  return dumped({{"objects", rows}});
}

Result<CoveredSource> covered_source(const Coverage &coverage, std::string_view what) {
  const std::string source(what);
  CoveredSource out;
  size_t found = 0;
  std::vector<std::string_view> names;
  for (const FileCoverage &file : coverage.files)
    for (const FunctionCoverage &function : file.functions)
      names.push_back(function.name);
  const FunctionMatcher matcher(what, names);
  for (const FileCoverage &file : coverage.files)
    for (const FunctionCoverage &function : file.functions) {
      if (!matcher.matches(function.name))
        continue;
      out = {&file, function.start_line, last_line_of(file, function)};
      ++found;
    }
  if (found == 1)
    return out;
  if (found > 1)
    return fail(ErrorCode::invalid_argument,
                fmt::format("is the name of {} functions; name a line instead", found), source);
  uint32_t line = 0;
  std::string_view path = what;
  if (const size_t colon = what.rfind(':'); colon != what.npos) {
    const char *const end = what.data() + what.size();
    if (std::from_chars(what.data() + colon + 1, end, line).ptr == end && line > 0)
      path = what.substr(0, colon);
    else
      line = 0;
  }
  for (const FileCoverage &file : coverage.files)
    if (ends_with_path(file.path, path) && !file.lines.empty()) {
      constexpr uint32_t lines_around = 5;
      out = {&file, 1, UINT32_MAX};
      if (line > 0)
        out = {&file, line > lines_around ? line - lines_around : 1,
               saturated_sum(line, lines_around)};
      ++found;
    }
  if (found == 1 && line > 0 && out.first > out.file->lines.back().line)
    return fail(ErrorCode::not_found, "the line lies behind all code that has counters", source);
  if (found == 1)
    return out;
  return found > 1 ? fail(ErrorCode::invalid_argument,
                          fmt::format("is the name of {} files", found), source)
                   : fail(ErrorCode::not_found,
                          "there is no function or file of this name that has counters", source);
}

std::string source_to_text(const CoveredSource &source, const StoppedLines &stopped,
                           std::string_view root, const TextOptions &options) {
  const FileCoverage &file = *source.file;
  std::string out =
      options.style.paint(Role::filename, printable(std::string(relative_path(file.path, root)))) +
      "\n";
  const auto text = read_source(file.path);
  if (!text)
    out += fmt::format("the source cannot be read: {}\n", text.error().message);
  TextTable table;
  table.cut_text();
  table.add_column("", false);
  table.add_column("count", true, Role::highlight);
  table.add_column("line", true);
  table.add_column("", false);
  table.let_last_give_way();
  auto counted = std::ranges::lower_bound(file.lines, source.first, {}, &LineCoverage::line);
  const auto add_row = [&](uint32_t number, const LineCoverage *line, std::string_view words) {
    table.add_row({stopped.contains({file.path, number}) ? "=>" : "",
                   line ? count_text(line->count, line->uncertain) : std::string(),
                   fmt::format("{}", number), expand_tabs(words)});
  };
  if (!text) // line numbers may be huge (#line), so only those with counts are visited
    for (; counted != file.lines.end() && counted->line <= source.last; ++counted)
      add_row(counted->line, &*counted, {});
  std::string_view rest = text ? std::string_view(text->bytes) : std::string_view();
  for (uint32_t number = 1; !rest.empty() && number <= source.last; ++number) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view words = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (number < source.first)
      continue;
    const bool has_count = counted != file.lines.end() && counted->line == number;
    add_row(number, has_count ? &*counted : nullptr, words);
    counted += has_count;
  }
  out += table.render(options);
  if (!source.older.empty())
    out += newer_source_text(file.path, source.older, "counts");
  return out;
}

std::string source_to_json(const CoveredSource &source, const StoppedLines &stopped) {
  Json rows = Json::list();
  for (const LineCoverage &line : source.file->lines)
    if (line.line >= source.first && line.line <= source.last)
      rows.push_back({{"line", line.line},
                      {"count", json_of(line.count, line.uncertain)},
                      {"stopped", stopped.contains({source.file->path, line.line})}});
  Json out{{"file", source.file->path}, {"lines", rows}};
  if (!source.older.empty())
    out.add("older", source.older);
  return dumped(out);
}

} // namespace tally
