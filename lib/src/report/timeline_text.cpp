#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "report/render.h"
#include "report/time_axis.h"
#include "report/timeline.h"
#include "report/value_text.h"
#include "support/text.h"

namespace tally {

namespace {

char mark_of(ThreadState state) {
  switch (state) {
  case ThreadState::running:
    return '#';
  case ThreadState::running_less:
    return '+';
  case ThreadState::waiting:
    return '.';
  case ThreadState::queued:
    return '-';
  case ThreadState::unknown:
    break;
  }
  return ' ';
}

std::string legend(const Timeline &timeline, bool has_marks) {
  std::string out = timeline.has_waits ? "# running  . waiting  - queued"
                    : timeline.has_durations
                        ? "# running at least half of the column  + less"
                        : fmt::format("# at least half of {}, the most in a column  + fewer",
                                      counted(timeline.most_samples, "samples"));
  if (has_marks)
    out += "  | a part ends";
  return out;
}

// Returns a line with times at the beginning, the quarters and the end of `cells` columns. Those
// for which there is no room are left out.
std::string axis_line(const Timeline &timeline, const TimeAxis &axis) {
  const size_t cells = timeline.cells();
  const uint64_t length = timeline.to_ns - timeline.from_ns;
  const std::string last = axis.text(timeline.to_ns);
  const size_t last_begin = cells - std::min(cells, display_width(last));
  std::string out;
  for (size_t quarter = 0; quarter < 4; ++quarter) {
    const size_t at = cells * quarter / 4;
    const std::string text = axis.text(timeline.from_ns + length / 4 * quarter);
    const size_t used = display_width(out);
    if ((used > 0 && used >= at) || at + display_width(text) >= last_begin)
      continue;
    out.append(at - used, ' ') += text;
  }
  out.append(last_begin - std::min(last_begin, display_width(out)), ' ');
  return out + last;
}

// Returns the parts that end on the axis before its end, or none if they would cover the rows.
std::vector<const Timeline::Part *> marked_parts(const Timeline &timeline) {
  std::vector<const Timeline::Part *> out;
  for (const Timeline::Part &part : timeline.parts)
    if (part.end_ns > timeline.from_ns && part.end_ns < timeline.to_ns)
      out.push_back(&part);
  if (out.size() > timeline.cells() / 4)
    out.clear();
  return out;
}

} // namespace

std::string to_text(const Timeline &timeline, const TextOptions &options) {
  const auto remark = [&](const std::string &text) {
    return options.style.paint(Role::metadata, text) + '\n';
  };
  const uint64_t length = timeline.to_ns - timeline.from_ns;
  const TimeAxis axis(timeline.to_ns, length / 100);
  const auto marks = marked_parts(timeline);
  std::string out =
      fmt::format("{} to {}; a column is {}\n", axis.text(timeline.from_ns),
                  axis.text(timeline.to_ns), duration_text(length / timeline.cells()));
  out += legend(timeline, !marks.empty()) + '\n';
  if (timeline.times_from_ns > 0)
    out += remark(
        fmt::format("(the times before {} were not kept)", duration_text(timeline.times_from_ns)));

  const std::vector<std::string> labels = thread_labels(timeline);
  size_t width = thread_title.size();
  for (const std::string &label : labels)
    width = std::max(width, display_width(label));
  const auto padded = [&](std::string_view text) {
    return std::string(text) + std::string(width - std::min(width, display_width(text)) + 2, ' ');
  };
  out += options.style.paint(Role::title, padded(thread_title) + axis_line(timeline, axis)) + '\n';
  for (size_t row = 0; row < timeline.threads.size(); ++row) {
    std::string cells;
    for (size_t i = 0; i < timeline.cells(); ++i)
      cells += mark_of(timeline.state(timeline.threads[row], i));
    for (const Timeline::Part *part : marks)
      cells[timeline.cell_at(part->end_ns - 1)] = '|';
    cells.erase(cells.find_last_not_of(' ') + 1);
    out += padded(labels[row]) + cells + '\n';
  }
  if (timeline.left_out > 0)
    out += remark(fmt::format("({} more; --limit 0 shows all)", timeline.left_out));
  for (const Timeline::Part *part : marks)
    out += fmt::format("| {}: part {}{}{}\n", axis.text(part->end_ns), part->number,
                       part->trigger.empty() ? "" : ", ", printable(part->trigger));
  if (marks.empty() && timeline.parts.size() > 1)
    out += remark(fmt::format("({} parts, too many to mark; --from and --to show fewer)",
                              timeline.parts.size()));
  return out;
}

} // namespace tally
