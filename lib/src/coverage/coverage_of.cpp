#include <tally/coverage_of.h>

#include <algorithm>
#include <filesystem>

#include "model/coverage_findings.h"
#include "model/coverage_functions.h"
#include "support/checked.h"

namespace tally {

namespace {

// The file's lines, of which those of instances stand several times, one after another.
class OfFile {
public:
  OfFile(const CoverageGraph &graph, const GcovCounts &counts, const CoverageOptions &options,
         Diagnostics &diagnostics, std::string path)
      : graph_(graph), counts_(counts), options_(options), diagnostics_(diagnostics) {
    out_.path = std::move(path);
  }

  Result<FileCoverage> run(const GcovFile &file) {
    std::vector<const GcovLine *> rows;
    rows.reserve(file.lines.size());
    for (const GcovLine &line : file.lines)
      rows.push_back(&line);
    std::ranges::stable_sort(rows, {}, &GcovLine::line);
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

  // A count below 0 would take away from those of other objects.
  int64_t count_of(int64_t count, uint32_t line) {
    if (count < 0)
      diagnostics_.add(Severity::warning,
                       "a negative count is taken for 0: was longjmp() called, or were threads "
                       "counted without -fprofile-update=atomic?",
                       out_.path, Position::at_line(line), "negative");
    return std::max<int64_t>(count, 0);
  }

  Result<void> add_line(std::span<const GcovLine *const> instances) {
    LineCoverage line;
    line.line = instances.front()->line;
    line.first_branch = static_cast<uint32_t>(out_.branches.size());
    line.first_condition = static_cast<uint32_t>(out_.conditions.size());
    bool fits = true;
    for (const GcovLine *instance : instances) {
      fits &= checked_add(
          line.count,
          count_of(instance->count == 0 ? instance->at_least : instance->count, line.line));
      uint32_t place = line.first_branch;
      for (uint32_t i = instance->first_branch; i < instance->last_branch; ++i) {
        const GcovBranch &branch = counts_.branches[i];
        if (branch.throws && !options_.throw_branches)
          continue;
        if (place == out_.branches.size())
          out_.branches.emplace_back();
        BranchCoverage &sum = out_.branches[place++];
        fits &= checked_add(sum.count, count_of(branch.count, line.line));
        sum.fall_through |= branch.fall_through;
        sum.throws |= branch.throws;
      }
      const GcovDetails &details = counts_.details[instance->details];
      place = line.first_condition;
      for (uint32_t i = details.first_condition; i < details.last_condition; ++i) {
        const ConditionCoverage &condition = counts_.conditions[i];
        if (place == out_.conditions.size())
          out_.conditions.emplace_back();
        ConditionCoverage &sum = out_.conditions[place++];
        sum.terms = std::max(sum.terms, condition.terms);
        sum.when_true |= condition.when_true;
        sum.when_false |= condition.when_false;
      }
    }
    line.last_branch = static_cast<uint32_t>(out_.branches.size());
    line.last_condition = static_cast<uint32_t>(out_.conditions.size());
    out_.lines.push_back(line);
    return fits ? Result<void>() : overflow(line.line);
  }

  Result<void> add_functions(const GcovFile &file) {
    auto &functions = out_.functions;
    functions.reserve(file.functions.size());
    for (const GcovFunction &row : file.functions) {
      const GraphFunction &function = graph_.functions[row.id];
      functions.push_back({std::string(graph_.strings[function.name]), function.start_line,
                           function.end_line, count_of(row.execution_count, function.start_line)});
    }
    // Of one name: local functions of several sources that are compiled as one.
    return unite_functions(out_);
  }

  const CoverageGraph &graph_;
  const GcovCounts &counts_;
  const CoverageOptions &options_;
  Diagnostics &diagnostics_;
  FileCoverage out_;
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
    TALLY_TRY(covered, OfFile(graph, counts, options, diagnostics, std::move(*path)).run(file));
    out.files.push_back(std::move(covered));
  }
  // One file may be named in two ways.
  CoverageSum sum(options.policy, diagnostics);
  TALLY_CHECK(sum.add(std::move(out)));
  return sum.finish();
}

} // namespace tally
