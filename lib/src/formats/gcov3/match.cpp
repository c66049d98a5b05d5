// Combines the lines, graphs and counters of the three files.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "formats/gcov3/words.h"
#include "support/checked.h"
#include "support/hash.h"

namespace tally {

namespace {

using Rows = SeededMap<std::string_view, uint32_t>;

template <class File> Rows rows_by_name(const File &file) {
  Rows rows;
  for (uint32_t i = 0; i < file.functions().size(); ++i)
    rows.try_emplace(file.strings()[file.functions()[i].name], i);
  return rows;
}

class LinesOfGraph {
public:
  LinesOfGraph(const Gcov3Graph &graph, const Gcov3Lines &lines, CoverageGraph &out,
               Diagnostics &diagnostics)
      : graph_(graph), lines_(lines), out_(out), diagnostics_(diagnostics),
        file_before_(lines.functions().size()) {
    pair_functions();
    follow_files();
  }

  // Sets the name and the locations of the function.
  void fill(uint32_t function) {
    GraphFunction &to = out_.functions[static_cast<GraphFunctionId>(function)];
    to.first_location = to.last_location = static_cast<uint32_t>(out_.locations.size());
    if (!lines_of_[function])
      return;
    const uint32_t row = *lines_of_[function];
    const Gcov3Lines::Function &from = lines_.functions()[row];
    if (!graph_.has_names())
      to.name = intern(from.name);
    std::optional<StringId> file = file_before_[row];
    uint32_t block = 0;
    bool begins = true;
    for (const Gcov3Lines::Item item : lines_.items_of(from)) {
      if (item == 0) {
        ++block;
        begins = true;
      } else if (item < 0) {
        file = intern(Gcov3Lines::file_of(item));
        begins = true;
      } else if (block == 0 || block >= to.exit_block) {
        add_finding(from, "a line of the entry, of the exit, or of a block after it", "block");
      } else if (!file) {
        add_finding(from, "a line without the name of its file", "no file");
      } else {
        const auto line = static_cast<uint32_t>(out_.lines.size());
        if (begins)
          out_.locations.push_back({block, *file, line, line});
        begins = false;
        out_.lines.push_back(static_cast<uint32_t>(item));
        out_.locations.back().last_line = line + 1;
      }
    }
    if (block != to.exit_block)
      add_finding(from,
                  fmt::format("function {} has {} blocks, but {} in {}",
                              lines_.strings()[from.name], block + 1, to.block_count,
                              graph_.source()),
                  "blocks");
    to.last_location = static_cast<uint32_t>(out_.locations.size());
  }

private:
  StringId intern(StringId of_lines) { return out_.strings.intern(lines_.strings()[of_lines]); }
  void add_finding(const Gcov3Lines::Function &at, std::string message, std::string_view key) {
    diagnostics_.add(Severity::error, std::move(message), lines_.source(),
                     Position::at_offset(at.offset), key);
  }
  void add_graph_finding(const Gcov3Graph::Function &at, std::string message,
                         std::string_view key) {
    diagnostics_.add(Severity::error, std::move(message), graph_.source(),
                     Position::at_offset(at.offset), key);
  }

  // Pairs the functions of both files by name if the graph has names, otherwise by their order.
  void pair_functions() {
    const auto graphs = graph_.functions();
    const auto functions = lines_.functions();
    const Rows rows = rows_by_name(lines_);
    lines_of_.resize(graphs.size());
    std::vector<bool> used(functions.size());
    bool in_order = true;
    uint32_t last_row = 0;
    for (uint32_t i = 0; i < graphs.size(); ++i) {
      const std::string_view name = graph_.strings()[graphs[i].name];
      const bool same_row = i < functions.size() && !used[i] &&
                            (!graph_.has_names() || lines_.strings()[functions[i].name] == name);
      if (same_row)
        lines_of_[i] = i;
      else if (const auto found = rows.find(name);
               graph_.has_names() && found != rows.end() && !used[found->second])
        lines_of_[i] = found->second;
      if (!lines_of_[i]) {
        add_graph_finding(graphs[i],
                          graph_.has_names()
                              ? fmt::format("function {} has no lines in {}", name, lines_.source())
                              : fmt::format("{} functions, but {} in {}", graphs.size(),
                                            functions.size(), lines_.source()),
                          "no lines");
        continue;
      }
      used[*lines_of_[i]] = true;
      in_order &= *lines_of_[i] >= last_row;
      last_row = *lines_of_[i];
    }
    if (!in_order)
      diagnostics_.add(
          Severity::error,
          fmt::format("the functions are in another order than in {}", graph_.source()),
          lines_.source());
    for (uint32_t row = 0; row < functions.size(); ++row)
      if (!used[row])
        add_finding(functions[row],
                    fmt::format("function {} is not in {}", lines_.strings()[functions[row].name],
                                graph_.source()),
                    "no graph");
  }

  // Determines the source file that is in force at the beginning of each function.
  void follow_files() {
    std::optional<StringId> file;
    uint32_t item = 0;
    const auto go_on_to = [&](uint32_t end) {
      for (; item < end; ++item)
        if (lines_.items()[item] < 0)
          file = intern(Gcov3Lines::file_of(lines_.items()[item]));
    };
    for (uint32_t row = 0; row < lines_.functions().size(); ++row) {
      go_on_to(lines_.functions()[row].first_item);
      file_before_[row] = file;
    }
  }

