#include "coverage/llvm_coverage.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "coverage/llvm_mcdc.h"
#include "coverage/llvm_segments.h"
#include "support/checked.h"

namespace tally::llvm {

namespace {

using Kind = MappingRegion::Kind;

// A source may have this many lines, and more for each of its regions.
constexpr size_t most_lines = size_t{1} << 20, most_lines_of_region = 1000;
constexpr size_t most_nested = 256; // expansions, one within the other

int64_t signed_count(uint64_t count) {
  constexpr uint64_t most = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min(count, most));
}

// The outcomes of the branches at one place.
struct Outcomes {
  uint64_t if_true = 0, if_false = 0;
  // An outcome with a constant count of 0 cannot happen.
  bool has_true = false, has_false = false;

  void add(const CountedRegion &branch) {
    has_true |= branch.region.count.kind != Counter::Kind::zero;
    has_false |= branch.region.false_count.kind != Counter::Kind::zero;
    if_true = saturated_sum(if_true, branch.count);
    if_false = saturated_sum(if_false, branch.false_count);
  }
};

// Where a branch is: the places of the expansions around it, outermost first, or its own place.
using BranchPath = std::vector<SourcePlace>;

// The place of a decision and the number of its conditions, which may differ where a macro stands.
using DecisionKey = std::tuple<SourcePlace, SourcePlace, uint32_t>;

struct FileRegions {
  std::vector<CountedRegion> regions;
  std::map<BranchPath, Outcomes> branches;
  std::map<DecisionKey, McdcCoverage> decisions;
  std::vector<FunctionCoverage> functions;
};

class CollectFiles {
public:
  explicit CollectFiles(
      const std::function<std::optional<std::string>(const std::string &)> &path_of)
      : path_of_(path_of) {}

  void add(const CountedFunction &function) {
    std::vector<FileRegions *> files;
    for (const std::string_view name : function.files)
      files.push_back(file(std::string(name)));
    const std::vector<const CountedRegion *> expansions = function.expansions();
    uint32_t last_line = 0;
    for (const CountedRegion &each : function.regions) {
      const MappingRegion &region = each.region;
      if (region.file == 0)
        last_line = std::max(last_line, region.end.line);
      if (region.kind == Kind::branch)
        add_branch(files, expansions, each);
      else if (region.is_stretch() && files[region.file])
        files[region.file]->regions.push_back(each);
    }
    const Decisions decisions = decisions_of(function);
    left_out_ += decisions.left_out;
    for (const Decision &each : decisions.decisions)
      add_decision(files[each.region->region.file], each);
    if (!files[0])
      return;
    FunctionCoverage covered;
    covered.name = function.name;
    const auto first = std::ranges::find_if(
        function.regions, [](const CountedRegion &each) { return each.region.is_stretch(); });
    covered.start_line = first->region.start.line;
    covered.end_line = std::max(last_line, covered.start_line);
    covered.count = signed_count(function.count);
    files[0]->functions.push_back(std::move(covered));
  }

  Coverage finish(Diagnostics &diagnostics) {
    Coverage out;
    for (auto &[path, file] : files_) {
      FileCoverage covered;
      covered.path = path;
      const size_t most = most_lines + most_lines_of_region * file.regions.size();
      const auto segments = segments_of(std::move(file.regions));
      if (!segments || (!segments->empty() &&
                        segments->back().start.line - segments->front().start.line > most)) {
        diagnostics.add(Severity::warning, "its mapping is not that of a source: left out", path);
        continue;
      }
      covered.lines = lines_of(*segments);
      add_branches(file.branches, covered);
      add_decisions(file.decisions, covered);
      add_functions(std::move(file.functions), covered);
      if (!covered.lines.empty())
        out.files.push_back(std::move(covered));
    }
    if (left_out_ > 0)
      diagnostics.add(Severity::warning,
                      fmt::format("MC/DC of {} decision{} is left out: more than 64 conditions, of "
                                  "LLVM 18, or damaged",
                                  left_out_, left_out_ == 1 ? "" : "s"));
    return out;
  }

private:
  // A condition of a template or of a macro's body counts as covered if it is so in one of them.
  static void add_decision(FileRegions *file, const Decision &decision) {
    if (!file)
      return;
    const MappingRegion &region = decision.region->region;
    const auto [at, added] = file->decisions.try_emplace(
        DecisionKey(region.start, region.end, decision.coverage.terms), decision.coverage);
    if (!added) {
      at->second.covered |= decision.coverage.covered;
      at->second.folded &= decision.coverage.folded;
    }
  }

