#include "coverage/gcov3_counts.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "coverage/flow_solver.h"
#include "model/coverage_findings.h"
#include "support/checked.h"
#include "support/hash.h"
#include "support/sort.h"

namespace tally {

namespace {

class Counter {
public:
  Counter(const CoverageGraph &graph, Diagnostics &diagnostics, const std::string &source)
      : graph_(graph), diagnostics_(diagnostics), source_(source) {}

  Result<void> add(const GraphFunction &function, std::span<const int64_t> counters) {
    const FlowCounts &flow = solver_.solve(graph_, function, counters);
    if (flow.overflow)
      return too_large(function);
    if (flow.unsolved)
      add_finding(fmt::format("function {}: the counts of {} arcs cannot be determined",
                              name(function), flow.unsolved),
                  "unsolved");
    Gcov3Function &out = out_.functions.emplace_back();
    out.count = flow.blocks.front();
    out.inexact = flow.negative;
    TALLY_CHECK(add_lines(function, flow, out));
    if (flow.negative)
      inexact_.add(name(function),
                   out.source == Gcov3Function::no_source
                       ? std::string_view("?")
                       : graph_.strings[out_.sources[out.source].name],
                   out.first_line);
    return add_branches(function, flow, out);
  }

  Gcov3Counts finish(bool report_negative) {
    if (report_negative && !inexact_.empty())
      add_finding(inexact_.text(), "negative");
    for (uint32_t i = 0; i < out_.sources.size(); ++i)
      finish(out_.sources[i], branches_[i]);
    return std::move(out_);
  }

private:
  struct Branch {
    uint32_t line = 0; // index in Gcov3Source::lines
    Gcov3Branch branch;
  };
  struct SourceLine {
    uint32_t source = 0, line = 0;
  };

  std::string_view name(const GraphFunction &function) const {
    return graph_.strings[function.name];
  }
  void add_finding(std::string message, std::string_view key) {
    diagnostics_.add(Severity::error, std::move(message), source_, {}, key);
  }
  tl::unexpected<Error> too_large(const GraphFunction &function) const {
    return fail(ErrorCode::overflow,
                fmt::format("the sum of the counts in function {} exceeds 64 bits", name(function)),
                source_);
  }

  SourceLine line_of(StringId file, uint32_t number) {
    const auto [source, is_new] =
        sources_.try_emplace(index_of(file), static_cast<uint32_t>(out_.sources.size()));
    if (is_new) {
      out_.sources.push_back({file, {}, {}, {}});
      branches_.emplace_back();
    }
    std::vector<Gcov3Line> &lines = out_.sources[source->second].lines;
    const auto [line, added] = lines_.try_emplace(uint64_t{source->second} << 32 | number,
                                                  static_cast<uint32_t>(lines.size()));
    if (added)
      lines.push_back({number, 0, false, 0, 0});
    return {source->second, line->second};
  }

  Result<void> add_lines(const GraphFunction &function, const FlowCounts &flow,
                         Gcov3Function &out) {
    own_.clear();
    for (const GraphLocation &location : graph_.locations_of(function))
      for (const uint32_t number : graph_.lines_of(location)) {
        const SourceLine at = line_of(location.file, number);
        const int64_t count = flow.blocks[location.block];
        Gcov3Line &line = out_.sources[at.source].lines[at.line];
        if (!checked_add(line.count, count))
          return too_large(function);
        line.ran |= count != 0;
        if (out.source == Gcov3Function::no_source) {
          out.source = at.source;
          out.first_line = number;
        }
        if (out.source == at.source)
          own_.emplace_back(number, count != 0);
      }
    // The entries of a line that ran are last, so the last entry says whether any of its blocks
    // ran.
    sort_stably(own_);
    for (size_t i = 0; i < own_.size(); ++i)
      if (i + 1 == own_.size() || own_[i + 1].first != own_[i].first)
        count_line(out.totals, own_[i].second);
    return {};
  }

