#include <tally/gcov_counts.h>

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "coverage/flow_solver.h"
#include "coverage/function_arcs.h"
#include "coverage/gcov_conditions.h"
#include "coverage/gcov_files.h"
#include "coverage/gcov_rows.h"
#include "coverage/line_cycles.h"
#include "model/coverage_findings.h"

namespace tally {

namespace {

constexpr uint32_t no_block = UINT32_MAX;
// The sum of this and the index of a function is the table of the lines that are counted separately
// for the function.
constexpr uint32_t group_table = 0x80000000;

// Records that a block of a function is on a line.
struct Touch {
  uint64_t key = 0;          // table << 32 | line
  uint32_t block = no_block; // the block to list for the line; if no_block, `count` is added
  int64_t count = 0;
  bool unexecuted = false;
  bool ends_here = true; // the block ends on this line, so the line has the block's branches
};

using Row = GcovRow;

// Reports what is wrong with the counts of one object.
class CountFindings {
public:
  CountFindings(std::string_view source, Diagnostics &diagnostics)
      : source_(source), diagnostics_(diagnostics) {}

  void find(std::string message, std::string_view key) {
    diagnostics_.add(Severity::warning, std::move(message), std::string(source_), {}, key);
  }
  void add_inexact(std::string_view name, std::string_view path, uint32_t line) {
    inexact_.add(name, path, line);
  }
  void find_inexact() {
    if (!inexact_.empty())
      find(inexact_.text(), "negative");
  }

private:
  std::string_view source_;
  Diagnostics &diagnostics_;
  InexactFunctions inexact_;
};

class Counting {
public:
  Counting(const CoverageGraph &graph, const CoverageCounters &counters, std::string_view source,
           Diagnostics &diagnostics, const GcovOptions &options)
      : graph_(graph), counters_(counters), options_(options), findings_(source, diagnostics),
        files_(graph, options, out_.files), cycles_(options.most_steps) {}

  GcovCounts run() {
    files_.add_all();
    find_groups();
    for (uint32_t i = 0; i < graph_.functions.size(); ++i)
      if (shown(static_cast<GraphFunctionId>(i)) && touches_wanted(static_cast<GraphFunctionId>(i)))
        add_function(static_cast<GraphFunctionId>(i));
    std::ranges::stable_sort(rows_, {}, &Row::key);
    for (uint32_t file = 0; file < out_.files.size(); ++file)
      add_lines(file);
    if (options_.report_negative)
      findings_.find_inexact();
    size_t kept = 0;
    for (uint32_t file = 0; file < out_.files.size(); ++file)
      if (files_.wanted(file) && (files_.has_lines(file) || !out_.files[file].functions.empty()))
        std::swap(out_.files[kept++], out_.files[file]);
    out_.files.resize(kept);
    return std::move(out_);
  }

private:
  bool shown(GraphFunctionId id) const {
    const GraphFunction &function = graph_.functions[id];
    return !function.artificial &&
           (counters_.none ||
            std::ranges::any_of(graph_.arcs_of(function),
                                [](const GraphArc &arc) { return !(arc.flags & arc_on_tree); }));
  }
  bool touches_wanted(GraphFunctionId id) {
    const GraphFunction &function = graph_.functions[id];
    return !options_.wants || files_.wanted(file_of(function.file)) ||
           std::ranges::any_of(graph_.locations_of(function), [&](const GraphLocation &location) {
             return files_.wanted(file_of(location.file));
           });
  }
  std::string name_of(GraphFunctionId id) const {
    return std::string(graph_.strings[graph_.functions[id].name]);
  }
  void find(std::string message, std::string_view key) { findings_.find(std::move(message), key); }
  uint32_t file_of(StringId name) { return files_.number_of(name); }

  void find_groups();
  void add_function(GraphFunctionId id);
  void touch_lines(GraphFunctionId id, const FlowCounts &flow);
  void count_lines(GraphFunctionId id, const FlowCounts &flow);
  void add_branches(uint32_t block);
  void add_calls(uint32_t block, const FlowCounts &flow);
  void add_conditions(uint32_t block, uint64_t key);
  void add_lines(uint32_t file);
  GcovLine line_of(const Row &row, GraphFunctionId function);

  const CoverageGraph &graph_;
  const CoverageCounters &counters_;
  const GcovOptions &options_;
  GcovCounts out_;
  CountFindings findings_;
  GcovFiles files_;
  std::vector<bool> grouped_; // by function
  std::vector<Row> rows_;