  const Gcov3Graph &graph_;
  const Gcov3Lines &lines_;
  CoverageGraph &out_;
  Diagnostics &diagnostics_;
  std::vector<std::optional<uint32_t>> lines_of_;    // by the index of a function in graph_
  std::vector<std::optional<StringId>> file_before_; // by the index of a function in lines_
};

} // namespace

Result<CoverageGraph> gcov3_graph(const Gcov3Graph &graph, const Gcov3Lines *lines,
                                  Diagnostics &diagnostics) {
  CoverageGraph out;
  out.functions.reserve(graph.functions().size());
  out.arcs.reserve(graph.arcs().size());
  for (const GraphArc &arc : graph.arcs())
    out.arcs.push_back(
        {arc.source, arc.destination, arc.flags & (arc_on_tree | arc_fake | arc_fall_through)});
  for (const Gcov3Graph::Function &from : graph.functions()) {
    GraphFunction function;
    function.name = out.strings.intern(graph.strings()[from.name]);
    function.cfg_checksum = static_cast<uint32_t>(from.checksum);
    function.block_count = from.block_count;
    function.exit_block = from.block_count - 1;
    function.first_arc = from.first_arc;
    function.last_arc = from.last_arc;
    out.functions.push(function);
  }
  if (!lines)
    return out;
  LinesOfGraph of_graph(graph, *lines, out, diagnostics);
  for (uint32_t i = 0; i < graph.functions().size(); ++i)
    of_graph.fill(i);
  return out;
}

namespace {

uint32_t counters_of(std::span<const GraphArc> arcs) {
  return static_cast<uint32_t>(
      std::ranges::count_if(arcs, [](const GraphArc &arc) { return !(arc.flags & arc_on_tree); }));
}

using Counters = std::vector<std::vector<int64_t>>;

Counters counters_in_order(const Gcov3Graph &graph, const Gcov3Data &data,
                           Diagnostics &diagnostics) {
  Counters out(graph.functions().size());
  std::span<const int64_t> left = data.counters();
  if (const uint32_t wanted = counters_of(graph.arcs()); wanted != left.size()) {
    diagnostics.add(
        Severity::warning,
        fmt::format("{} counters are ignored: {} needs {}", left.size(), graph.source(), wanted),
        data.source(), Position::at_offset(0));
    return out;
  }
  for (size_t i = 0; i < out.size(); ++i) {
    const auto own = left.first(counters_of(graph.arcs_of(graph.functions()[i])));
    left = left.subspan(own.size());
    out[i].assign(own.begin(), own.end());
  }
  return out;
}

Result<Counters> counters_by_name(const Gcov3Graph &graph, const Gcov3Data &data,
                                  Diagnostics &diagnostics) {
  const auto functions = graph.functions();
  const Rows rows = rows_by_name(graph);
  Counters out(functions.size());
  std::vector<bool> known(functions.size());
  std::vector<uint32_t> wanted;
  for (const Gcov3Graph::Function &function : functions)
    wanted.push_back(counters_of(graph.arcs_of(function)));
  for (const Gcov3Data::Function &record : data.functions()) {
    const auto leave_out = [&](std::string why, std::string_view key) {
      diagnostics.add(
          Severity::warning,
          fmt::format("the counters of {} are ignored: {}", data.strings()[record.name], why),
          data.source(), Position::at_offset(record.offset), key);
    };
    const auto found = rows.find(data.strings()[record.name]);
    if (found == rows.end()) {
      leave_out(fmt::format("{} has no such function", graph.source()), "no function");
      continue;
    }
    const uint32_t row = found->second;
    known[row] = true;
    if (record.checksum != functions[row].checksum) {
      leave_out(fmt::format("their checksum is {}, but {} in {}: recompiled in between",
                            record.checksum, functions[row].checksum, graph.source()),
                "checksum");
      continue;
    }
    const auto counters = data.counters_of(record);
    if (counters.size() != wanted[row]) {
      leave_out(
          fmt::format("they are {}, but {} needs {}", counters.size(), graph.source(), wanted[row]),
          "number");
      continue;
    }
    out[row].resize(counters.size());
    for (size_t i = 0; i < counters.size(); ++i)
      if (!checked_add(out[row][i], counters[i]))
        return fail(ErrorCode::overflow,
                    fmt::format("a counter of {} exceeds 63 bits", data.strings()[record.name]),
                    data.source(), Position::at_offset(record.offset));
  }
  for (uint32_t i = 0; i < functions.size(); ++i) {
    const std::string_view name = graph.strings()[functions[i].name];
    if (rows.at(name) != i)
      diagnostics.add(Severity::error,
                      fmt::format("a second function {}: it gets no counters", name),
                      graph.source(), Position::at_offset(functions[i].offset), "twice");
    else if (!known[i])
      diagnostics.add(Severity::warning,
                      fmt::format("function {} has no counters in {}", name, data.source()),
                      graph.source(), Position::at_offset(functions[i].offset), "no counters");
  }
  return out;
}

} // namespace

Result<std::vector<std::vector<int64_t>>>
gcov3_counters(const Gcov3Graph &graph, const Gcov3Data *data, Diagnostics &diagnostics) {
  if (!data)
    return Counters(graph.functions().size());
  if (data->has_names() == graph.has_names())
    return data->has_names() ? counters_by_name(graph, *data, diagnostics)
                             : counters_in_order(graph, *data, diagnostics);
  // Nothing shows the version of an empty graph, so its counters need no check.
  if (graph.functions().empty())
    return Counters();
  return fail(ErrorCode::invalid_input,
              fmt::format("is data of GCC {}, but {} is of GCC {}",
                          data->has_names() ? "3.3" : "up to 3.2", graph.source(),
                          graph.has_names() ? "3.3" : "up to 3.2"),
              data->source(), Position::at_offset(0));
}

} // namespace tally
