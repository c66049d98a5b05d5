#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "report/render.h"
#include "report/time_axis.h"
#include "report/timeline.h"
#include "report/value_text.h"
#include "support/text.h"
#include "support/text_sink.h"
#include "support/xml_text.h"

namespace tally {

namespace {

// Sizes in pixels.
constexpr double picture_width = 1200, margin = 10, row_height = 20, line_height = 18;
constexpr double character = 7.25; // width in the font: 0.602 em of 12 px
constexpr uint32_t most_marks = 11;

// Orange, blue and violet differ in lightness, too, so that everybody can tell them apart. There
// are no custom properties, because image viewers that are not browsers do not know them.
constexpr std::string_view style = R"(svg { color-scheme: light dark; }
svg, text { font: 12px "DejaVu Sans Mono", Menlo, Consolas, "Liberation Mono", monospace; }
text { fill: #1b1c1e; }
.page { fill: #ffffff; }
.name { font-size: 15px; font-weight: bold; }
.quiet { fill: #5c6066; }
.back { fill: #f1f2f4; }
.running { fill: #e07b1a; }
.less { fill: #e07b1a; fill-opacity: 0.45; }
.waiting { fill: #a9cdec; }
.queued { fill: #5b2d8e; }
.grid { stroke: #c9ccd1; }
.part { stroke: #1b1c1e; stroke-width: 1.5; stroke-dasharray: 4 2; }
@media (prefers-color-scheme: dark) {
  text { fill: #f1f2f4; }
  .page { fill: #17191c; }
  .quiet { fill: #a4a9b0; }
  .back { fill: #22252a; }
  .running, .less { fill: #f0953f; }
  .waiting { fill: #2c5a86; }
  .queued { fill: #cdaef5; }
  .grid { stroke: #43474d; }
  .part { stroke: #f1f2f4; }
}
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

std::string number(double pixels) {
  std::string text = fmt::format("{:.2f}", pixels);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.'))
    text.pop_back();
  return text;
}

std::string clean(std::string_view text) {
  bool changed = false;
  return xml_escaped(xml_text(text, changed));
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
    return left_ +
           static_cast<double>(ns - timeline_.from_ns) / length * (picture_width - margin - left_);
  }
  void text(double x, double y, std::string_view text, std::string_view kind = {},
            std::string_view anchor = {});
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

void Picture::text(double x, double y, std::string_view text, std::string_view kind,
                   std::string_view anchor) {
  to_.put(fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", number(x), number(y),
                      kind.empty() ? "" : fmt::format(" class=\"{}\"", kind),
                      anchor.empty() ? "" : fmt::format(" text-anchor=\"{}\"", anchor),
                      clean(text)));
}

// Draws a vertical line through all rows.
void Picture::line(std::string_view kind, double x, std::string_view title) {
  to_.put(fmt::format("<line class=\"{}\" x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\">", kind,
                      number(x), number(x), number(top_ - 2), number(bottom_)));
  if (!title.empty())
    to_.put(fmt::format("<title>{}</title>", clean(title)));
  to_.put("</line>\n");
}

void Picture::lay_out() {
  size_t widest = 0;
  for (const std::string &label : labels_)
    widest = std::max(widest, display_width(label));
  left_ = margin + (static_cast<double>(widest) + 1) * character;
  for (const Timeline::Part &part : timeline_.parts)
    if (part.end_ns > timeline_.from_ns && part.end_ns < timeline_.to_ns)
      ended_.push_back(&part);
  top_ = 14 + (ended_.empty() ? 3 : 4) * line_height + 4;
  bottom_ = top_ + static_cast<double>(timeline_.threads.size()) * row_height;
}

void Picture::head() {
  constexpr size_t longest = 130;
  text(margin, 24,
       first_columns(timeline_.command.empty() ? "Timeline" : timeline_.command, longest), "name");
  std::string about =
      fmt::format("{} to {}", axis_.text(timeline_.from_ns), axis_.text(timeline_.to_ns));
  if (timeline_.times_from_ns > 0)
    about +=
        fmt::format("; the times before {} were not kept", axis_.text(timeline_.times_from_ns));
  if (timeline_.left_out > 0)
    about += fmt::format("; {} less busy threads are not drawn", timeline_.left_out);
  text(margin, 24 + line_height, about, "quiet");
}

void Picture::marks() {
  const auto times = round_times(timeline_.from_ns, timeline_.to_ns, most_marks);
  const uint64_t step = times.size() > 1 ? times[1] - times[0] : 1;
  const TimeAxis round(timeline_.to_ns, step);
  for (const uint64_t time : times) {
    line("grid", x_of(time));
    const double half = static_cast<double>(display_width(round.text(time))) * character / 2;
    const bool at_end = x_of(time) + half > picture_width;
    text(x_of(time), 24 + 2 * line_height, round.text(time), "quiet", at_end ? "end" : "middle");
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
  std::string title = fmt::format("{}\n{} to {}: {}\n", clean(labels_[row]), axis_.text(from),
                                  axis_.text(to), duration_text(to - from));
  title += timeline_.has_durations ? "running " + duration_text(sum(thread.running))
                                   : counted(sum(thread.running), "samples");
  if (timeline_.has_waits)
    title += fmt::format(", waiting {}", duration_text(sum(thread.waiting)));
  if (const uint64_t queued = sum(thread.queued); queued > 0)
    title += fmt::format(", queued {}", duration_text(queued));
  to_.put(fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"><title>{}"
                      "</title></rect>\n",
                      class_of(timeline_.state(thread, begin)), number(x_of(from)),
                      number(top_ + static_cast<double>(row) * row_height + 1),
                      number(x_of(to) - x_of(from)), number(row_height - 3), title));
}

void Picture::row(size_t index) {
  const Timeline::Thread &thread = timeline_.threads[index];
  const double y = top_ + static_cast<double>(index) * row_height;
  to_.put("<g>");
  text(margin, y + 14, labels_[index]);
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
        i + 1 < ended_.size() ? x_of(ended_[i + 1]->end_ns) : picture_width - margin;
    const std::string name = part_name(*ended_[i]);
    line("part", x, fmt::format("{}: {} ends", axis_.text(ended_[i]->end_ns), name));
    const auto columns = static_cast<size_t>(std::max(0.0, (next - x) / character - 1));
    if (columns >= std::min<size_t>(9, display_width(name)))
      text(x, top_ - 6, first_columns(name, columns), "quiet");
  }
}

void Picture::legend() {
  std::vector<std::pair<ThreadState, std::string_view>> entries;
  if (timeline_.has_waits)
    entries = {{ThreadState::running, "running"},
               {ThreadState::waiting, "waiting"},
               {ThreadState::queued, "queued: ready, but not running"}};
  else if (timeline_.has_durations)
    entries = {{ThreadState::running, "running at least half of the time"},
               {ThreadState::running_less, "running less"}};
  else
    entries = {{ThreadState::running, "many samples"}, {ThreadState::running_less, "few samples"}};
  double x = left_;
  for (const auto &[state, name] : entries) {
    to_.put(fmt::format("<rect class=\"{}\" x=\"{}\" y=\"{}\" width=\"12\" height=\"12\"/>",
                        class_of(state), number(x), number(bottom_ + 12)));
    text(x + 18, bottom_ + 22, name);
    x += 40 + static_cast<double>(name.size()) * character;
  }
}

void Picture::write() {
  lay_out();
  const double height = bottom_ + 34;
  to_.put(fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
      "viewBox=\"0 0 {0} {1}\">\n<title>{2}</title>\n<style><![CDATA[\n{3}]]></style>"
      "\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n"
      "<rect class=\"back\" x=\"{4}\" y=\"{5}\" width=\"{6}\" height=\"{7}\"/>\n",
      number(picture_width), number(height),
      clean(timeline_.command.empty() ? "Timeline" : timeline_.command), style, number(left_),
      number(top_), number(picture_width - margin - left_), number(bottom_ - top_)));
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
