#include "formats/llvm/source_files.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "formats/llvm/segments.h"
#include "support/checked.h"
#include "support/hash.h"
#include "support/sort.h"

namespace tally::llvm {

namespace {

using Kind = MappingRegion::Kind;

// A source may have this many lines, and more for each of its regions.
constexpr size_t free_lines = size_t{1} << 20, most_lines_of_region = 1000;

int64_t signed_count(uint64_t count) {
  constexpr uint64_t most = std::numeric_limits<int64_t>::max();
  return static_cast<int64_t>(std::min(count, most));
}

Outcomes outcomes_of(const CountedRegion &branch) {
  return {branch.count, branch.false_count, branch.region.count.kind != Counter::Kind::zero,
          branch.region.false_count.kind != Counter::Kind::zero};
}

struct FileRegions {
  std::vector<Stretch> stretches;
  PlacedOutcomes outcomes;
  std::vector<FunctionCoverage> functions;
  bool is_uncertain = false; // some stretch is
  // By the place of the first region. A function has several records if it is a template.
  std::map<SourcePlace, RegionTotals> regions;
};

// Calls put(line, row) for each row, in the order of lines, whose line has a count. Others lie in
// a skipped region. `line_of` returns the line of a row.
template <class Rows, class LineOf, class Put>
void put_on_lines(const Rows &rows, FileCoverage &covered, LineOf line_of, Put put) {
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

void unite_equal_branches(std::vector<BranchesAt> &branches) {
  sort_stably(branches, {}, &BranchesAt::key);
  size_t kept = 0;
  for (BranchesAt &each : branches) {
    if (kept > 0 && branches[kept - 1].key() == each.key())
      branches[kept - 1].outcomes.add(each.outcomes);
    else if (&branches[kept++] != &each)
      branches[kept - 1] = std::move(each);
  }
  branches.resize(kept);
}

void add_branches(std::vector<BranchesAt> branches, FileCoverage &covered) {
  unite_equal_branches(branches);
  put_on_lines(
      branches, covered, [](const BranchesAt &row) { return row.place.line; },
      [&](LineCoverage &line, const BranchesAt &row) {
        const Outcomes &outcomes = row.outcomes;
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

void add_decisions(const std::map<DecisionKey, McdcCoverage> &decisions, FileCoverage &covered) {
  put_on_lines(
      decisions, covered, [](const auto &row) { return std::get<0>(row.first).line; },
      [&](LineCoverage &line, const auto &row) {
        if (line.last_decision == 0)
          line.first_decision = static_cast<uint32_t>(covered.decisions.size());
        covered.decisions.push_back(row.second);
        line.last_decision = static_cast<uint32_t>(covered.decisions.size());
      });
}

// Returns the file that the function is in: the first one that is not expanded in it.
size_t main_file(const std::vector<const CountedRegion *> &expansions) {
  const auto at = std::ranges::find(expansions, nullptr);
  return at == expansions.end() ? 0 : static_cast<size_t>(at - expansions.begin());
}

class CollectFiles {
public:
  explicit CollectFiles(const PathOf &path_of) : path_of_(path_of) {}

  void add(const CountedFunction &function, const Decisions &decisions) {
    std::vector<FileRegions *> files;
    for (const std::string_view name : function.files)
      files.push_back(file(name));
    const std::vector<const CountedRegion *> expansions = function.expansions();
    RegionTotals totals{0, 0, 1, function.count > 0 ? 1U : 0U};
    uint32_t last_line = 0;
    for (const CountedRegion &each : function.regions) {
      const MappingRegion &region = each.region;
      if (region.file == 0)
        last_line = std::max(last_line, region.end.line);
      if (region.kind == Kind::branch)
        add_branch(files, expansions, each);
      else if (region.is_stretch() && files[region.file])
        add_stretch(*files[region.file], each);
      if (region.kind == Kind::code) {
        ++totals.regions;
        totals.regions_executed += each.count > 0;
      }
    }
    add_totals(function, main_file(expansions), files, totals);
    left_out_ += decisions.left_out;
    for (const Decision &each : decisions.decisions)
      if (files[each.file])
        files[each.file]->outcomes.add(each.start, each.end, each.coverage);
    if (!files[0])
      return;
    FunctionCoverage covered;
    covered.name = std::string(function.name);
    const auto first = std::ranges::find_if(
        function.regions, [](const CountedRegion &each) { return each.region.is_stretch(); });
    covered.start_line = first->region.start.line;
    covered.end_line = std::max(last_line, covered.start_line);
    covered.count = signed_count(function.count);
    covered.uncertain = signed_count(function.uncertain);
    files[0]->functions.push_back(std::move(covered));
  }

  Coverage finish(Diagnostics &diagnostics) {
    Coverage out;
    for (auto &[path, file] : files_) {
      const size_t regions = file.stretches.size();
      std::vector<Stretch> uncertain;
      if (file.is_uncertain)
        uncertain = file.stretches;
      auto segments = segments_of(std::move(file.stretches));
      auto covered = file_of_segments(path, std::move(segments), regions, std::move(file.outcomes),
                                      diagnostics);
      if (!covered)
        continue;
      if (!uncertain.empty())
        set_uncertain(std::move(uncertain), covered->lines);
      for (const auto &[place, totals] : file.regions)
        covered->regions += totals;
      add_functions(std::move(file.functions), *covered);
      out.files.push_back(std::move(*covered));
    }
    if (left_out_ > 0)
      diagnostics.add(Severity::warning,
                      fmt::format("MC/DC of {} decision{} is left out: more than 64 conditions, of "
                                  "LLVM 18, or damaged",
                                  left_out_, left_out_ == 1 ? "" : "s"));
    return out;
  }

private:
  static void add_stretch(FileRegions &file, const CountedRegion &each) {
    const MappingRegion &region = each.region;
    const int64_t count = signed_count(each.count);
    file.stretches.push_back({region.start, region.end, region.kind, count,
                              saturated_sum(count, signed_count(each.uncertain))});
    file.is_uncertain |= each.uncertain > 0;
  }

  // Sets how much more often lines may have run: as often as if all their stretches had.
  static void set_uncertain(std::vector<Stretch> stretches, std::vector<LineCoverage> &lines) {
    for (Stretch &stretch : stretches)
      stretch.count = stretch.most;
    const auto segments = segments_of(std::move(stretches));
    if (!segments)
      return;
    const std::vector<LineCoverage> most = lines_of(*segments);
    auto at = most.begin();
    for (LineCoverage &line : lines) {
      at = std::find_if(at, most.end(), [&](const auto &each) { return each.line >= line.line; });
      if (at != most.end() && at->line == line.line)
        line.uncertain =
            at->count == INT64_MAX ? INT64_MAX : std::max(at->count - line.count, int64_t{0});
    }
  }

  // Of the instantiations of a function, the largest numbers count.
  static void add_totals(const CountedFunction &function, size_t main_file,
                         const std::vector<FileRegions *> &files, const RegionTotals &totals) {
    if (!files[main_file])
      return;
    const auto first = std::ranges::find_if(function.regions, [&](const CountedRegion &each) {
      return each.region.file == main_file && each.region.is_stretch();
    });
    if (first == function.regions.end())
      return;
    RegionTotals &all = files[main_file]->regions[first->region.start];
    all.regions = std::max(all.regions, totals.regions);
    all.regions_executed = std::max(all.regions_executed, totals.regions_executed);
    all.instantiations += totals.instantiations;
    all.instantiations_executed += totals.instantiations_executed;
  }

  FileRegions *file(std::string_view name) {
    const auto known = known_.find(name);
    if (known != known_.end())
      return known->second;
    const auto path = path_of_(std::string(name));
    return known_.emplace(name, path ? &files_[*path] : nullptr).first->second;
  }

  // Adds a branch at its own place, and at the place in the function's own file where the outermost
  // of the expansions stands that it is in.
  static void add_branch(const std::vector<FileRegions *> &files,
                         const std::vector<const CountedRegion *> &expansions,
                         const CountedRegion &branch) {
    const MappingRegion &region = branch.region;
    BranchesAt at;
    at.outcomes = outcomes_of(branch);
    if (files[region.file]) {
      at.place = region.start;
      files[region.file]->outcomes.branches.push_back(at);
    }
    uint32_t file = region.file;
    for (size_t steps = 0; expansions[file] && steps < most_nested; ++steps) {
      at.expansions.push_back(expansions[file]->region.start);
      file = expansions[file]->region.file;
    }
    if (file == region.file || !files[file])
      return;
    std::ranges::reverse(at.expansions);
    at.place = at.expansions.front();
    at.expansions.erase(at.expansions.begin());
    files[file]->outcomes.branches.push_back(std::move(at));
  }

  // Functions with the same name and place, of which one is in an anonymous namespace or static,
  // become one.
  static void add_functions(std::vector<FunctionCoverage> functions, FileCoverage &covered) {
    sort_stably(functions, {}, [](const FunctionCoverage &each) {
      return std::pair(each.start_line, std::string_view(each.name));
    });
    for (FunctionCoverage &each : functions) {
      if (!covered.functions.empty() && covered.functions.back().name == each.name &&
          covered.functions.back().start_line == each.start_line) {
        int64_t &count = covered.functions.back().count;
        count = saturated_sum(count, each.count);
        int64_t &uncertain = covered.functions.back().uncertain;
        uncertain = saturated_sum(uncertain, each.uncertain);
        continue;
      }
      covered.functions.push_back(std::move(each));
    }
  }

  const PathOf &path_of_;
  std::map<std::string, FileRegions> files_;
  size_t left_out_ = 0; // decisions
  // By name, which is the objects'; null for files without a path.
  SeededMap<std::string_view, FileRegions *> known_;
};

} // namespace

std::vector<const CountedRegion *> CountedFunction::expansions() const {
  std::vector<const CountedRegion *> out(files.size());
  for (const CountedRegion &each : regions)
    if (each.region.kind == MappingRegion::Kind::expansion)
      out[each.region.expanded] = &each;
  return out;
}

void Outcomes::add(const Outcomes &more) {
  has_true |= more.has_true;
  has_false |= more.has_false;
  if_true = saturated_sum(if_true, more.if_true);
  if_false = saturated_sum(if_false, more.if_false);
}

void PlacedOutcomes::add(SourcePlace start, SourcePlace end, const McdcCoverage &decision) {
  const auto [at, added] = decisions.try_emplace(DecisionKey(start, end, decision.terms), decision);
  if (!added) {
    at->second.covered |= decision.covered;
    at->second.folded &= decision.folded;
  }
}

std::optional<FileCoverage> file_of_segments(const std::string &path,
                                             std::optional<std::vector<SegmentCoverage>> segments,
                                             size_t regions, PlacedOutcomes outcomes,
                                             Diagnostics &diagnostics) {
  const size_t most = free_lines + most_lines_of_region * regions;
  if (!segments || (!segments->empty() && segments->back().line - segments->front().line > most)) {
    diagnostics.add(Severity::warning, "its mapping is not that of a source: left out", path);
    return std::nullopt;
  }
  FileCoverage out;
  out.path = path;
  out.lines = lines_of(*segments);
  if (out.lines.empty())
    return std::nullopt;
  out.segments = std::move(*segments);
  add_branches(std::move(outcomes.branches), out);
  add_decisions(outcomes.decisions, out);
  return out;
}

Coverage coverage_of_functions(const std::function<void(const TakeFunction &)> &each,
                               const PathOf &path_of, Diagnostics &diagnostics) {
  CollectFiles files(path_of);
  each([&](const CountedFunction &function, const Decisions &decisions) {
    files.add(function, decisions);
  });
  return files.finish(diagnostics);
}

} // namespace tally::llvm
