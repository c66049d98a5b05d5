#include "formats/lcov/records.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "support/checked.h"
#include "support/memory_limit.h"
#include "support/sort.h"

namespace tally::lcov {

namespace {

// Sorts the rows, and combines equal rows by `unite(kept, more)`, which returns false on overflow.
// Returns the row for which `unite` failed, or null.
template <class Row, class Less, class Unite>
const Row *unite_rows(std::vector<Row> &rows, Less less, Unite unite) {
  if (!std::ranges::is_sorted(rows, less)) // nearly all files are sorted
    sort_stably(rows, less);
  size_t kept = 0;
  for (size_t i = 1; i < rows.size(); ++i) {
    if (less(rows[kept], rows[i]))
      rows[++kept] = rows[i];
    else if (!unite(rows[kept], rows[i]))
      return &rows[i];
  }
  rows.resize(std::min(rows.size(), kept + 1));
  return nullptr;
}

tl::unexpected<Error> overflow(const Findings &findings, uint32_t line) {
  return fail(ErrorCode::overflow,
              fmt::format("the sum of the counts of line {} exceeds 64 bits", line),
              findings.source, Position::at_line(findings.line));
}

// Orders branches by line, block and branch. Branches with a text follow the numbered ones, in the
// order of the texts; lcov defines no order for them.
bool branch_less(const BranchRow &a, const BranchRow &b, const StringPool &strings) {
  const auto key = [](const BranchRow &row) {
    return std::tuple(row.line, row.block, row.has_text);
  };
  if (key(a) != key(b))
    return key(a) < key(b);
  if (!a.has_text || a.branch == b.branch)
    return a.branch < b.branch;
  const auto text = [&](const BranchRow &row) {
    return strings[static_cast<StringId>(static_cast<uint32_t>(row.branch))];
  };
  return text(a) < text(b);
}

// Gives `kept` the start and end line of the definition with the smaller start line.
void unite_lines(FunctionRow &kept, const FunctionRow &more, const StringPool &strings,
                 const Findings &findings) {
  if (more.start_line == 0)
    return;
  if (kept.start_line == more.start_line) {
    kept.end_line = std::max(kept.end_line, more.end_line);
    return;
  }
  if (kept.start_line != 0)
    findings.diagnostics.add(
        Severity::warning,
        fmt::format("{} begins in line {} and in line {}: it is treated as one function, because "
                    "lcov identifies functions by name",
                    strings[more.name], std::min(kept.start_line, more.start_line),
                    std::max(kept.start_line, more.start_line)),
        findings.source, Position::at_line(more.at), "functions of one name");
  if (kept.start_line == 0 || more.start_line < kept.start_line) {
    kept.start_line = more.start_line;
    kept.end_line = more.end_line;
  }
}

bool condition_less(const ConditionRow &a, const ConditionRow &b) {
  return std::tie(a.line, a.terms) < std::tie(b.line, b.terms);
}

template <class Row> std::span<const Row> rows_of(const std::vector<Row> &rows, uint32_t line) {
  return std::span(std::ranges::lower_bound(rows, line, {}, &Row::line),
                   std::ranges::upper_bound(rows, line, {}, &Row::line));
}

// Returns the number of rows that align_rows() makes.
template <class Row>
size_t aligned_size(const std::vector<Row> &rows, const std::vector<Row> &known) {
  size_t size = 0;
  for (size_t i = 0; i < rows.size(); ++i)
    if (i == 0 || rows[i - 1].line != rows[i].line)
      size += rows_of(known, rows[i].line).size();
  return size;
}

// Completes the rows: each line that has any row gets all known rows of that line.
template <class Row, class Less>
void align_rows(std::vector<Row> &rows, const std::vector<Row> &known, Less less) {
  std::vector<Row> out;
  out.reserve(rows.size());
  for (auto row = rows.begin(); row != rows.end();) {
    const uint32_t line = row->line;
    for (const Row &each : rows_of(known, line)) {
      const bool has = row != rows.end() && row->line == line && !less(each, *row);
      out.push_back(has ? *row++ : each);
    }
  }
  rows = std::move(out);
}

// Returns the rows of all tests without duplicates. Each row is replaced by `blank(row)`.
template <class Row, class Less, class Blank>
std::vector<Row> known_rows(std::span<Records *const> tests, std::vector<Row> Records::*rows,
                            Less less, Blank blank) {
  std::vector<Row> known;
  for (const Records *test : tests)
    for (const Row &row : test->*rows)
      known.push_back(blank(row));
  unite_rows(known, less, [](const Row &, const Row &) { return true; });
  return known;
}

} // namespace

void align(std::span<Records *const> tests, std::string_view path, const StringPool &strings,
           const Findings &findings) {
  const auto less = [&](const BranchRow &a, const BranchRow &b) {
    return branch_less(a, b, strings);
  };
  const auto branches = known_rows(tests, &Records::branches, less, [](BranchRow row) {
    row.fall_through = row.throws = false;
    row.count = 0;
    return row;
  });
  const auto conditions =
      known_rows(tests, &Records::conditions, condition_less, [](const ConditionRow &row) {
        return ConditionRow{row.line, row.terms, 0, 0};
      });
  size_t before = 0, after = 0;
  for (const Records *test : tests) {
    before += test->branches.size() + test->conditions.size();
    after += aligned_size(test->branches, branches) + aligned_size(test->conditions, conditions);
  }
  // If each of many tests had a different branch, the number of rows would be the square of the
  // number of tests.
  constexpr size_t most_growth = 16, few = 100'000;
  if (after > before * most_growth + few) {
    findings.diagnostics.add(Severity::warning,
                             "tests have almost no branches of a line in common: branches are "
                             "added up by their index in the line",
                             std::string(path), {}, "branches of tests");
    return;
  }
  if (after == before)
    return;
  for (Records *test : tests) {
    align_rows(test->branches, branches, less);
    align_rows(test->conditions, conditions, condition_less);
  }
}

void Records::clear() {
  lines.clear();
  functions.clear();
  branches.clear();
  conditions.clear();
  added_up_ = 0;
}

size_t Records::size() const {
  return lines.size() + functions.size() + branches.size() + conditions.size();
}

Result<void> Records::add_up(const StringPool &strings, const Findings &findings) {
  if (const LineRow *row = unite_rows(
          lines, [](const LineRow &a, const LineRow &b) { return a.line < b.line; },
          [](LineRow &kept, const LineRow &more) { return checked_add(kept.count, more.count); }))
    return overflow(findings, row->line);
  if (const BranchRow *row = unite_rows(
          branches,
          [&](const BranchRow &a, const BranchRow &b) { return branch_less(a, b, strings); },
          [](BranchRow &kept, const BranchRow &more) {
            kept.fall_through |= more.fall_through;
            kept.throws |= more.throws;
            return checked_add(kept.count, more.count);
          }))
    return overflow(findings, row->line);
  if (const FunctionRow *row = unite_rows(
          functions, [](const FunctionRow &a, const FunctionRow &b) { return a.name < b.name; },
          [&](FunctionRow &kept, const FunctionRow &more) {
            unite_lines(kept, more, strings, findings);
            kept.has_record |= more.has_record;
            return checked_add(kept.count, more.count);
          }))
    return overflow(findings, row->start_line);
  unite_rows(conditions, condition_less, [](ConditionRow &kept, const ConditionRow &more) {
    kept.when_true |= more.when_true;
    kept.when_false |= more.when_false;
    return true;
  });
  added_up_ = size();
  return {};
}

Result<void> Records::append(const Records &more, const StringPool &strings,
                             const Findings &findings) {
  const auto put = [](auto &to, const auto &from) {
    to.insert(to.end(), from.begin(), from.end());
  };
  put(lines, more.lines);
  put(functions, more.functions);
  put(branches, more.branches);
  put(conditions, more.conditions);
  constexpr size_t few = 64;
  return size() > 2 * added_up_ + few ? add_up(strings, findings) : Result<void>();
}

FileCoverage coverage_of(const Records &records, std::string_view path, const StringPool &strings,
                         const Findings &findings) {
  FileCoverage file;
  file.path = path;
  file.lines.reserve(records.lines.size());
  file.branches.reserve(records.branches.size());
  uint64_t without = 0; // number of lines without DA
  uint32_t first_without = 0;
  auto line = records.lines.begin();
  auto branch = records.branches.begin();
  auto condition = records.conditions.begin();
  while (true) {
    uint64_t number = UINT64_MAX;
    if (line != records.lines.end())
      number = line->line;
    if (branch != records.branches.end())
      number = std::min<uint64_t>(number, branch->line);
    if (condition != records.conditions.end())
      number = std::min<uint64_t>(number, condition->line);
    if (number == UINT64_MAX)
      break;
    LineCoverage out;
    out.line = static_cast<uint32_t>(number);
    out.first_branch = static_cast<uint32_t>(file.branches.size());
    out.first_condition = static_cast<uint32_t>(file.conditions.size());
    int64_t most = 0;
    for (; branch != records.branches.end() && branch->line == number; ++branch) {
      file.branches.push_back({branch->count, branch->fall_through, branch->throws});
      most = std::max(most, branch->count);
    }
    for (; condition != records.conditions.end() && condition->line == number; ++condition)
      file.conditions.push_back({condition->terms, condition->when_true, condition->when_false});
    out.last_branch = static_cast<uint32_t>(file.branches.size());
    out.last_condition = static_cast<uint32_t>(file.conditions.size());
    if (line != records.lines.end() && line->line == number) {
      out.count = line++->count;
    } else {
      // Tools for JavaScript report statements and branches separately. The line ran at least as
      // often as its most frequent branch.
      out.count = most;
      first_without = without++ == 0 ? out.line : first_without;
    }
    MemoryLimit::tick();
    file.lines.push_back(out);
  }
  if (without > 0)
    findings.diagnostics.add(
        Severity::warning,
        fmt::format("{} lines have branches or conditions, but no DA: they are counted as lines",
                    without),
        file.path, Position::at_line(first_without), "lines without DA");
  for (const FunctionRow &row : records.functions)
    if (row.start_line != 0)
      file.functions.push_back(
          {std::string(strings[row.name]), row.start_line, row.end_line, row.count});
  sort_stably(file.functions, {},
              [](const FunctionCoverage &f) { return std::tie(f.start_line, f.name); });
  return file;
}

} // namespace tally::lcov
