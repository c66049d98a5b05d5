#include <tally/gcov_counts.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "coverage/flow_solver.h"
#include "coverage/gcov_conditions.h"
#include "coverage/gcov_rows.h"
#include "coverage/line_cycles.h"
#include "model/coverage_findings.h"

namespace tally {

namespace {

constexpr uint32_t no_block = UINT32_MAX, no_file = UINT32_MAX;
constexpr uint32_t group_table = 0x80000000; // plus a function: the table of its separate lines

// Records that a block of a function is on a line.
struct Touch {
  uint64_t key = 0;          // table << 32 | line
  uint32_t block = no_block; // the block to list for the line; if no_block, `count` is added
  int64_t count = 0;
  bool unexecuted = false;
  bool ends_here = true; // the block ends on this line, which therefore has its branches
};

using Row = GcovRow;

class Counting {
public:
  Counting(const CoverageGraph &graph, const CoverageCounters &counters, std::string_view source,
           Diagnostics &diagnostics, const GcovOptions &options)
      : graph_(graph), counters_(counters), source_(source), diagnostics_(diagnostics),
        options_(options), cycles_(options.most_steps) {}

  GcovCounts run() {
    name_files();
    find_groups();
    for (uint32_t i = 0; i < graph_.functions.size(); ++i)
      if (shown(static_cast<GraphFunctionId>(i)) && touches_wanted(static_cast<GraphFunctionId>(i)))
        add_function(static_cast<GraphFunctionId>(i));
    std::ranges::stable_sort(rows_, {}, &Row::key);
    for (uint32_t file = 0; file < out_.files.size(); ++file)
      add_lines(file);
    if (options_.report_negative && !inexact_.empty())
      find(inexact_.text(), "negative");
    size_t kept = 0;
    for (size_t file = 0; file < out_.files.size(); ++file)
      if (wanted_[file] && (has_lines_[file] || !out_.files[file].functions.empty()))
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
    return !options_.wants || wanted_[file_of(function.file)] ||
           std::ranges::any_of(graph_.locations_of(function), [&](const GraphLocation &location) {
             return wanted_[file_of(location.file)];
           });
  }
  std::string_view working_directory() const { return graph_.strings[graph_.working_directory]; }
  std::string name_of(GraphFunctionId id) const {
    return std::string(graph_.strings[graph_.functions[id].name]);
  }
  void find(std::string message, std::string_view key) {
    diagnostics_.add(Severity::warning, std::move(message), std::string(source_), {}, key);
  }

  void name_files();
  uint32_t file_of(StringId name);
  std::string canonical(std::string_view path) const;
  void find_groups();
  void add_function(GraphFunctionId id);
  void sort_arcs(std::span<const GraphArc> arcs, const std::vector<int64_t> &counts);
  void classify_arcs();
  void touch_lines(GraphFunctionId id, const FlowCounts &flow);
  void count_lines(GraphFunctionId id, const FlowCounts &flow);
  void add_branches(uint32_t block);
  void add_calls(uint32_t block, const FlowCounts &flow);
  void add_conditions(uint32_t block, uint64_t key);
  void add_lines(uint32_t file);
  GcovLine line_of(const Row &row, GraphFunctionId function);

  const CoverageGraph &graph_;
  const CoverageCounters &counters_;
  std::string_view source_;
  Diagnostics &diagnostics_;
  const GcovOptions &options_;
  GcovCounts out_;
  InexactFunctions inexact_;
  std::vector<uint32_t> file_index_; // by name; no_file if not determined yet
  std::map<std::string, uint32_t, std::less<>> canonical_index_;
  std::vector<bool> wanted_;    // by file
  std::vector<bool> has_lines_; // by file: it has lines of any function, counted or not
  std::vector<bool> grouped_;   // by function
  std::vector<Row> rows_;

