#include "session/status.h"

#include <utility>

#include <fmt/format.h>

namespace tally {

StatusRow::StatusRow(std::string_view row, std::string shown)
    : name(row), text(std::move(shown)), key(row), value(text) {}

StatusRow::StatusRow(std::string_view row, uint64_t count)
    : name(row), text(fmt::format("{}", count)), key(row), value(count) {}

StatusRow StatusRow::seconds(std::string_view row, uint64_t ns, std::string shown) {
  StatusRow out(row, std::move(shown));
  out.key += "_s";
  out.value = static_cast<double>(ns) * 1e-9;
  return out;
}

StatusRow StatusRow::bytes(std::string_view row, uint64_t count, std::string shown) {
  StatusRow out(row, std::move(shown));
  out.key += "_bytes";
  out.value = count;
  return out;
}

StatusRow StatusRow::noted(std::string_view row, std::string_view shown) {
  const size_t at = shown.find(" (");
  if (at == shown.npos || !shown.ends_with(')'))
    return StatusRow(row, std::string(shown));
  return StatusRow(row, std::string(shown.substr(0, at)))
      .with_note(shown.substr(at + 2, shown.size() - at - 3));
}

StatusRow StatusRow::with_note(std::string_view text_of_note) && {
  text += fmt::format(" ({})", text_of_note);
  note = text_of_note;
  return std::move(*this);
}

std::string to_text(const std::vector<StatusRow> &rows, const Style &style) {
  std::string out;
  for (const StatusRow &row : rows)
    out += fmt::format("{} {}\n", style.paint(Role::variable, row.name), row.text);
  return out;
}

std::string to_json(const std::vector<StatusRow> &rows) {
  return to_json_object(rows).text() + '\n';
}

JsonOut to_json_object(const std::vector<StatusRow> &rows) {
  JsonOut out = JsonOut::object();
  for (const StatusRow &row : rows) {
    std::visit([&](const auto &value) { out.add(row.key, value); }, row.value);
    if (!row.note.empty())
      out.add(row.name + "_note", row.note);
  }
  return out;
}

} // namespace tally