  // The state of the function that is being counted.
  FlowSolver solver_;
  LineCycles cycles_;
  FunctionArcs arcs_;
  std::vector<Touch> touches_;
  std::vector<uint32_t> blocks_, lines_; // scratch space
  LineConditions conditions_;
};

// Finds the functions of a file that begin in one line, such as template instances or both
// constructors of a class. Their lines are counted separately.
void Counting::find_groups() {
  std::unordered_map<uint64_t, uint32_t> first; // by file and line
  first.reserve(graph_.functions.size());
  grouped_.assign(graph_.functions.size(), false);
  for (uint32_t i = 0; i < graph_.functions.size(); ++i) {
    const auto id = static_cast<GraphFunctionId>(i);
    const GraphFunction &function = graph_.functions[id];
    if (function.artificial)
      continue;
    const auto [at, added] =
        first.try_emplace(uint64_t{file_of(function.file)} << 32 | function.start_line, i);
    if (!added)
      grouped_[i] = grouped_[at->second] = true;
  }
}

// --- one function

void Counting::touch_lines(GraphFunctionId id, const FlowCounts &flow) {
  const GraphFunction &function = graph_.functions[id];
  const uint32_t own_file = file_of(function.file);
  touches_.clear();
  uint32_t block = no_block;
  uint64_t last = UINT64_MAX; // key of the block's last line; UINT64_MAX if it is not wanted
  size_t listed = 0;          // Clang only: 1 + index of the last touch that lists the block, or 0
  const auto end_block = [&] {
    if (listed > 0)
      touches_[listed - 1].ends_here = true;
    listed = 0;
  };
  for (const GraphLocation &location : graph_.locations_of(function)) {
    if (location.block != block) {
      end_block();
      block = location.block;
      last = UINT64_MAX;
    }
    const uint32_t file = file_of(location.file);
    const auto of_location = graph_.lines_of(location);
    lines_.assign(of_location.begin(), of_location.end());
    if (!graph_.by_clang) // for Clang, the last line in the notes' order has the branches
      std::ranges::sort(lines_);
    const int64_t count = flow.blocks[block];
    for (const uint32_t line : lines_) {
      const bool own = grouped_[index_of(id)] && file == own_file && line >= function.start_line &&
                       line <= function.end_line;
      const uint64_t key = uint64_t{own ? group_table + index_of(id) : file} << 32 | line;
      last = files_.wanted(file) ? key : UINT64_MAX;
      if (!files_.wanted(file)) {
        listed = 0;
        continue;
      }
      touches_.push_back({key, no_block, count, !arcs_.only_exceptions_reach(block) && count == 0});
      if (graph_.by_clang && block != 0) {
        touches_.push_back({key, block, 0, false, false});
        listed = touches_.size();
      }
    }
    if (!graph_.by_clang && last != UINT64_MAX && block != 0 && block + 1 != function.block_count)
      touches_.push_back({last, block, 0, false});
  }
  end_block();
}

void Counting::add_conditions(uint32_t block, uint64_t key) {
  conditions_.take(block, key, [&](uint32_t index) {
    ConditionCoverage &out = out_.conditions.emplace_back();
    out.terms = graph_.conditions[index].terms;
    if (!counters_.conditions.empty()) {
      out.when_true = counters_.conditions[index].when_true;
      out.when_false = counters_.conditions[index].when_false;
    }
  });
}

void Counting::add_calls(uint32_t block, const FlowCounts &flow) {
  for (const CountedArc &arc : arcs_.counted().out_of(block))
    if (arc.flags & arc_fake) {
      GcovCall call{arc.source, arc.destination, 0};
      // add_function() has already reported counts that do not fit.
      if (__builtin_sub_overflow(flow.blocks[block], arc.count, &call.returned))
        call.returned = 0;
      out_.calls.push_back(call);
    }
}

void Counting::add_branches(uint32_t block) {
  if (!arcs_.has_branches(block))
    return;
  const CountedGraph &counted = arcs_.counted();
  for (uint32_t i = counted.first_out[block]; i < counted.first_out[block + 1]; ++i) {
    const CountedArc &arc = counted.arcs[i];
    if (arc.flags & arc_fake)
      continue;
    out_.branches.push_back({arc.count, (arc.flags & arc_fall_through) != 0, arcs_.throws(i),
                             arc.source, arc.destination});
  }
}

void Counting::count_lines(GraphFunctionId id, const FlowCounts &flow) {
  conditions_.begin(graph_, graph_.functions[id]);
  if (!conditions_.empty())
    for (const Touch &touch : touches_)
      if (touch.block != no_block)
        conditions_.put_on_line(touch.block, touch.key);
  if (!std::ranges::is_sorted(touches_, {}, &Touch::key))
    std::ranges::stable_sort(touches_, {}, &Touch::key);
  cycles_.begin(arcs_.counted());
  for (size_t i = 0; i < touches_.size();) {
    Row row;
    row.table = static_cast<uint32_t>(touches_[i].key >> 32);
    row.line = static_cast<uint32_t>(touches_[i].key);
    row.first_branch = static_cast<uint32_t>(out_.branches.size());
    GcovDetails details{.first_block = static_cast<uint32_t>(out_.blocks.size()),
                        .first_call = static_cast<uint32_t>(out_.calls.size()),
                        .first_condition = static_cast<uint32_t>(out_.conditions.size())};
    blocks_.clear();
    bool fits = true, ran = false;
    for (const uint64_t key = touches_[i].key; i < touches_.size() && touches_[i].key == key; ++i) {
      const Touch &touch = touches_[i];
      if (touch.block == no_block) {
        fits &= !__builtin_add_overflow(row.raw, touch.count, &row.raw);
        row.unexecuted |= touch.unexecuted;
        ran |= touch.count != 0;
        continue;
      }
      blocks_.push_back(touch.block);
      if (!touch.ends_here)
        continue;
      if (options_.branches)
        add_branches(touch.block);
      if (options_.blocks)
        add_calls(touch.block, flow);
      if (!conditions_.empty())
        add_conditions(touch.block, key);
    }
    if (options_.blocks)
      out_.blocks.insert(out_.blocks.end(), blocks_.begin(), blocks_.end());
    if (options_.blocks || out_.conditions.size() > details.first_condition) {
      details.last_block = static_cast<uint32_t>(out_.blocks.size());
      details.last_call = static_cast<uint32_t>(out_.calls.size());
      details.last_condition = static_cast<uint32_t>(out_.conditions.size());
      row.details = static_cast<uint32_t>(out_.details.size());
      out_.details.push_back(details);
    }
    if (!blocks_.empty()) {
      row.has_blocks = true;
      const LineCycles::Count count = cycles_.count(blocks_);
      row.by_blocks = row.at_least = count.count;
      fits = !count.overflow;
      if (count.too_long) {
        row.by_blocks = 0;
        find(fmt::format("{}: line {} takes too long to count: it has no count (it ran at least {} "
                         "times)",
                         name_of(id), row.line, row.at_least),
             "cycles");
      }
    }
    if (!fits)
      find(fmt::format("{}: the count of line {} does not fit in 64 bits", name_of(id), row.line),
           "overflow");
    row.raw_at_least = row.raw;
    if (flow.negative) { // the count may be 0 or negative although the line ran
      if (row.has_blocks)
        ran = std::ranges::any_of(blocks_, [&](uint32_t block) { return flow.blocks[block] != 0; });
      for (int64_t *at_least : {&row.at_least, &row.raw_at_least})
        *at_least = std::max<int64_t>(*at_least, ran ? 1 : 0);
    }
    row.last_branch = static_cast<uint32_t>(out_.branches.size());
    rows_.push_back(row);
  }
}

void Counting::add_function(GraphFunctionId id) {
  const GraphFunction &function = graph_.functions[id];
  const FlowCounts &flow = solver_.solve(
      graph_, function, counters_.none ? std::span<const int64_t>() : counters_.values_of(id));
  if (flow.unsolved > 0)
    find(fmt::format("{}: the counts of {} arcs cannot be determined", name_of(id), flow.unsolved),
         "unsolved");
  if (flow.negative)
    findings_.add_inexact(name_of(id), graph_.strings[function.file], function.start_line);
  if (flow.overflow)
    find(fmt::format("{}: counts do not fit in 64 bits", name_of(id)), "overflow");
  arcs_.take(function.block_count, graph_.arcs_of(function), flow.arcs);

  GcovFunction row{id, 0, 0, 0, flow.negative};
  row.blocks = function.block_count - std::min(2u, function.block_count);
  if (function.block_count > 0)
    row.execution_count = flow.blocks[0];
  // gcov ignores the entry and the last block, which was the exit in older versions of GCC.
  const uint32_t left_out = graph_.by_clang ? function.exit_block : function.block_count - 1;
  for (uint32_t block = 1; block < function.block_count; ++block)
    row.blocks_executed += block != left_out && flow.blocks[block] != 0;
  if (const uint32_t file = file_of(function.file); files_.wanted(file))
    out_.files[file].functions.push_back(row);

  touch_lines(id, flow);
  count_lines(id, flow);
}

// --- the tables

GcovLine Counting::line_of(const Row &row, GraphFunctionId function) {
  return {row.line,         row.has_blocks ? row.by_blocks : row.raw,
          row.unexecuted,   function,
          row.first_branch, row.last_branch,
          row.details,      row.has_blocks ? row.at_least : row.raw_at_least};
}

void Counting::add_lines(uint32_t number) {
  GcovFile &file = out_.files[number];
  const auto start_of = [&](const GcovFunction &function) {
    return graph_.functions[function.id].start_line;
  };
  // gcov sorts with std::sort, whose order of functions with the same start position (instances of
  // a template) is unspecified. This code must get the same order, so it uses std::sort as gcov
  // does, once for the functions of each line and once for all of the file.
  const auto before = [&](const GcovFunction &a, const GcovFunction &b) {
    const GraphFunction &f = graph_.functions[a.id], &g = graph_.functions[b.id];
    return std::pair(f.start_line, f.start_column) < std::pair(g.start_line, g.start_column);
  };
  std::vector<GcovFunction> functions = file.functions;
  std::ranges::stable_sort(functions, {}, start_of);
  for (auto first = functions.begin(); first != functions.end();) {
    const auto last = std::upper_bound(
        first, functions.end(), start_of(*first),
        [&](uint32_t line, const GcovFunction &function) { return line < start_of(function); });
    std::sort(first, last, before);
    first = last;
  }
  const auto rows_of = [&](uint32_t table) {
    return std::span(std::ranges::lower_bound(rows_, table, {}, &Row::table),
                     std::ranges::upper_bound(rows_, table, {}, &Row::table));
  };
  // Adds rows to the file. Rows of the same line belong to several functions and become one.
  const auto add_rows = [&](std::span<const Row> rows, auto function_of) {
    while (!rows.empty()) {
      const uint32_t line = rows[0].line;
      const auto other =
          std::ranges::find_if(rows, [&](const Row &row) { return row.line != line; });
      const auto count = static_cast<size_t>(other - rows.begin());
      bool fits = true;
      const Row sum = joined(rows.first(count), out_, fits);
      rows = rows.subspan(count);
      if (!fits)
        find(fmt::format("{}: the count of line {} does not fit in 64 bits", file.name, line),
             "overflow");
      file.lines.push_back(line_of(sum, function_of(sum.line)));
    }
  };
  std::vector<GraphFunctionId> open;
  size_t next = 0;
  const std::span<const Row> own = rows_of(number);
  size_t row = 0;
  const auto begin_functions = [&](uint32_t upto) {
    for (; next < functions.size(); ++next) {
      const GraphFunctionId id = functions[next].id;
      const GraphFunction &function = graph_.functions[id];
      if (function.start_line > upto)
        break;
      while (!open.empty() && graph_.functions[open.back()].end_line < function.start_line)
        open.pop_back();
      if (grouped_[index_of(id)]) {
        add_rows(rows_of(group_table + index_of(id)), [&](uint32_t) { return id; });
      } else {
        open.push_back(id);
      }
    }
  };
  while (row < own.size()) {
    size_t end = row;
    while (end < own.size() && own[end].line == own[row].line)
      ++end;
    begin_functions(own[row].line);
    add_rows(own.subspan(row, end - row), [&](uint32_t line) {
      while (!open.empty() && graph_.functions[open.back()].end_line < line)
        open.pop_back();
      return open.empty() ? none<GraphFunctionId> : open.back();
    });
    row = end;
  }
  begin_functions(UINT32_MAX);
  std::sort(file.functions.begin(), file.functions.end(), before);
}

} // namespace

GcovCounts count_as_gcov(const CoverageGraph &graph, const CoverageCounters &counters,
                         std::string_view source, Diagnostics &diagnostics,
                         const GcovOptions &options) {
  return Counting(graph, counters, source, diagnostics, options).run();
}

} // namespace tally
