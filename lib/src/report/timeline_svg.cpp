#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/picture.h"
#include "report/render.h"
#include "report/time_axis.h"
#include "report/timeline.h"
#include "report/value_text.h"
#include "support/text.h"
#include "support/text_sink.h"

namespace tally {

namespace {

constexpr double row_height = 20; // in pixels
constexpr uint32_t most_marks = 11;

// Orange, blue and violet differ in lightness, too, so that everybody can tell them apart.
constexpr std::string_view style = R"(.running { fill: #e07b1a; }
.less { fill: #e07b1a; fill-opacity: 0.45; }
.waiting { fill: #a9cdec; }
.queued { fill: #5b2d8e; }
.grid { stroke: #c9ccd1; }
.part { stroke: #1b1c1e; stroke-width: 1.5; stroke-dasharray: 4 2; }
)";
constexpr std::string_view dark_style = R"(  .running, .less { fill: #f0953f; }
  .waiting { fill: #2c5a86; }
  .queued { fill: #cdaef5; }
  .grid { stroke: #43474d; }
  .part { stroke: #f1f2f4; }
)";

std::string_view class_of(ThreadState state) {
  switch (state) {
  case ThreadState::running:
    return "running";
  case ThreadState::running_less:
    return "less";
  case ThreadState::waiting:
    return "waiting";
  case ThreadState::queued:
    return "queued";
  case ThreadState::unknown:
    break;
  }
  return "";
}

std::string part_name(const Timeline::Part &part) {
  return fmt::format("part {}{}{}", part.number, part.trigger.empty() ? "" : ": ", part.trigger);
}

class Picture {
public:
  Picture(const Timeline &timeline, std::string &out)
      : timeline_(timeline), labels_(thread_labels(timeline)), to_(out),
        axis_(timeline.to_ns, (timeline.to_ns - timeline.from_ns) / 1000) {}

  void write();

private:
  double x_of(uint64_t ns) const {
    const auto length = static_cast<double>(timeline_.to_ns - timeline_.from_ns);
    return left_ + static_cast<double>(ns - timeline_.from_ns) / length *
                       (picture_width - picture_margin - left_);
  }
  void text(double x, double y, std::string_view text, std::string_view kind = {},
            std::string_view anchor = {}) {
    to_.put(picture_label(x, y, text, kind, anchor));
  }
  void line(std::string_view kind, double x, std::string_view title = {});
  void lay_out();
  void head();
  void marks();
  void row(size_t index);
  void stretch(size_t row, size_t begin, size_t end);
  void parts();
  void legend();

  const Timeline &timeline_;
  std::vector<std::string> labels_;
  TextSink to_;
  TimeAxis axis_;
  std::vector<const Timeline::Part *> ended_; // parts that end before the end of the axis
  double left_ = 0, top_ = 0, bottom_ = 0;    // of the rows
};

// Draws a vertical line through all rows.
void Picture::line(std::string_view kind, double x, std::string_view title) {
  to_.put(fmt::format("<line class=\"{}\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\">", kind,
                      pixels(x), pixels(x), pixels(top_ - 2), pixels(bottom_)));
  if (!title.empty())
    to_.put(fmt::format("<title>{}</title>", picture_text(title)));
  to_.put("</line>\n");
}

void Picture::lay_out() {
  size_t widest = 0;
  for (const std::string &label : labels_)
    widest = std::max(widest, display_width(label));
  left_ = picture_margin + (static_cast<double>(widest) + 1) * picture_character;
  for (const Timeline::Part &part : timeline_.parts)
    if (part.end_ns > timeline_.from_ns && part.end_ns < timeline_.to_ns)
      ended_.push_back(&part);
  top_ = 14 + (ended_.empty() ? 3 : 4) * picture_line + 4;
  bottom_ = top_ + static_cast<double>(timeline_.threads.size()) * row_height;
}

void Picture::head() {
  constexpr size_t longest = 130;
  text(picture_margin, 24,
       first_columns(timeline_.command.empty() ? "Timeline" : timeline_.command, longest), "name");
  std::string about =
      fmt::format("{} to {}", axis_.text(timeline_.from_ns), axis_.text(timeline_.to_ns));
  if (timeline_.times_from_ns > 0)
    about +=
        fmt::format("; the times before {} were not kept", axis_.text(timeline_.times_from_ns));
  if (timeline_.left_out > 0)
    about += fmt::format("; {} less busy threads are not drawn", timeline_.left_out);
  text(picture_margin, 24 + picture_line, about, "quiet");
}

void Picture::marks() {
  const auto times = round_times(timeline_.from_ns, timeline_.to_ns, most_marks);
  const uint64_t step = times.size() > 1 ? times[1] - times[0] : 1;
  const TimeAxis round(timeline_.to_ns, step);
  for (const uint64_t time : times) {
    line("grid", x_of(time));
    const double half =
        static_cast<double>(display_width(round.text(time))) * picture_character / 2;
    const bool at_end = x_of(time) + half > picture_width;
    text(x_of(time), 24 + 2 * picture_line, round.text(time), "quiet", at_end ? "end" : "middle");
  }
}

// Draws a stretch of cells in which the thread is in the same state.
void Picture::stretch(size_t row, size_t begin, size_t end) {
  const Timeline::Thread &thread = timeline_.threads[row];
  const auto sum = [&](const std::vector<uint64_t> &cells) {
    uint64_t out = 0;
    for (size_t i = begin; i < end && i < cells.size(); ++i)
      out += cells[i];
    return out;
  };
  const uint64_t from = timeline_.edges[begin], to = timeline_.edges[end];
  std::string title = fmt::format("{}\n{} to {}: {}\n", picture_text(labels_[row]),
                                  axis_.text(from), axis_.text(to), duration_text(to - from));
  title += timeline_.has_durations ? "running " + duration_text(sum(thread.running))
                                   : counted(sum(thread.running), "samples");
  if (timeline_.has_waits)
    title += fmt::format(", waiting {}", duration_text(sum(thread.waiting)));
  if (const uint64_t queued = sum(thread.queued); queued > 0)
    title += fmt::format(", queued {}", duration_text(queued));
  to_.put(fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}"
                      "</title></rect>\n",
                      class_of(timeline_.state(thread, begin)), pixels(x_of(from)),
                      pixels(top_ + static_cast<double>(row) * row_height + 1),
                      pixels(x_of(to) - x_of(from)), pixels(row_height - 3), title));
}

void Picture::row(size_t index) {
  const Timeline::Thread &thread = timeline_.threads[index];
  const double y = top_ + static_cast<double>(index) * row_height;
  to_.put("<g>");
  text(picture_margin, y + 14, labels_[index]);
  for (size_t begin = 0; begin < timeline_.cells();) {
    size_t end = begin + 1;
    const ThreadState state = timeline_.state(thread, begin);
    while (end < timeline_.cells() && timeline_.state(thread, end) == state)
      ++end;
    if (state != ThreadState::unknown)
      stretch(index, begin, end);
    begin = end;
  }
  to_.put("</g>\n");
}

// Draws the ends of the parts, with their names where there is room.
void Picture::parts() {
  for (size_t i = 0; i < ended_.size(); ++i) {
    const double x = x_of(ended_[i]->end_ns);
    const double next =
        i + 1 < ended_.size() ? x_of(ended_[i + 1]->end_ns) : picture_width - picture_margin;
    const std::string name = part_name(*ended_[i]);
    line("part", x, fmt::format("{}: {} ends", axis_.text(ended_[i]->end_ns), name));
    const auto columns = static_cast<size_t>(std::max(0.0, (next - x) / picture_character - 1));
    if (columns >= std::min<size_t>(9, display_width(name)))
      text(x, top_ - 6, first_columns(name, columns), "quiet");
  }
}

void Picture::legend() {
  std::vector<std::pair<ThreadState, std::string_view>> entries;
  if (timeline_.has_waits)
    entries = {{ThreadState::running, "running"},
               {ThreadState::waiting, "waiting"},
               {ThreadState::queued, "queued: without a processor"}};
  else if (timeline_.has_durations)
    entries = {{ThreadState::running, "running at least half of the time"},
               {ThreadState::running_less, "running less"}};
  else
    entries = {{ThreadState::running, "many samples"}, {ThreadState::running_less, "few samples"}};
  double x = left_;
  for (const auto &[state, name] : entries) {
    to_.put(fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"12\" height=\"12\"/>",
                        class_of(state), pixels(x), pixels(bottom_ + 12)));
    text(x + 18, bottom_ + 22, name);
    x += 40 + static_cast<double>(name.size()) * picture_character;
  }
}

void Picture::write() {
  lay_out();
  const double height = bottom_ + 34;
  to_.put(picture_head(height, timeline_.command.empty() ? "Timeline" : timeline_.command, style,
                       dark_style));
  to_.put(fmt::format("<rect class=\"back\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                      pixels(left_), pixels(top_), pixels(picture_width - picture_margin - left_),
                      pixels(bottom_ - top_)));
  head();
  marks();
  for (size_t i = 0; i < timeline_.threads.size(); ++i)
    row(i);
  parts();
  legend();
  to_.put("</svg>\n");
  to_.flush();
}

} // namespace

std::string to_svg(const Timeline &timeline) {
  std::string out;
  Picture picture(timeline, out);
  picture.write();
  return out;
}

} // namespace tally
