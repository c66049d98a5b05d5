
#include "coverage/coverage_of.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "coverage/source_function.h"
#include "model/coverage_findings.h"
#include "support/checked.h"
#include "support/hash.h"
#include "support/sort.h"
#include "transform/coverage_functions.h"
#include "transform/merge.h"

namespace tally {

namespace {

// Converts the lines of one file. A line of a function with several instances occurs once for each
// instance; add_line() combines these rows.
class OfFile {
public:
  OfFile(const CoverageGraph &graph, const GcovCounts &counts, const CoverageOptions &options,
         std::string path)
      : graph_(graph), counts_(counts), options_(options) {
    out_.path = std::move(path);
  }

  Result<FileCoverage> run(const GcovFile &file) {
    std::vector<const GcovLine *> rows;
    rows.reserve(file.lines.size());
    for (const GcovLine &line : file.lines)
      rows.push_back(&line);
    sort_stably(rows, {}, &GcovLine::line);
    for (size_t i = 0; i < rows.size();) {
      const size_t first = i;
      while (i < rows.size() && rows[i]->line == rows[first]->line)
        ++i;
      TALLY_CHECK(add_line(std::span(rows).subspan(first, i - first)));
    }
    TALLY_CHECK(add_functions(file));
    return std::move(out_);
  }

private:
  tl::unexpected<Error> overflow(uint32_t line) const { return counts_overflow(out_.path, line); }

  // The branches and conditions that one function of the source has on a line.
  struct OfFunction {
    std::vector<BranchCoverage> branches{};
    std::vector<ConditionCoverage> conditions{};
  };

  // Adds a line. Instances of a template have the same branches, which add up by their index.
  // Different functions on one line have separate branches.
  Result<void> add_line(std::span<const GcovLine *const> rows) {
    LineCoverage line;
    line.line = rows.front()->line;
    line.first_branch = static_cast<uint32_t>(out_.branches.size());
    line.first_condition = static_cast<uint32_t>(out_.conditions.size());
    bool fits = true;
    for (const GcovLine *row : rows) {
      fits &= checked_add(line.count, std::max(times_run(row->count), row->at_least));
      line.uncertain = saturated_sum(line.uncertain, row->uncertain);
    }
    if (rows.size() == 1) {
      fits &= add_branches(*rows.front(), out_.branches, line.first_branch);
      add_conditions(*rows.front(), out_.conditions, line.first_condition);
    } else {
      fits &= add_functions_of_line(rows);
    }
    line.last_branch = static_cast<uint32_t>(out_.branches.size());
    line.last_condition = static_cast<uint32_t>(out_.conditions.size());
    out_.lines.push_back(line);
    return fits ? Result<void>() : overflow(line.line);
  }

  bool add_functions_of_line(std::span<const GcovLine *const> rows) {
    bool fits = true;
    // The key is the start column and the source function, so that the order of the branches does
    // not depend on the order of the rows.
    std::map<std::pair<uint32_t, std::string_view>, OfFunction> of_functions;
    for (const GcovLine *row : rows) {
      const bool known = row->function != none<GraphFunctionId>;
      const uint32_t column = known ? graph_.functions[row->function].start_column : 0;
      OfFunction &sums =
          of_functions[{column, known ? source_function_of(row->function) : std::string_view()}];
      fits &= add_branches(*row, sums.branches, 0);
      add_conditions(*row, sums.conditions, 0);
    }
    for (const auto &[key, sums] : of_functions) {
      out_.branches.insert(out_.branches.end(), sums.branches.begin(), sums.branches.end());
      out_.conditions.insert(out_.conditions.end(), sums.conditions.begin(), sums.conditions.end());
    }
    return fits;
  }

  // Adds the row's branches to `sums`, from index `index` on.
  bool add_branches(const GcovLine &row, std::vector<BranchCoverage> &sums, size_t index) const {
    bool fits = true;
    for (uint32_t i = row.first_branch; i < row.last_branch; ++i) {
      const GcovBranch &branch = counts_.branches[i];
      if (branch.throws && !options_.throw_branches)
        continue;
      if (index == sums.size())
        sums.emplace_back();
      BranchCoverage &sum = sums[index++];
      fits &= checked_add(sum.count, times_run(branch.count));
      sum.fall_through |= branch.fall_through;
      sum.throws |= branch.throws;
    }
    return fits;
  }

  void add_conditions(const GcovLine &row, std::vector<ConditionCoverage> &sums,
                      size_t index) const {
    const GcovDetails &details = counts_.details[row.details];
    for (uint32_t i = details.first_condition; i < details.last_condition; ++i) {
      const ConditionCoverage &condition = counts_.conditions[i];
      if (index == sums.size())
        sums.emplace_back();
      ConditionCoverage &sum = sums[index++];
      sum.terms = std::max(sum.terms, condition.terms);
      sum.when_true |= condition.when_true;
      sum.when_false |= condition.when_false;
    }
  }

  std::string_view source_function_of(GraphFunctionId id) {
    const auto [known, is_new] = source_functions_.try_emplace(id);
    if (is_new)
      known->second = source_function(graph_.strings[graph_.functions[id].name]);
    return known->second;
  }

  Result<void> add_functions(const GcovFile &file) {
    auto &functions = out_.functions;
    functions.reserve(file.functions.size());
    for (const GcovFunction &row : file.functions) {
      const GraphFunction &function = graph_.functions[row.id];
      // If the counts contradict each other, the count of the entry may be 0 although the function
      // ran.
      const int64_t at_least = row.inexact && row.blocks_executed > 0 ? 1 : 0;
      functions.push_back({std::string(graph_.strings[function.name]), function.start_line,
                           function.end_line, std::max(times_run(row.execution_count), at_least),
                           row.inexact, row.uncertain});
    }
    // Several sources that are compiled as one may have local functions with the same name.
    return unite_functions(out_);
  }

  const CoverageGraph &graph_;
  const GcovCounts &counts_;
  const CoverageOptions &options_;
  FileCoverage out_;
  SeededMap<GraphFunctionId, std::string> source_functions_;
};

} // namespace

std::string absolute_path(std::string_view path, std::string_view folder) {
  return (std::filesystem::path(folder) / std::filesystem::path(path)).lexically_normal().string();
}

Result<Coverage> coverage_of(const CoverageGraph &graph, const GcovCounts &counts,
                             Diagnostics &diagnostics, const CoverageOptions &options) {
  Coverage out;
  const std::string_view folder = graph.strings[graph.working_directory];
  for (const GcovFile &file : counts.files) {
    if (file.lines.empty())
      continue;
    auto path = options.path_of ? options.path_of(file.name, folder)
                                : std::optional(absolute_path(file.name, folder));
    if (!path)
      continue;
    TALLY_TRY(covered, OfFile(graph, counts, options, std::move(*path)).run(file));
    out.files.push_back(std::move(covered));
  }
  TALLY_CHECK(unite_variants(out));
  // The graph may have two names for one file, which CoverageSum unites.
  CoverageSum sum(options.policy, diagnostics);
  TALLY_CHECK(sum.add(std::move(out)));
  return sum.finish();
}

} // namespace tally