  // The state of the function that is being counted.
  FlowSolver solver_;
  LineCycles cycles_;
  CountedGraph arcs_;
  std::vector<uint32_t> order_;
  std::vector<uint8_t> unconditional_, exceptional_; // by block
  std::vector<bool> throws_;                         // by arc
  std::vector<Touch> touches_;
  std::vector<uint32_t> blocks_, waiting_;
  LineConditions conditions_;
};

// --- files

std::string Counting::canonical(std::string_view path) const {
  const bool absolute = path.starts_with('/');
  std::string out;
  std::vector<size_t> ends; // the size of `out` before each name that ".." may remove
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view name = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (name.empty() || name == ".")
      continue;
    const std::string folder = (absolute ? "/" : "") + out;
    if (name == ".." && !ends.empty() && options_.is_plain_directory &&
        options_.is_plain_directory(folder, working_directory())) {
      out.resize(ends.back());
      ends.pop_back();
      continue;
    }
    const size_t end = out.size();
    if (!out.empty())
      out += '/';
    out += name;
    if (name == "..")
      ends.clear();
    else
      ends.push_back(end);
  }
  return (absolute ? "/" : "") + out;
}

uint32_t Counting::file_of(StringId name) {
  uint32_t &index = file_index_[index_of(name)];
  if (index == no_file) {
    std::string path = canonical(graph_.strings[name]);
    const auto [known, is_new] =
        canonical_index_.try_emplace(path, static_cast<uint32_t>(out_.files.size()));
    if (is_new) {
      wanted_.push_back(!options_.wants || options_.wants(path, working_directory()));
      out_.files.push_back({std::move(path), {}, {}});
    }
    index = known->second;
  }
  return index;
}

void Counting::name_files() {
  file_index_.assign(graph_.strings.size(), no_file);
  for (const GraphFunction &function : graph_.functions) {
    file_of(function.file);
    for (const GraphLocation &location : graph_.locations_of(function)) {
      const uint32_t file = file_of(location.file);
      has_lines_.resize(out_.files.size(), false);
      if (location.first_line != location.last_line)
        has_lines_[file] = true;
    }
  }
  has_lines_.resize(out_.files.size(), false);
}

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

void Counting::sort_arcs(std::span<const GraphArc> arcs, const std::vector<int64_t> &counts) {
  const size_t blocks = unconditional_.size();
  order_.resize(arcs.size());
  for (uint32_t i = 0; i < arcs.size(); ++i)
    order_[i] = i;
  const auto key = [&](uint32_t i) { return uint64_t{arcs[i].source} << 32 | arcs[i].destination; };
  if (!std::ranges::is_sorted(order_, {}, key)) // many compilers write them in order
    std::ranges::stable_sort(order_, {}, key);
  arcs_.arcs.clear();
  arcs_.first_out.assign(blocks + 1, 0);
  arcs_.first_in.assign(blocks + 1, 0);
  for (const uint32_t i : order_) {
    arcs_.arcs.push_back({arcs[i].source, arcs[i].destination, arcs[i].flags, counts[i]});
    ++arcs_.first_out[arcs[i].source + 1];
    ++arcs_.first_in[arcs[i].destination + 1];
  }
  for (size_t block = 0; block < blocks; ++block) {
    arcs_.first_out[block + 1] += arcs_.first_out[block];
    arcs_.first_in[block + 1] += arcs_.first_in[block];
  }
  arcs_.in.resize(arcs.size());
  waiting_.assign(arcs_.first_in.begin(), arcs_.first_in.end() - 1);
  for (uint32_t i = 0; i < arcs_.arcs.size(); ++i)
    arcs_.in[waiting_[arcs_.arcs[i].destination]++] = i;
}

// Finds blocks with a single real arc, arcs that exceptions take, and blocks that only exceptions
// can reach. The exits of a block that ends in a call are exceptions unless they fall through.
void Counting::classify_arcs() {
  const auto blocks = static_cast<uint32_t>(unconditional_.size());
  throws_.assign(arcs_.arcs.size(), false);
  bool any_throw = false;
  for (uint32_t block = 0; block < blocks; ++block) {
    uint32_t real = 0;
    bool call = false;
    for (const CountedArc &arc : arcs_.out_of(block)) {
      real += !(arc.flags & arc_fake);
      call |= (arc.flags & arc_fake) && block != 0;
    }
    unconditional_[block] = real == 1;
    if (!call)
      continue;
    for (uint32_t i = arcs_.first_out[block]; i < arcs_.first_out[block + 1]; ++i)
      if (!(arcs_.arcs[i].flags & (arc_fake | arc_fall_through))) {
        throws_[i] = true;
        any_throw = true;
      }
  }
  exceptional_.assign(blocks, any_throw);
  if (!any_throw)
    return;
  exceptional_[0] = false;
  waiting_.assign(1, 0);
  while (!waiting_.empty()) {
    const uint32_t block = waiting_.back();
    waiting_.pop_back();
    for (uint32_t i = arcs_.first_out[block]; i < arcs_.first_out[block + 1]; ++i) {
      const CountedArc &arc = arcs_.arcs[i];
      if ((arc.flags & arc_fake) || throws_[i] || !exceptional_[arc.destination])
        continue;
      exceptional_[arc.destination] = false;
      waiting_.push_back(arc.destination);
    }
  }
}

void Counting::touch_lines(GraphFunctionId id, const FlowCounts &flow) {
  const GraphFunction &function = graph_.functions[id];
  const uint32_t own_file = file_of(function.file);
  touches_.clear();
  uint32_t block = no_block;
  uint64_t last = UINT64_MAX; // key of the block's last line; UINT64_MAX if it is not wanted
  size_t listed = 0;          // Clang only: 1 + index of the touch that lists the block last; or 0
  const auto end_block = [&] {
    if (listed > 0)
      touches_[listed - 1].ends_here = true;
    listed = 0;
  };
  std::vector<uint32_t> &lines = waiting_;
  for (const GraphLocation &location : graph_.locations_of(function)) {
    if (location.block != block) {
      end_block();
      block = location.block;
      last = UINT64_MAX;
    }
    const uint32_t file = file_of(location.file);
    const auto of_location = graph_.lines_of(location);
    lines.assign(of_location.begin(), of_location.end());
    if (!graph_.by_clang) // for Clang, the last line in the notes' order has the branches
      std::ranges::sort(lines);
    const int64_t count = flow.blocks[block];
    for (const uint32_t line : lines) {
      const bool own = grouped_[index_of(id)] && file == own_file && line >= function.start_line &&
                       line <= function.end_line;
      const uint64_t key = uint64_t{own ? group_table + index_of(id) : file} << 32 | line;
      last = wanted_[file] ? key : UINT64_MAX;
      if (!wanted_[file]) {
        listed = 0;
        continue;
      }
      touches_.push_back({key, no_block, count, !exceptional_[block] && count == 0});
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
  for (const CountedArc &arc : arcs_.out_of(block))
    if (arc.flags & arc_fake) {
      GcovCall call{arc.source, arc.destination, 0};
      // add_function() has already reported counts that do not fit.
      if (__builtin_sub_overflow(flow.blocks[block], arc.count, &call.returned))
        call.returned = 0;
      out_.calls.push_back(call);
    }
}

void Counting::add_branches(uint32_t block) {
  if (unconditional_[block])
    return;
  for (uint32_t i = arcs_.first_out[block]; i < arcs_.first_out[block + 1]; ++i) {
    const CountedArc &arc = arcs_.arcs[i];
    if (arc.flags & arc_fake)
      continue;
    out_.branches.push_back(
        {arc.count, (arc.flags & arc_fall_through) != 0, throws_[i], arc.source, arc.destination});
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
  cycles_.begin(arcs_);
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
    inexact_.add(name_of(id), graph_.strings[function.file], function.start_line);
  if (flow.overflow)
    find(fmt::format("{}: counts do not fit in 64 bits", name_of(id)), "overflow");
  unconditional_.assign(function.block_count, 0);
  sort_arcs(graph_.arcs_of(function), flow.arcs);
  classify_arcs();

  GcovFunction row{id, 0, 0, 0, flow.negative};
  row.blocks = function.block_count - std::min(2u, function.block_count);
  if (function.block_count > 0)
    row.execution_count = flow.blocks[0];
  // gcov ignores the entry and the last block, which was the exit in older versions of GCC.
  const uint32_t left_out = graph_.by_clang ? function.exit_block : function.block_count - 1;
  for (uint32_t block = 1; block < function.block_count; ++block)
    row.blocks_executed += block != left_out && flow.blocks[block] != 0;
  if (const uint32_t file = file_of(function.file); wanted_[file])
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