  // Calls put(line, row) for each row, in the order of lines, whose line has a count. Others lie in
  // a skipped region. `line_of` returns the line of a row.
  template <class Rows, class LineOf, class Put>
  static void put_on_lines(const Rows &rows, FileCoverage &covered, LineOf line_of, Put put) {
    auto line = covered.lines.begin();
    for (const auto &row : rows) {
      while (line != covered.lines.end() && line->line < line_of(row))
        ++line;
      if (line == covered.lines.end())
        return;
      if (line->line == line_of(row))
        put(*line, row);
    }
  }

  static void add_decisions(const std::map<DecisionKey, McdcCoverage> &decisions,
                            FileCoverage &covered) {
    put_on_lines(
        decisions, covered, [](const auto &row) { return std::get<0>(row.first).line; },
        [&](LineCoverage &line, const auto &row) {
          if (line.last_decision == 0)
            line.first_decision = static_cast<uint32_t>(covered.decisions.size());
          covered.decisions.push_back(row.second);
          line.last_decision = static_cast<uint32_t>(covered.decisions.size());
        });
  }

  FileRegions *file(const std::string &name) {
    const auto [at, added] = known_.try_emplace(name, nullptr);
    if (added)
      if (auto path = path_of_(name))
        at->second = &files_[*path];
    return at->second;
  }

  // Adds a branch at its own place, and at the place in the function's own file where the outermost
  // of the expansions stands that it is in.
  static void add_branch(const std::vector<FileRegions *> &files,
                         const std::vector<const CountedRegion *> &expansions,
                         const CountedRegion &branch) {
    const MappingRegion &region = branch.region;
    if (files[region.file])
      files[region.file]->branches[{region.start}].add(branch);
    BranchPath path;
    uint32_t at = region.file;
    for (size_t steps = 0; expansions[at] && steps < most_nested; ++steps) {
      path.push_back(expansions[at]->region.start);
      at = expansions[at]->region.file;
    }
    if (at == region.file || !files[at])
      return;
    std::ranges::reverse(path);
    files[at]->branches[std::move(path)].add(branch);
  }

  static void add_branches(const std::map<BranchPath, Outcomes> &branches, FileCoverage &covered) {
    put_on_lines(
        branches, covered, [](const auto &row) { return row.first.front().line; },
        [&](LineCoverage &line, const auto &row) {
          const Outcomes &outcomes = row.second;
          if (line.last_branch == 0)
            line.first_branch = static_cast<uint32_t>(covered.branches.size());
          if (outcomes.has_true)
            covered.branches.push_back({signed_count(outcomes.if_true), false, false});
          if (outcomes.has_false)
            covered.branches.push_back({signed_count(outcomes.if_false), false, false});
          line.last_branch = static_cast<uint32_t>(covered.branches.size());
          if (line.last_branch == line.first_branch)
            line.first_branch = line.last_branch = 0;
        });
  }

  // Functions with the same name and place, of which one is in an anonymous namespace or static,
  // become one.
  static void add_functions(std::vector<FunctionCoverage> functions, FileCoverage &covered) {
    std::ranges::stable_sort(functions, {}, [](const FunctionCoverage &each) {
      return std::pair(each.start_line, std::string_view(each.name));
    });
    for (FunctionCoverage &each : functions) {
      if (!covered.functions.empty() && covered.functions.back().name == each.name &&
          covered.functions.back().start_line == each.start_line) {
        int64_t &count = covered.functions.back().count;
        count = saturated_sum(count, each.count);
        continue;
      }
      covered.functions.push_back(std::move(each));
    }
  }

  const std::function<std::optional<std::string>(const std::string &)> &path_of_;
  std::map<std::string, FileRegions> files_;
  size_t left_out_ = 0;                        // decisions
  std::map<std::string, FileRegions *> known_; // by name; null for files without a path
};

} // namespace

Coverage coverage_of(std::span<const CountedFunction> functions,
                     const std::function<std::optional<std::string>(const std::string &)> &path_of,
                     Diagnostics &diagnostics) {
  CollectFiles files(path_of);
  for (const CountedFunction &function : functions)
    files.add(function);
  return files.finish(diagnostics);
}

} // namespace tally::llvm
