// Formats every table of a profile as JSON.
#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "report/annotate.h"
#include "report/cost_gate.h"
#include "report/disassembly.h"
#include "report/heat_map.h"
#include "report/histogram_text.h"
#include "report/report.h"
#include "report/rows.h"
#include "report/timeline.h"
#include "report/tree.h"
#include "support/json_out.h"

namespace tally {

namespace {

using Json = JsonOut;

// Writes a single line, as programs expect. A line for each row would give better diffs.
std::string dump(const Json &json) { return json.text() + '\n'; }

constexpr std::string_view row_names[] = {"functions", "lines",      "objects",     "threads",
                                          "parts",     "namespaces", "directories", "processes"};

size_t shown(size_t rows, uint32_t limit) {
  return limit == 0 ? rows : std::min<size_t>(rows, limit);
}

} // namespace

std::string to_json(const FlatTable &table, uint32_t limit) {
  Json rows = Json::list();
  for (size_t i = 0; i < shown(table.rows.size(), limit); ++i) {
    const FlatRow &row = table.rows[i];
    Json out;
    switch (table.by) {
    case By::function:
      out = {{"name", row.name}, {"file", row.file}, {"line", row.line}, {"object", row.object}};
      break;
    case By::line:
      out = {
          {"file", row.file}, {"line", row.line}, {"function", row.name}, {"object", row.object}};
      break;
    case By::object:
      out = {{"object", row.object}};
      break;
    case By::thread:
      out = {{"tid", signed_id(row)}, {"name", row.name}};
      break;
    case By::part:
      out = {{"part", row.id}, {"trigger", row.name}};
      break;
    case By::process:
      out = {{"pid", signed_id(row)}, {"name", row.name}, {"processes", row.processes}};
      break;
    case By::name_space:
      out = {{"namespace", row.name}};
      break;
    case By::directory:
      out = {{"directory", row.name}};
      break;
    }
    out.add("self", row.self);
    out.add("inclusive", row.inclusive);
    if (table.by == By::function)
      out.add("calls", row.calls);
    rows.push_back(out);
  }
  Json all{{"events", table.events}, {"totals", table.totals}};
  all.add(row_names[static_cast<size_t>(table.by)], rows);
  return dump(all);
}

namespace {

Json json_of(const DiffTable &table, uint32_t limit) {
  Json rows = Json::list();
  for (size_t i = 0; i < shown(table.rows.size(), limit); ++i) {
    const DiffRow &row = table.rows[i];
    Json out{{"name", row.name},
             {"file", row.file},
             {"object", row.object},
             {"before", row.before},
             {"after", row.after}};
    if (table.by == By::line)
      out.add("line", row.line);
    rows.push_back(out);
  }
  return Json{{"events", std::span(&table.event, 1)},
              {"totals", {{"before", table.before_total}, {"after", table.after_total}}},
              {row_names[static_cast<size_t>(table.by)], rows}};
}

constexpr std::string_view verdict_names[] = {"passed", "failed", "undecided"};

std::string_view name_of(GateVerdict verdict) {
  return verdict_names[static_cast<size_t>(verdict)];
}

} // namespace

std::string to_json(const DiffTable &table, uint32_t limit) { return dump(json_of(table, limit)); }

std::string to_json(const DiffTable &table, const CostGate &gate, uint32_t limit) {
  Json judged = Json::list();
  for (const GateRow &row : gate.rows)
    judged.push_back({{"name", row.name},
                      {"file", row.file},
                      {"object", row.object},
                      {"before", row.before},
                      {"after", row.after},
                      {"growth", row.before > 0 ? Json(row.growth()) : Json()},
                      {"chance", row.chance ? Json(*row.chance) : Json()},
                      {"verdict", name_of(row.verdict)}});
  Json out = json_of(table, limit);
  out.add("gate", {{"limit", gate.percent},
                   {"verdict", name_of(gate.verdict)},
                   {"event", gate.event},
                   {"exact", gate.is_exact},
                   {"runs", {{"before", gate.runs_before}, {"after", gate.runs_after}}},
                   {"judged", judged},
                   {"not_judged",
                    {{"too_few_samples", gate.too_small},
                     {"only_before", gate.only_before},
                     {"only_after", gate.only_after}}},
                   {"missing", gate.missing}});
  return dump(out);
}

// Writes the nodes one by one instead of as one Json object, because the tree may be deep, and each
// level would copy the text of all levels below it.
static std::string json_of_nodes(const std::vector<TreeNode> &nodes) {
  const auto open_object = [](const Json &fields) { // omits the closing brace
    std::string text = fields.text();
    text.pop_back();
    return text;
  };
  std::string out = "[";
  size_t open = 0; // nodes whose children are being written
  bool first = true;
  for (const TreeNode &node : nodes) {
    for (; open > node.depth; --open) {
      out += "]}";
      first = false;
    }
    if (!first)
      out += ',';
    out += open_object({{"name", node.name},
                        {"file", node.file},
                        {"object", node.object},
                        {"self", node.self},
                        {"inclusive", node.inclusive},
                        {"calls", node.calls},
                        {"estimated", node.estimated},
                        {"recursive", node.recursive}});
    out += ",\"children\":[";
    ++open;
    first = true;
  }
  for (; open > 0; --open)
    out += "]}";
  return out + ']';
}

std::string to_json(const CallTree &tree) {
  std::string out = Json{{"events", tree.events}, {"totals", tree.totals}}.text();
  out.pop_back(); // the closing brace
  out += ",\"tree\":" + json_of_nodes(tree.nodes) + fmt::format(",\"left_out\":{}", tree.left_out);
  if (!tree.above.empty())
    out += ",\"callers\":" + json_of_nodes(tree.above) +
           fmt::format(",\"callers_left_out\":{}", tree.above_left_out);
  return out + "}\n";
}

std::string to_json(const Annotation &annotation, uint32_t limit) {
  Json files = Json::list();
  for (const AnnotatedFile &file : annotation.files) {
    Json lines = Json::list();
    for (const AnnotatedLine &line : std::span(file.lines).first(shown(file.lines.size(), limit))) {
      Json calls = Json::list();
      for (const AnnotatedCall &call : line.calls)
        calls.push_back({{"name", call.name},
                         {"file", call.file},
                         {"object", call.object},
                         {"calls", call.calls},
                         {"recursive", call.recursive},
                         {"inclusive", call.inclusive}});
      lines.push_back({{"line", line.line},
                       {"text", line.text},
                       {"self", line.self},
                       {"inclusive", line.inclusive},
                       {"calls", calls}});
    }
    Json out{{"file", file.file}, {"source", file.source}, {"self", file.self}, {"lines", lines}};
    if (!file.older.empty())
      out.add("older", file.older);
    files.push_back(out);
  }
  const Json all{{"events", annotation.events}, {"totals", annotation.totals}, {"files", files}};
  return dump(all);
}

std::string to_json(const HistogramTable &table, uint32_t limit) {
  Json bins = Json::list();
  for (const HistogramTable::Row &row : table.rows) {
    if (row.exact == 0)
      continue;
    if (limit > 0 && bins.size() == limit)
      break;
    bins.push_back({{"low", row.low},
                    {"high", row.high},
                    {"ticks", row.ticks},
                    {"function", row.symbol},
                    {"lines", row.lines}});
  }
  const Json all{{"object", table.object},
                 {"event", table.event},
                 {"total", table.total},
                 {"outside", table.outside},
                 {"bins", bins}};
  return dump(all);
}

std::string to_json(const Disassembly &disassembly, uint32_t limit) {
  Json objects = Json::list();
  for (const Disassembly::Object &object : disassembly.objects) {
    Json rows = Json::list();
    for (const InstructionRow &row : std::span(object.rows).first(shown(object.rows.size(), limit)))
      rows.push_back({{"address", row.address},
                      {"text", row.text},
                      {"self", row.self},
                      {"inclusive", row.inclusive},
                      {"function", row.function},
                      {"file", row.file},
                      {"line", row.line}});
    objects.push_back({{"object", object.path},
                       {"self", object.self},
                       {"own", object.own},
                       {"unplaced", object.unplaced},
                       {"instructions", rows}});
  }
  const Json all{{"event", disassembly.event}, {"total", disassembly.total}, {"objects", objects}};
  return dump(all);
}

std::string to_json(const Timeline &timeline) {
  Json threads = Json::list();
  for (const Timeline::Thread &thread : timeline.threads) {
    Json row{{"pid", thread.pid},
             {"tid", thread.tid},
             {"name", thread.name},
             {"begin_ns", thread.begin_ns},
             {"running", thread.running}};
    if (timeline.has_waits) {
      row.add("waiting", thread.waiting);
      row.add("queued", thread.queued);
    }
    threads.push_back(row);
  }
  Json parts = Json::list();
  for (const Timeline::Part &part : timeline.parts)
    parts.push_back({{"part", part.number},
                     {"trigger", part.trigger},
                     {"begin_ns", part.begin_ns},
                     {"end_ns", part.end_ns}});
  const Json all{
      {"axis",
       {{"from_ns", timeline.from_ns}, {"to_ns", timeline.to_ns}, {"cells", timeline.cells()}}},
      {"unit", timeline.has_durations ? "nanoseconds" : "samples"},
      {"threads", threads},
      {"parts", parts},
      {"left_out", timeline.left_out}};
  return dump(all);
}

std::string to_json(const HeatMap &map) {
  Json columns = Json::list();
  for (const HeatMap::Column &column : map.columns)
    columns.push_back(column);
  return dump(Json{{"axis",
                    {{"from_ns", map.begin_ns(0)},
                     {"to_ns", map.begin_ns(map.columns.size())},
                     {"column_ns", HeatMap::column_ns},
                     {"row_ns", HeatMap::row_ns}}},
                   {"event", map.event},
                   {"unit", map.has_durations ? "nanoseconds" : "count"},
                   {"columns", columns}});
}

} // namespace tally
