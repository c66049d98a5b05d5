#include <tally/coverage.h>

#include <algorithm>

#include <fmt/format.h>

#include "support/checked.h"

namespace tally {

CoverageTotals &CoverageTotals::operator+=(const CoverageTotals &more) {
  lines += more.lines;
  lines_executed += more.lines_executed;
  functions += more.functions;
  functions_executed += more.functions_executed;
  branches += more.branches;
  branches_taken += more.branches_taken;
  return *this;
}

CoverageTotals totals_of(const FileCoverage &file) {
  CoverageTotals out;
  out.lines = file.lines.size();
  for (const LineCoverage &line : file.lines)
    out.lines_executed += line.count != 0;
  out.functions = file.functions.size();
  for (const FunctionCoverage &function : file.functions)
    out.functions_executed += function.count != 0;
  out.branches = file.branches.size();
  for (const BranchCoverage &branch : file.branches)
    out.branches_taken += branch.count != 0;
  return out;
}

CoverageTotals totals_of(const Coverage &coverage) {
  CoverageTotals out;
  for (const FileCoverage &file : coverage.files)
    out += totals_of(file);
  return out;
}

namespace {

tl::unexpected<Error> overflow(const FileCoverage &file, uint32_t line) {
  return fail(ErrorCode::overflow, "counts add up to more than 64 bits hold", file.path,
              Position::at_line(line));
}

Result<void> add_lines(const FileCoverage &a, const FileCoverage &b, FileCoverage &sum) {
  const auto put_branches = [&](const FileCoverage &from, const LineCoverage &line, size_t skip) {
    const auto branches = from.branches_of(line).subspan(skip);
    sum.branches.insert(sum.branches.end(), branches.begin(), branches.end());
  };
  const auto put = [&](const FileCoverage &from, LineCoverage line) {
    const auto first = static_cast<uint32_t>(sum.branches.size());
    put_branches(from, line, 0);
    line.first_branch = first;
    line.last_branch = static_cast<uint32_t>(sum.branches.size());
    sum.lines.push_back(line);
  };
  auto left = a.lines.begin(), right = b.lines.begin();
  while (left != a.lines.end() || right != b.lines.end()) {
    if (right == b.lines.end() || (left != a.lines.end() && left->line < right->line)) {
      put(a, *left++);
      continue;
    }
    if (left == a.lines.end() || right->line < left->line) {
      put(b, *right++);
      continue;
    }
    put(a, *left);
    LineCoverage &line = sum.lines.back();
    const auto more = b.branches_of(*right);
    const size_t common = std::min<size_t>(more.size(), line.last_branch - line.first_branch);
    bool fits = checked_add(line.count, right->count);
    for (size_t i = 0; i < common; ++i)
      fits &= checked_add(sum.branches[line.first_branch + i].count, more[i].count);
    if (!fits)
      return overflow(a, line.line);
    put_branches(b, *right, common);
    line.last_branch = static_cast<uint32_t>(sum.branches.size());
    ++left;
    ++right;
  }
  return {};
}

Result<void> add_functions(const FileCoverage &a, const FileCoverage &b, FileCoverage &sum) {
  const auto key = [](const FunctionCoverage &f) { return std::tie(f.start_line, f.name); };
  std::ranges::merge(a.functions, b.functions, std::back_inserter(sum.functions), {}, key, key);
  size_t kept = 0;
  for (size_t i = 0; i < sum.functions.size(); ++i) {
    FunctionCoverage &next = sum.functions[i];
    if (kept > 0 && key(sum.functions[kept - 1]) == key(next)) {
      if (!checked_add(sum.functions[kept - 1].count, next.count))
        return overflow(a, next.start_line);
      continue;
    }
    if (kept != i)
      sum.functions[kept] = std::move(next);
    ++kept;
  }
  sum.functions.resize(kept);
  return {};
}

} // namespace

Result<void> add_coverage(FileCoverage &to, const FileCoverage &more) {
  FileCoverage sum;
  sum.path = to.path;
  sum.lines.reserve(to.lines.size() + more.lines.size());
  sum.branches.reserve(to.branches.size() + more.branches.size());
  TALLY_CHECK(add_lines(to, more, sum));
  TALLY_CHECK(add_functions(to, more, sum));
  to = std::move(sum);
  return {};
}

Result<void> add_coverage(Coverage &to, Coverage more) {
  Coverage sum;
  auto left = to.files.begin(), right = more.files.begin();
  while (left != to.files.end() || right != more.files.end()) {
    if (right == more.files.end() || (left != to.files.end() && left->path < right->path)) {
      sum.files.push_back(std::move(*left++));
    } else if (left == to.files.end() || right->path < left->path) {
      sum.files.push_back(std::move(*right++));
    } else {
      TALLY_CHECK(add_coverage(*left, *right++));
      sum.files.push_back(std::move(*left++));
    }
  }
  to = std::move(sum);
  return {};
}

} // namespace tally
