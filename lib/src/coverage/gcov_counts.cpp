
#include "coverage/gcov_counts.h"

#include <algorithm>

#include <fmt/format.h>

#include "coverage/count_findings.h"
#include "coverage/flow_solver.h"
#include "coverage/function_arcs.h"
#include "coverage/gcov_conditions.h"
#include "coverage/gcov_files.h"
#include "coverage/gcov_rows.h"
#include "coverage/line_cycles.h"
#include "coverage/open_frames.h"
#include "coverage/uncertain_counts.h"
#include "support/checked.h"
#include "support/hash.h"
#include "support/sort.h"

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
  // The number of threads that are in the block and have not begun this line, and of those that may
  // not have begun it.
  int64_t not_begun = 0, perhaps_not_begun = 0;
};

using Row = GcovRow;

class Counting {
public:
  Counting(const CoverageGraph &graph, const CoverageCounters &counters, std::string_view source,
           Diagnostics &diagnostics, const GcovOptions &options)
      : graph_(graph), counters_(counters), options_(options), findings_(source, diagnostics),
        files_(graph, options, out_.files), frames_(options.frames.begin(), options.frames.end()),
        now_(options.most_steps) {
    sort_stably(frames_, {}, &OpenFrame::function);
  }

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
    return !function.artificial && (!options_.wants_function || options_.wants_function(id)) &&
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
  GcovFunction add_solved(GraphFunctionId id, const FlowCounts &flow);
  void add_open_function(GraphFunctionId id, std::span<const OpenFrame> frames);
  bool add_combinations(GraphFunctionId id, const std::vector<std::vector<OpenBlock>> &choices,
                        GcovFunction &row);
  void merge_last(size_t rows, size_t last_rows, size_t branches, size_t last_branches);
  void add_row(GraphFunctionId id, const GcovFunction &row);
  int64_t entries(const GraphFunction &function, const FlowCounts &flow) const;
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
  std::vector<bool> grouped_;     // by function
  std::vector<OpenFrame> frames_; // sorted by function
  std::vector<Row> rows_;

  // The function that is being counted.
  struct Current {
    explicit Current(uint64_t most_steps) : cycles(most_steps) {}
    FlowSolver solver;
    LineCycles cycles;
    FunctionArcs arcs;
    std::vector<Touch> touches;
    std::vector<uint32_t> blocks;                     // scratch space
    std::vector<std::pair<uint32_t, uint32_t>> lines; // the same: lines with their order
    std::span<const OpenBlock> open;                  // where threads are assumed to be
    LineConditions conditions;
  };
  Current now_;
};

// Finds the functions of a file that begin in one line, such as template instances or both
// constructors of a class. Their lines are counted separately.
void Counting::find_groups() {
  SeededMap<uint64_t, uint32_t> first; // by file and line
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
  now_.touches.clear();
  uint32_t block = no_block;
  uint64_t last = UINT64_MAX; // key of the block's last line; UINT64_MAX if it is not wanted
  size_t listed = 0;          // Clang only: 1 + index of the last touch that lists the block, or 0
  uint32_t order = 0;         // the number of lines of the block that came before
  const auto end_block = [&] {
    if (listed > 0)
      now_.touches[listed - 1].ends_here = true;
    listed = 0;
  };
  for (const GraphLocation &location : graph_.locations_of(function)) {
    if (location.block != block) {
      end_block();
      block = location.block;
      last = UINT64_MAX;
      order = 0;
    }
    const uint32_t file = file_of(location.file);
    const uint32_t end_line = function.end_line == 0 && graph_.by_clang && options_.instances_apart
                                  ? UINT32_MAX
                                  : function.end_line;
    const auto of_location = graph_.lines_of(location);
    now_.lines.clear();
    for (const uint32_t line : of_location)
      now_.lines.emplace_back(line, order++);
    if (!graph_.by_clang) // for Clang, the last line in the notes' order has the branches
      std::ranges::sort(now_.lines);
    const int64_t count = flow.blocks[block];
    int64_t not_begun = 0, perhaps_not_begun = 0;
    for (const auto &[line, place] : now_.lines) {
      not_begun = perhaps_not_begun = 0;
      for (const OpenBlock &each : now_.open)
        if (each.block == block) {
          not_begun += place >= each.first_not_begun;
          perhaps_not_begun += place >= each.first_perhaps && place < each.first_not_begun;
        }
      const bool own = grouped_[index_of(id)] && file == own_file && line >= function.start_line &&
                       line <= end_line;
      const uint64_t key = uint64_t{own ? group_table + index_of(id) : file} << 32 | line;
      last = files_.wanted(file) ? key : UINT64_MAX;
      if (!files_.wanted(file)) {
        listed = 0;
        continue;
      }
      now_.touches.push_back({key, no_block, count,
                              !now_.arcs.only_exceptions_reach(block) && count == 0, true,
                              not_begun, perhaps_not_begun});
      if (graph_.by_clang && block != 0) {
        now_.touches.push_back({key, block, 0, false, false, not_begun, perhaps_not_begun});
        listed = now_.touches.size();
      }
    }
    if (!graph_.by_clang && last != UINT64_MAX && block != 0 && block + 1 != function.block_count)
      now_.touches.push_back({last, block, 0, false, true, not_begun, perhaps_not_begun});
  }
  end_block();
}

