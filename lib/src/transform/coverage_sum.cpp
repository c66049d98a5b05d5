// Adds up coverage, and unites functions of one name.
#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "model/coverage_findings.h"
#include "support/checked.h"
#include "support/demangle.h"
#include "support/hash.h"
#include "transform/coverage_functions.h"
#include "transform/merge.h"

namespace tally {

namespace {

auto key_of(const FunctionCoverage &function) {
  return std::tie(function.start_line, function.name);
}

// Adds one file to another.
class FileSum {
public:
  FileSum(const FileCoverage &a, const FileCoverage &b, MergePolicy policy,
          Diagnostics &diagnostics)
      : a_(a), b_(b), policy_(policy), diagnostics_(diagnostics) {}

  Result<FileCoverage> run() {
    sum_.path = a_.path;
    sum_.lines.reserve(std::max(a_.lines.size(), b_.lines.size()));
    sum_.branches.reserve(std::max(a_.branches.size(), b_.branches.size()));
    TALLY_CHECK(add_lines());
    TALLY_CHECK(add_functions());
    add_regions();
    return std::move(sum_);
  }

private:
  tl::unexpected<Error> overflow(uint32_t line) const { return counts_overflow(a_.path, line); }
  // Reports that the two disagree about the source: as an error if the policy is strict, otherwise
  // as a diagnostic.
  Result<void> differ(Severity severity, std::string message, uint32_t line, std::string_view key) {
    if (policy_ == MergePolicy::strict)
      return fail(ErrorCode::invalid_input, std::move(message), a_.path, Position::at_line(line));
    diagnostics_.add(severity, std::move(message), a_.path, Position::at_line(line), key);
    return {};
  }

  void put(const FileCoverage &from, const LineCoverage &line) {
    begin_line(line);
    const auto branches = from.branches_of(line);
    sum_.branches.insert(sum_.branches.end(), branches.begin(), branches.end());
    const auto conditions = from.conditions_of(line);
    sum_.conditions.insert(sum_.conditions.end(), conditions.begin(), conditions.end());
    const auto decisions = from.decisions_of(line);
    sum_.decisions.insert(sum_.decisions.end(), decisions.begin(), decisions.end());
    end_line();
  }
  void begin_line(const LineCoverage &line) {
    sum_.lines.push_back(line);
    sum_.lines.back().first_branch = static_cast<uint32_t>(sum_.branches.size());
    sum_.lines.back().first_condition = static_cast<uint32_t>(sum_.conditions.size());
    sum_.lines.back().first_decision = static_cast<uint32_t>(sum_.decisions.size());
  }
  void end_line() {
    sum_.lines.back().last_branch = static_cast<uint32_t>(sum_.branches.size());
    sum_.lines.back().last_condition = static_cast<uint32_t>(sum_.conditions.size());
    sum_.lines.back().last_decision = static_cast<uint32_t>(sum_.decisions.size());
  }

  Result<void> add_lines();
  Result<void> add_line(const LineCoverage &left, const LineCoverage &right);
  Result<void> add_functions();
  void add_regions();

