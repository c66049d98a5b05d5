
#include "model/coverage.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "model/coverage_findings.h"
#include "model/function_totals.h"
#include "support/checked.h"
#include "support/demangle.h"
#include "support/sort.h"
#include "support/template_name.h"

namespace tally {

FileCoverage::FileCoverage() = default;
FileCoverage::FileCoverage(const FileCoverage &) = default;
FileCoverage &FileCoverage::operator=(const FileCoverage &) = default;
FileCoverage::FileCoverage(FileCoverage &&) noexcept = default;
FileCoverage &FileCoverage::operator=(FileCoverage &&) noexcept = default;
FileCoverage::~FileCoverage() = default;

CoverageTotals &CoverageTotals::operator+=(const CoverageTotals &more) {
  lines += more.lines;
  lines_executed += more.lines_executed;
  functions += more.functions;
  functions_executed += more.functions_executed;
  branches += more.branches;
  branches_taken += more.branches_taken;
  outcomes += more.outcomes;
  outcomes_covered += more.outcomes_covered;
  mcdc += more.mcdc;
  mcdc_covered += more.mcdc_covered;
  source_based += more.source_based;
  return *this;
}

// Clang puts the file before the linkage name of a local function: "a.cpp:_ZL1fv", from LLVM 18 on
// "a.c;f".
static std::string_view without_file(std::string_view name) {
  const auto is_in_linkage_name = [](char c) {
    return c == '_' || c == '.' || c == '$' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
           (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
  };
  const size_t separator = name.find_last_of(":;");
  if (separator == name.npos || separator == 0 || name[separator - 1] == ':')
    return name;
  const std::string_view rest = name.substr(separator + 1);
  return !rest.empty() && std::ranges::all_of(rest, is_in_linkage_name) ? rest : name;
}

FunctionTotals totals_of(std::vector<FunctionPlace> functions) {
  sort_stably(functions, {}, &FunctionPlace::line);
  FunctionTotals out;
  for (auto begin = functions.begin(); begin != functions.end();) {
    const auto end = begin->line == 0
                         ? begin + 1
                         : std::ranges::find_if(begin, functions.end(), [&](auto &each) {
                             return each.line != begin->line;
                           });
    std::map<std::string, bool> ran; // by the name in the source
    if (end - begin == 1)
      ran.emplace(std::string(), begin->ran);
    else
      for (auto each = begin; each != end; ++each)
        ran[template_name(demangled(without_file(each->name)))] |= each->ran;
    out.found += ran.size();
    for (const auto &[name, has_run] : ran)
      out.executed += has_run ? 1 : 0;
    begin = end;
  }
  return out;
}

CoverageTotals totals_of(const FileCoverage &file) {
  const auto ran = [](const auto &rows) {
    return static_cast<uint64_t>(
        std::ranges::count_if(rows, [](const auto &row) { return row.count != 0; }));
  };
  CoverageTotals out;
  out.lines = file.lines.size();
  out.lines_executed = ran(file.lines);
  std::vector<FunctionPlace> places;
  for (const FunctionCoverage &function : file.functions)
    places.push_back({function.start_line, function.name, function.count != 0});
  const FunctionTotals functions = totals_of(std::move(places));
  out.functions = functions.found;
  out.functions_executed = functions.executed;
  out.branches = file.branches.size();
  out.branches_taken = ran(file.branches);
  for (const ConditionCoverage &condition : file.conditions) {
    out.outcomes += condition.outcomes();
    out.outcomes_covered += condition.covered();
  }
  for (const McdcCoverage &decision : file.decisions) {
    out.mcdc += decision.conditions();
    out.mcdc_covered += decision.conditions_covered();
  }
  out.source_based = file.regions;
  return out;
}

CoverageTotals totals_of(const Coverage &coverage) {
  CoverageTotals out;
  for (const FileCoverage &file : coverage.files)
    out += totals_of(file);
  return out;
}

std::optional<std::string> inexact_functions(
    const Coverage &coverage,
    const std::function<bool(const FileCoverage &, const FunctionCoverage &)> &calls_exec) {
  InexactFunctions found;
  for (const FileCoverage &file : coverage.files)
    for (const FunctionCoverage &function : file.functions)
      if (function.inexact)
        found.add(function.name, file.path, function.start_line,
                  calls_exec && calls_exec(file, function));
  return found.empty() ? std::nullopt : std::optional(found.text());
}

namespace {

// Subtracts counts of which each may be larger by its uncertain rest. They never decrease.
void subtract(int64_t &count, int64_t &uncertain, int64_t before, int64_t uncertain_before) {
  const int64_t most_taken = std::min(count, saturated_sum(before, uncertain_before));
  if (uncertain != INT64_MAX)
    uncertain = std::max<int64_t>(0, saturated_sum(most_taken, uncertain) - before);
  count -= most_taken;
}

} // namespace

Coverage coverage_since(Coverage now, const Coverage &before) {
  for (FileCoverage &file : now.files) {
    const auto old = std::ranges::lower_bound(before.files, file.path, {}, &FileCoverage::path);
    if (old == before.files.end() || old->path != file.path)
      continue;
    for (LineCoverage &line : file.lines) {
      const auto at = std::ranges::lower_bound(old->lines, line.line, {}, &LineCoverage::line);
      if (at == old->lines.end() || at->line != line.line)
        continue;
      subtract(line.count, line.uncertain, at->count, at->uncertain);
      const auto branches =
          std::span(file.branches).subspan(line.first_branch, line.last_branch - line.first_branch);
      const auto old_branches = old->branches_of(*at);
      for (size_t i = 0; i < std::min(branches.size(), old_branches.size()); ++i)
        // Where the line may have run more often before, so may the branch.
        branches[i].count -=
            std::min(branches[i].count, saturated_sum(old_branches[i].count, at->uncertain));
      const auto conditions =
          std::span(file.conditions)
              .subspan(line.first_condition, line.last_condition - line.first_condition);
      const auto old_conditions = old->conditions_of(*at);
      for (size_t i = 0; i < std::min(conditions.size(), old_conditions.size()); ++i) {
        const uint64_t may_be_old = at->uncertain != 0 ? ~uint64_t{0} : 0;
        conditions[i].when_true &= ~(old_conditions[i].when_true | may_be_old);
        conditions[i].when_false &= ~(old_conditions[i].when_false | may_be_old);
      }
    }
    for (FunctionCoverage &function : file.functions)
      for (const FunctionCoverage &each : old->functions)
        if (each.start_line == function.start_line && each.name == function.name)
          subtract(function.count, function.uncertain, each.count, each.uncertain);
  }
  now.tests.clear();
  return now;
}

} // namespace tally