void Counting::add_conditions(uint32_t block, uint64_t key) {
  now_.conditions.take(block, key, [&](uint32_t index) {
    ConditionCoverage &out = out_.conditions.emplace_back();
    out.terms = graph_.conditions[index].terms;
    if (!counters_.conditions.empty()) {
      out.when_true = counters_.conditions[index].when_true;
      out.when_false = counters_.conditions[index].when_false;
    }
  });
}

void Counting::add_calls(uint32_t block, const FlowCounts &flow) {
  for (const CountedArc &arc : now_.arcs.counted().out_of(block))
    if (arc.flags & arc_fake) {
      GcovCall call{arc.source, arc.destination, 0};
      // add_function() has already reported counts that do not fit.
      if (__builtin_sub_overflow(flow.blocks[block], arc.count, &call.returned))
        call.returned = 0;
      out_.calls.push_back(call);
    }
}

void Counting::add_branches(uint32_t block) {
  if (!now_.arcs.has_branches(block))
    return;
  const CountedGraph &counted = now_.arcs.counted();
  for (uint32_t i = counted.first_out[block]; i < counted.first_out[block + 1]; ++i) {
    const CountedArc &arc = counted.arcs[i];
    if (arc.flags & arc_fake)
      continue;
    out_.branches.push_back({arc.count, (arc.flags & arc_fall_through) != 0, now_.arcs.throws(i),
                             arc.source, arc.destination});
  }
}

void Counting::count_lines(GraphFunctionId id, const FlowCounts &flow) {
  now_.conditions.begin(graph_, graph_.functions[id]);
  if (!now_.conditions.empty())
    for (const Touch &touch : now_.touches)
      if (touch.block != no_block)
        now_.conditions.put_on_line(touch.block, touch.key);
  if (!std::ranges::is_sorted(now_.touches, {}, &Touch::key))
    sort_stably(now_.touches, {}, &Touch::key);
  now_.cycles.begin(now_.arcs.counted());
  for (size_t i = 0; i < now_.touches.size();) {
    Row row;
    row.table = static_cast<uint32_t>(now_.touches[i].key >> 32);
    row.line = static_cast<uint32_t>(now_.touches[i].key);
    row.first_branch = static_cast<uint32_t>(out_.branches.size());
    GcovDetails details{.first_block = static_cast<uint32_t>(out_.blocks.size()),
                        .first_call = static_cast<uint32_t>(out_.calls.size()),
                        .first_condition = static_cast<uint32_t>(out_.conditions.size())};
    now_.blocks.clear();
    bool fits = true, ran = false;
    int64_t raw_less = 0, raw_unsure = 0, less = 0, unsure = 0; // because of now_.open
    for (const uint64_t key = now_.touches[i].key;
         i < now_.touches.size() && now_.touches[i].key == key; ++i) {
      const Touch &touch = now_.touches[i];
      if (touch.block == no_block) {
        fits &= !__builtin_add_overflow(row.raw, touch.count, &row.raw);
        row.unexecuted |= touch.unexecuted;
        ran |= touch.count != 0;
        raw_less += touch.not_begun;
        raw_unsure += touch.perhaps_not_begun;
        continue;
      }
      now_.blocks.push_back(touch.block);
      less += touch.not_begun;
      unsure += touch.perhaps_not_begun;
      if (!touch.ends_here)
        continue;
      if (options_.branches)
        add_branches(touch.block);
      if (options_.blocks)
        add_calls(touch.block, flow);
      if (!now_.conditions.empty())
        add_conditions(touch.block, key);
    }
    if (options_.blocks)
      out_.blocks.insert(out_.blocks.end(), now_.blocks.begin(), now_.blocks.end());
    if (options_.blocks || out_.conditions.size() > details.first_condition) {
      details.last_block = static_cast<uint32_t>(out_.blocks.size());
      details.last_call = static_cast<uint32_t>(out_.calls.size());
      details.last_condition = static_cast<uint32_t>(out_.conditions.size());
      row.details = static_cast<uint32_t>(out_.details.size());
      out_.details.push_back(details);
    }
    if (!now_.blocks.empty()) {
      row.has_blocks = true;
      const LineCycles::Count count = now_.cycles.count(now_.blocks);
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
        ran = std::ranges::any_of(now_.blocks,
                                  [&](uint32_t block) { return flow.blocks[block] != 0; });
      for (int64_t *at_least : {&row.at_least, &row.raw_at_least})
        *at_least = std::max<int64_t>(*at_least, ran ? 1 : 0);
    }
    if (!now_.open.empty()) {
      int64_t &count = row.has_blocks ? row.by_blocks : row.raw;
      const int64_t most = std::max<int64_t>(0, count - (row.has_blocks ? less : raw_less));
      count = std::max<int64_t>(0, most - (row.has_blocks ? unsure : raw_unsure));
      row.uncertain = most - count;
      row.at_least = row.raw_at_least = count;
    }
    row.last_branch = static_cast<uint32_t>(out_.branches.size());
    rows_.push_back(row);
  }
}