  const FileCoverage &a_, &b_;
  const MergePolicy policy_;
  Diagnostics &diagnostics_;
  FileCoverage sum_;
};

Result<void> FileSum::add_lines() {
  auto left = a_.lines.begin(), right = b_.lines.begin();
  while (left != a_.lines.end() && right != b_.lines.end()) {
    if (left->line < right->line)
      put(a_, *left++);
    else if (right->line < left->line)
      put(b_, *right++);
    else
      TALLY_CHECK(add_line(*left++, *right++));
  }
  for (; left != a_.lines.end(); ++left)
    put(a_, *left);
  for (; right != b_.lines.end(); ++right)
    put(b_, *right);
  return {};
}

Result<void> FileSum::add_line(const LineCoverage &left, const LineCoverage &right) {
  begin_line(left);
  const auto branches = a_.branches_of(left), more_branches = b_.branches_of(right);
  const auto conditions = a_.conditions_of(left), more_conditions = b_.conditions_of(right);
  // If one side has no branches at all, it comes from a report that does not record them.
  if (branches.size() != more_branches.size() && !branches.empty() && !more_branches.empty())
    TALLY_CHECK(differ(Severity::note,
                       fmt::format("a line has {} branches in one object and {} in another",
                                   std::min(branches.size(), more_branches.size()),
                                   std::max(branches.size(), more_branches.size())),
                       left.line, "branches differ"));
  LineCoverage &line = sum_.lines.back();
  bool fits = checked_add(line.count, right.count);
  line.uncertain = saturated_sum(line.uncertain, right.uncertain);
  for (size_t i = 0; i < std::max(branches.size(), more_branches.size()); ++i) {
    BranchCoverage branch = i < branches.size() ? branches[i] : more_branches[i];
    if (i < branches.size() && i < more_branches.size()) {
      fits &= checked_add(branch.count, more_branches[i].count);
      branch.fall_through |= more_branches[i].fall_through;
      branch.throws |= more_branches[i].throws;
    }
    sum_.branches.push_back(branch);
  }
  for (size_t i = 0; i < std::max(conditions.size(), more_conditions.size()); ++i) {
    ConditionCoverage condition = i < conditions.size() ? conditions[i] : more_conditions[i];
    if (i < conditions.size() && i < more_conditions.size()) {
      if (condition.terms != more_conditions[i].terms)
        TALLY_CHECK(differ(Severity::note, "a condition has different terms in different objects",
                           left.line, "conditions differ"));
      condition.terms = std::max(condition.terms, more_conditions[i].terms);
      condition.when_true |= more_conditions[i].when_true;
      condition.when_false |= more_conditions[i].when_false;
    }
    sum_.conditions.push_back(condition);
  }
  // Which conditions decided is not known of several runs together, only of each.
  const auto decisions = a_.decisions_of(left), more_decisions = b_.decisions_of(right);
  for (size_t i = 0; i < std::max(decisions.size(), more_decisions.size()); ++i) {
    McdcCoverage decision = i < decisions.size() ? decisions[i] : more_decisions[i];
    if (i < decisions.size() && i < more_decisions.size()) {
      if (decision.terms != more_decisions[i].terms)
        TALLY_CHECK(differ(Severity::note,
                           "a decision has different conditions in different objects", left.line,
                           "decisions differ"));
      decision.terms = std::max(decision.terms, more_decisions[i].terms);
      decision.covered |= more_decisions[i].covered;
      decision.folded &= more_decisions[i].folded;
    }
    sum_.decisions.push_back(decision);
  }
  end_line();
  return fits ? Result<void>() : overflow(left.line);
}

// Which regions ran is only known of each side: of both together, at least so many did.
void FileSum::add_regions() {
  const RegionTotals &left = a_.regions, &right = b_.regions;
  sum_.regions = {std::max(left.regions, right.regions),
                  std::max(left.regions_executed, right.regions_executed),
                  std::max(left.instantiations, right.instantiations),
                  std::max(left.instantiations_executed, right.instantiations_executed)};
  const auto place = [](const SegmentCoverage &each) { return std::pair(each.line, each.column); };
  // Otherwise the sources differ, or one side does not know which parts of its lines ran.
  if (!std::ranges::equal(a_.segments, b_.segments, {}, place, place))
    return;
  sum_.segments = a_.segments;
  for (size_t i = 0; i < sum_.segments.size(); ++i)
    sum_.segments[i].count = saturated_sum(sum_.segments[i].count, b_.segments[i].count);
}

Result<void> FileSum::add_functions() {
  SeededMap<std::string_view, uint32_t> only_left;
  std::vector<const FunctionCoverage *> only_right;
  auto left = a_.functions.begin(), right = b_.functions.begin();
  while (left != a_.functions.end() || right != b_.functions.end()) {
    if (right == b_.functions.end() ||
        (left != a_.functions.end() && key_of(*left) < key_of(*right))) {
      only_left.emplace(left->name, left->start_line);
      sum_.functions.push_back(*left++);
      continue;
    }
    if (left == a_.functions.end() || key_of(*right) < key_of(*left)) {
      only_right.push_back(&*right);
      sum_.functions.push_back(*right++);
      continue;
    }
    sum_.functions.push_back(*left++);
    FunctionCoverage &function = sum_.functions.back();
    function.end_line = std::max(function.end_line, right->end_line);
    function.inexact |= right->inexact;
    function.uncertain = saturated_sum(function.uncertain, right->uncertain);
    if (!checked_add(function.count, right->count))
      return overflow(function.start_line);
    ++right;
  }
  for (const FunctionCoverage *function : only_right) {
    const auto at = only_left.find(function->name);
    if (at == only_left.end())
      continue;
    const auto [first, second] = std::minmax(at->second, function->start_line);
    TALLY_CHECK(differ(Severity::warning,
                       fmt::format("{} begins at line {} in one object and at line {} in another: "
                                   "check that both were compiled from the same source",
                                   function->name, first, second),
                       first, fmt::format("functions differ {}", a_.path)));
  }
  return {};
}

} // namespace

Result<void> add_coverage(FileCoverage &to, const FileCoverage &more, MergePolicy policy,
                          Diagnostics &diagnostics) {
  TALLY_TRY(sum, FileSum(to, more, policy, diagnostics).run());
  to = std::move(sum);
  return {};
}

Result<void> add_coverage(Coverage &to, Coverage more, MergePolicy policy,
                          Diagnostics &diagnostics) {
  CoverageSum sum(policy, diagnostics);
  TALLY_CHECK(sum.add(std::move(to)));
  TALLY_CHECK(sum.add(std::move(more)));
  to = sum.finish();
  return {};
}

namespace {

// Renames functions by `name_of`; functions that then have the same name and line become one.
template <class NameOf> Result<void> rename_functions(Coverage &coverage, NameOf name_of) {
  const auto of_files = [&](std::vector<FileCoverage> &files) -> Result<void> {
    for (FileCoverage &file : files) {
      for (FunctionCoverage &function : file.functions)
        function.name = name_of(function.name);
      TALLY_CHECK(unite_functions(file));
    }
    return {};
  };
  TALLY_CHECK(of_files(coverage.files));
  for (TestCoverage &test : coverage.tests)
    TALLY_CHECK(of_files(test.files));
  return {};
}

} // namespace

Result<void> demangle_names(Coverage &coverage) { return rename_functions(coverage, demangled); }

Result<void> unite_variants(Coverage &coverage) {
  return rename_functions(coverage, base_object_variant);
}

Result<void> unite_functions(FileCoverage &file) {
  auto &functions = file.functions;
  if (!std::ranges::is_sorted(functions, {}, key_of))
    std::ranges::sort(functions, {}, key_of);
  size_t kept = 0;
  for (size_t i = 0; i < functions.size(); ++i) {
    if (kept > 0 && key_of(functions[kept - 1]) == key_of(functions[i])) {
      FunctionCoverage &sum = functions[kept - 1];
      sum.end_line = std::max(sum.end_line, functions[i].end_line);
      sum.inexact |= functions[i].inexact;
      sum.uncertain = saturated_sum(sum.uncertain, functions[i].uncertain);
      if (!checked_add(sum.count, functions[i].count))
        return counts_overflow(file.path, sum.start_line);
      continue;
    }
    if (kept != i)
      functions[kept] = std::move(functions[i]);
    ++kept;
  }
  functions.resize(kept);
  return {};
}

Result<void> CoverageSum::add(Coverage more) {
  // Coverage without tests counts as that of a test with an empty name.
  if (tests_.empty() && !more.tests.empty() && !files_.empty())
    tests_.emplace("", files_);
  if (!tests_.empty() && more.tests.empty() && !more.files.empty())
    more.tests.push_back({"", more.files});
  for (TestCoverage &test : more.tests)
    TALLY_CHECK(add_files(tests_[test.name], std::move(test.files)));
  return add_files(files_, std::move(more.files));
}

Result<void> CoverageSum::add_files(Files &to, std::vector<FileCoverage> more) {
  for (FileCoverage &file : more) {
    const auto [at, added] = to.try_emplace(file.path);
    if (added)
      at->second = std::move(file);
    else
      TALLY_CHECK(add_coverage(at->second, file, policy_, diagnostics_));
  }
  return {};
}

std::vector<FileCoverage> CoverageSum::sorted(Files &&files) {
  std::vector<FileCoverage> out;
  out.reserve(files.size());
  for (auto &[path, file] : files)
    out.push_back(std::move(file));
  return out;
}

Coverage CoverageSum::finish() {
  Coverage out;
  out.files = sorted(std::move(files_));
  for (auto &[name, files] : tests_)
    out.tests.push_back({name, sorted(std::move(files))});
  files_.clear();
  tests_.clear();
  return out;
}

} // namespace tally
