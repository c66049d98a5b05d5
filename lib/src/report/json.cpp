#include <algorithm>

#include <nlohmann/json.hpp>

#include <tally/report.h>

namespace tally {

namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json &json) {
  // Programs expect a single line, although one row per line would give better diffs.
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

constexpr std::string_view row_names[] = {"functions", "lines", "objects", "threads", "parts"};

size_t shown(size_t rows, uint32_t limit) {
  return limit == 0 ? rows : std::min<size_t>(rows, limit);
}

} // namespace

std::string to_json(const FlatTable &table, uint32_t limit) {
  Json rows = Json::array();
  for (size_t i = 0; i < shown(table.rows.size(), limit); ++i) {
    const FlatRow &row = table.rows[i];
    Json out;
    switch (table.by) {
    case By::function:
      out = {{"name", row.name}, {"file", row.file}, {"object", row.object}};
      break;
    case By::line:
      out = {
          {"file", row.file}, {"line", row.line}, {"function", row.name}, {"object", row.object}};
      break;
    case By::object:
      out = {{"object", row.object}};
      break;
    case By::thread:
      out = {{"tid", row.id}, {"name", row.name}};
      break;
    case By::part:
      out = {{"part", row.id}, {"trigger", row.name}};
      break;
    }
    out["self"] = row.self;
    out["inclusive"] = row.inclusive;
    if (table.by == By::function)
      out["calls"] = row.calls;
    rows.push_back(std::move(out));
  }
  Json all{{"events", table.events}, {"totals", table.totals}};
  all[std::string(row_names[static_cast<size_t>(table.by)])] = std::move(rows);
  return dump(all);
}

std::string to_json(const DiffTable &table, uint32_t limit) {
  Json rows = Json::array();
  for (size_t i = 0; i < shown(table.rows.size(), limit); ++i) {
    const DiffRow &row = table.rows[i];
    Json out{{"name", row.name},
             {"file", row.file},
             {"object", row.object},
             {"before", row.before},
             {"after", row.after}};
    if (table.by == By::line)
      out["line"] = row.line;
    rows.push_back(std::move(out));
  }
  return dump(Json{{"events", {table.event}},
                   {"totals", {{"before", table.before_total}, {"after", table.after_total}}},
                   {std::string(row_names[static_cast<size_t>(table.by)]), std::move(rows)}});
}

} // namespace tally