void Counting::add_function(GraphFunctionId id) {
  const auto first = std::ranges::lower_bound(frames_, id, {}, &OpenFrame::function);
  const auto last = std::ranges::upper_bound(frames_, id, {}, &OpenFrame::function);
  if (first != last) {
    add_open_function(id, std::span(frames_).subspan(static_cast<size_t>(first - frames_.begin()),
                                                     static_cast<size_t>(last - first)));
    return;
  }
  const GraphFunction &function = graph_.functions[id];
  const FlowCounts &flow = now_.solver.solve(
      graph_, function, counters_.none ? std::span<const int64_t>() : counters_.values_of(id));
  if (flow.unsolved > 0)
    find(fmt::format("{}: the counts of {} arcs cannot be determined", name_of(id), flow.unsolved),
         "unsolved");
  if (flow.negative)
    findings_.add_inexact(name_of(id), graph_.strings[function.file], function.start_line);
  if (flow.overflow)
    find(fmt::format("{}: counts do not fit in 64 bits", name_of(id)), "overflow");
  add_row(id, add_solved(id, flow));
}

void Counting::add_row(GraphFunctionId id, const GcovFunction &row) {
  if (const uint32_t file = file_of(graph_.functions[id].file); files_.wanted(file))
    out_.files[file].functions.push_back(row);
}

int64_t Counting::entries(const GraphFunction &function, const FlowCounts &flow) const {
  const std::span<const GraphArc> arcs = graph_.arcs_of(function);
  int64_t sum = 0;
  for (size_t i = 0; i < arcs.size(); ++i)
    if (arcs[i].source == 0 && !(arcs[i].flags & arc_fake))
      sum += flow.arcs[i];
  return sum;
}

// Counts the lines of a function. Returns its own row.
GcovFunction Counting::add_solved(GraphFunctionId id, const FlowCounts &flow) {
  const GraphFunction &function = graph_.functions[id];
  now_.arcs.take(function.block_count, graph_.arcs_of(function), flow.arcs);
  GcovFunction row{id, 0, 0, 0, flow.negative};
  row.blocks = function.block_count - std::min(2u, function.block_count);
  if (function.block_count > 0)
    row.execution_count = options_.only_entries ? entries(function, flow) : flow.blocks[0];
  // gcov ignores the entry and the last block, which was the exit in older versions of GCC.
  const uint32_t left_out = graph_.by_clang ? function.exit_block : function.block_count - 1;
  for (uint32_t block = 1; block < function.block_count; ++block)
    row.blocks_executed += block != left_out && flow.blocks[block] != 0;
  touch_lines(id, flow);
  count_lines(id, flow);
  return row;
}