  Result<void> add_branches(const GraphFunction &function, const FlowCounts &flow,
                            Gcov3Function &out) {
    const auto arcs = graph_.arcs_of(function);
    const auto locations = graph_.locations_of(function);
    std::optional<SourceLine> at;
    for (size_t arc = 0, location = 0; arc < arcs.size(); ++arc) {
      const uint32_t block = arcs[arc].source;
      for (; location < locations.size() && locations[location].block <= block; ++location)
        if (const auto lines = graph_.lines_of(locations[location]); !lines.empty())
          at = line_of(locations[location].file, lines.back());
      if (!at || block == 0 || block == function.exit_block || (arcs[arc].flags & arc_fall_through))
        continue;
      Gcov3Branch branch{(arcs[arc].flags & arc_fake) != 0, flow.arcs[arc], flow.blocks[block]};
      if (branch.is_call && __builtin_sub_overflow(branch.total, branch.count, &branch.count))
        return too_large(function);
      if (at->source == out.source)
        count_branch(out.totals, branch);
      branches_[at->source].push_back({at->line, branch});
    }
    return {};
  }

  static void count_line(Gcov3Totals &totals, bool executed) {
    ++totals.lines;
    totals.lines_executed += executed;
  }
  static void count_branch(Gcov3Totals &totals, const Gcov3Branch &branch) {
    ++(branch.is_call ? totals.calls : totals.branches);
    (branch.is_call ? totals.calls_executed : totals.branches_executed) += branch.total != 0;
    if (!branch.is_call)
      totals.branches_taken += branch.count != 0;
  }

  // Sorts the source's lines by number, and its branches in the order in which their lines were
  // added.
  static void finish(Gcov3Source &source, std::vector<Branch> &branches) {
    sort_stably(branches, {}, &Branch::line);
    for (uint32_t at = 0; const Branch &branch : branches) {
      Gcov3Line &line = source.lines[branch.line];
      if (line.last_branch == 0)
        line.first_branch = at;
      line.last_branch = ++at;
      source.branches.push_back(branch.branch);
      count_branch(source.totals, branch.branch);
    }
    sort_stably(source.lines, {}, &Gcov3Line::number);
    for (const Gcov3Line &line : source.lines)
      count_line(source.totals, line.count != 0);
  }

  const CoverageGraph &graph_;
  Diagnostics &diagnostics_;
  const std::string &source_;
  FlowSolver solver_;
  SeededMap<uint32_t, uint32_t> sources_;     // by the file's StringId
  SeededMap<uint64_t, uint32_t> lines_;       // by source and number: index in the source's lines
  std::vector<std::vector<Branch>> branches_; // by source
  // The lines of the current function in its own source, and whether each ran.
  std::vector<std::pair<uint32_t, bool>> own_;
  InexactFunctions inexact_;
  Gcov3Counts out_;
};

} // namespace

Result<Gcov3Counts> gcov3_counts(const CoverageGraph &graph,
                                 std::span<const std::vector<int64_t>> counters,
                                 Diagnostics &diagnostics, const std::string &source,
                                 bool report_negative) {
  Counter counter(graph, diagnostics, source);
  for (uint32_t i = 0; i < graph.functions.size(); ++i)
    TALLY_CHECK(counter.add(graph.functions[static_cast<GraphFunctionId>(i)],
                            i < counters.size() ? std::span<const int64_t>(counters[i])
                                                : std::span<const int64_t>()));
  return counter.finish(report_negative);
}

GcovCounts as_gcov_counts(const CoverageGraph &graph, const Gcov3Counts &counts) {
  GcovCounts out;
  for (const Gcov3Source &source : counts.sources) {
    GcovFile &file = out.files.emplace_back();
    file.name = graph.strings[source.name];
    for (const Gcov3Line &line : source.lines) {
      GcovLine &row = file.lines.emplace_back();
      row.line = line.number;
      row.count = line.count;
      row.at_least = std::max<int64_t>(line.count, line.ran ? 1 : 0);
      row.first_branch = static_cast<uint32_t>(out.branches.size());
      for (uint32_t i = line.first_branch; i < line.last_branch; ++i)
        if (!source.branches[i].is_call)
          out.branches.push_back({source.branches[i].count, false, false});
      row.last_branch = static_cast<uint32_t>(out.branches.size());
    }
  }
  for (uint32_t i = 0; i < counts.functions.size(); ++i)
    if (const Gcov3Function &function = counts.functions[i];
        function.source != Gcov3Function::no_source) {
      GcovFunction row;
      row.id = static_cast<GraphFunctionId>(i);
      row.execution_count = function.count;
      row.inexact = function.inexact;
      out.files[function.source].functions.push_back(row);
    }
  return out;
}

} // namespace tally