// Counts a function that threads were in, for each combination of blocks that they can have been
// in. A line has the smallest of its counts, and the difference to the largest one is uncertain.
void Counting::add_open_function(GraphFunctionId id, std::span<const OpenFrame> frames) {
  const GraphFunction &function = graph_.functions[id];
  const size_t rows = rows_.size();
  GcovFunction row;
  bool fits = false;
  for (const bool all : {false, true}) {
    std::vector<std::vector<OpenBlock>> choices;
    for (const OpenFrame &frame : frames)
      choices.push_back(open_blocks(graph_, function, frame, all));
    fits = add_combinations(id, choices, row);
    if (fits || frames.size() > 1)
      break;
  }
  if (!fits) { // too many combinations; or the counters are damaged, or kept in registers
    row = add_solved(id, now_.solver.solve(graph_, function, counters_.values_of(id)));
    for (Row &each : std::span(rows_).subspan(rows)) {
      for (int64_t *count : {&each.raw, &each.by_blocks})
        *count = std::max<int64_t>(0, *count - std::ssize(frames));
      each.at_least = each.raw_at_least = each.has_blocks ? each.by_blocks : each.raw;
      each.uncertain = INT64_MAX;
    }
    row.execution_count = std::max<int64_t>(0, row.execution_count - std::ssize(frames));
    row.uncertain = INT64_MAX;
  }
  const std::span<Row> own_rows = std::span(rows_).subspan(rows);
  widen(own_rows, frames, row);
  const auto path_of = [&](const Row &each) -> std::string_view {
    return each.table < group_table ? std::string_view(out_.files[each.table].name)
                                    : graph_.strings[function.file];
  };
  for (const OpenFrame &frame : frames)
    if (frame.has_run)
      raise(own_rows, path_of, frame, row);
  add_row(id, row);
}

// Returns false if no combination has a solution without negative counts.
bool Counting::add_combinations(GraphFunctionId id,
                                const std::vector<std::vector<OpenBlock>> &choices,
                                GcovFunction &row) {
  constexpr size_t most = 4096;
  const size_t rows = rows_.size(), branches = out_.branches.size();
  const auto is_negative = [](int64_t count) { return count < 0; };
  bool any = false;
  std::vector<uint32_t> inside;
  for_each_combination(choices, most, [&](std::span<const OpenBlock> chosen) {
    inside.clear();
    for (const OpenBlock &each : chosen)
      if (each.block != none<uint32_t>)
        inside.push_back(each.block);
    const FlowCounts &flow = now_.solver.solve(
        graph_, graph_.functions[id],
        counters_.none ? std::span<const int64_t>() : counters_.values_of(id), inside);
    if (flow.negative || flow.unsolved > 0 || flow.overflow ||
        std::ranges::any_of(flow.blocks, is_negative) ||
        std::ranges::any_of(flow.arcs, is_negative)) // fake ones, which `negative` leaves out
      return;
    now_.open = chosen;
    const size_t last_rows = rows_.size(), last_branches = out_.branches.size(),
                 details = out_.details.size(), blocks = out_.blocks.size(),
                 calls = out_.calls.size(), conditions = out_.conditions.size();
    const GcovFunction other = add_solved(id, flow);
    now_.open = {};
    if (!any) {
      row = other;
      any = true;
      return;
    }
    const int64_t most_entries =
        std::max(row.execution_count + row.uncertain, other.execution_count);
    row.execution_count = std::min(row.execution_count, other.execution_count);
    row.uncertain = most_entries - row.execution_count;
    row.blocks_executed = std::min(row.blocks_executed, other.blocks_executed);
    merge_last(rows, last_rows, branches, last_branches);
    out_.details.resize(details);
    out_.blocks.resize(blocks);
    out_.calls.resize(calls);
    out_.conditions.resize(conditions);
  });
  return any;
}

// Merges the rows and branches of the last combination into those of the first one. All
// combinations have the same rows and branches.
void Counting::merge_last(size_t rows, size_t last_rows, size_t branches, size_t last_branches) {
  for (size_t i = 0; last_rows + i < rows_.size(); ++i) {
    Row &sum = rows_[rows + i];
    const Row &more = rows_[last_rows + i];
    for (int64_t Row::*count : {&Row::raw, &Row::by_blocks}) {
      const int64_t least = std::min(sum.*count, more.*count);
      if ((count == &Row::by_blocks) == sum.has_blocks)
        sum.uncertain = std::max(sum.*count + sum.uncertain, more.*count + more.uncertain) - least;
      sum.*count = least;
    }
    sum.at_least = sum.raw_at_least = sum.has_blocks ? sum.by_blocks : sum.raw;
    sum.unexecuted |= more.unexecuted;
  }
  for (size_t i = 0; last_branches + i < out_.branches.size(); ++i) {
    GcovBranch &sum = out_.branches[branches + i];
    sum.count = std::min(sum.count, out_.branches[last_branches + i].count);
  }
  rows_.resize(last_rows);
  out_.branches.resize(last_branches);
}

// --- the tables

GcovLine Counting::line_of(const Row &row, GraphFunctionId function) {
  return {row.line,         row.has_blocks ? row.by_blocks : row.raw,
          row.unexecuted,   function,
          row.first_branch, row.last_branch,
          row.details,      row.has_blocks ? row.at_least : row.raw_at_least,
          row.uncertain};
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
  sort_stably(functions, {}, start_of);
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
