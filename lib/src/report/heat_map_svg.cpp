#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "report/heat_map.h"
#include "report/heat_map_steps.h"
#include "report/picture.h"
#include "report/render.h"
#include "report/time_axis.h"
#include "report/value_text.h"
#include "support/text.h"
#include "support/text_sink.h"

namespace tally {

namespace {

constexpr size_t heat_shades = 8;
constexpr double heat_cell_height = 9, heat_widest_cell = 24; // in pixels
constexpr double heat_left = picture_margin + 7 * picture_character;
constexpr double heat_top = 24 + 3 * picture_line;
constexpr double heat_bottom = heat_top + static_cast<double>(HeatMap::rows) * heat_cell_height;
constexpr uint32_t most_heat_marks = 11;

// The fullest cell has the colour of what runs in a timeline.
constexpr std::string_view heat_style = R"(.heat { fill: #e07b1a; }
.grid { stroke: #c9ccd1; }
)";
constexpr std::string_view dark_heat_style = R"(  .heat { fill: #f0953f; }
  .grid { stroke: #43474d; }
)";

double heat_opacity(size_t shade) {
  return 0.1 + 0.9 * static_cast<double>(shade) / static_cast<double>(heat_shades);
}

class HeatPicture {
public:
  HeatPicture(const HeatMap &map, std::string &out)
      : map_(map), to_(out),
        width_(std::min(heat_widest_cell, (picture_width - heat_left - picture_margin) /
                                              static_cast<double>(map.columns.size()))) {}

  void write() {
    to_.put(picture_head(heat_bottom + 48, title(), heat_style, dark_heat_style));
    to_.put(picture_label(picture_margin, 24, first_columns(title(), 130), "name"));
    std::string about =
        fmt::format("{}: a column is a second, a cell is 20 ms of it", what_is_shown(map_));
    if (map_.times_from_ns > 0)
      about +=
          fmt::format("; the times before {} were not kept", duration_text(map_.times_from_ns));
    to_.put(picture_label(picture_margin, 24 + picture_line, about, "quiet"));
    to_.put(fmt::format("<rect class=\"back\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>\n",
                        pixels(heat_left), pixels(heat_top),
                        pixels(x_of(map_.columns.size()) - heat_left),
                        pixels(heat_bottom - heat_top)));
    marks();
    for (size_t i = 0; i < map_.columns.size(); ++i)
      column(i);
    legend();
    to_.put("</svg>\n");
    to_.flush();
  }

private:
  std::string title() const { return map_.command.empty() ? "Heat map" : map_.command; }
  double x_of(size_t column) const { return heat_left + static_cast<double>(column) * width_; }

  void marks() {
    for (uint32_t ms = 0; ms <= 1000; ms += 250)
      to_.put(
          picture_label(heat_left - picture_character / 2,
                        heat_bottom - (heat_bottom - heat_top) * ms / 1000 + (ms == 1000 ? 10 : 0),
                        fmt::format("{} ms", ms), "quiet", "end"));
    const uint64_t first = map_.begin_ns(0) / HeatMap::column_ns;
    // One mark needs about 60 pixels.
    const auto most = std::clamp(
        static_cast<uint32_t>((x_of(map_.columns.size()) - heat_left) / 60), 2u, most_heat_marks);
    for (const uint64_t second : round_times(first, first + map_.columns.size(), most)) {
      const double x = x_of(second - first);
      to_.put(fmt::format("<line class=\"grid\" x1=\"{0}\" x2=\"{0}\" y1=\"{1}\" y2=\"{2}\"/>\n",
                          pixels(x), pixels(heat_bottom), pixels(heat_bottom + 5)));
      to_.put(picture_label(x, heat_bottom + 18, fmt::format("{} s", second), "quiet", "middle"));
    }
  }

  void column(size_t index) {
    for (size_t row = 0; row < HeatMap::rows; ++row) {
      const uint64_t amount = map_.columns[index][row];
      const size_t shade = heat_step(amount, map_.most, heat_shades);
      if (shade == 0)
        continue;
      const uint64_t begin = map_.begin_ns(index) + row * HeatMap::row_ns;
      to_.put(fmt::format("<rect class=\"heat\" fill-opacity=\"{:.2f}\" x=\"{}\" y=\"{}\" "
                          "width=\"{}\" height=\"{}\">"
                          "<title>{:.2f} to {:.2f} s: {}</title></rect>\n",
                          heat_opacity(shade), pixels(x_of(index)),
                          pixels(heat_bottom - static_cast<double>(row + 1) * heat_cell_height),
                          pixels(width_), pixels(heat_cell_height),
                          static_cast<double>(begin) / 1e9,
                          static_cast<double>(begin + HeatMap::row_ns) / 1e9,
                          picture_text(amount_words(map_, amount))));
    }
  }

  void legend() {
    const double y = heat_bottom + 28;
    for (size_t shade = 1; shade <= heat_shades; ++shade)
      to_.put(fmt::format("<rect class=\"heat\" fill-opacity=\"{:.2f}\" x=\"{}\" y=\"{}\" "
                          "width=\"16\" height=\"12\"/>\n",
                          heat_opacity(shade),
                          pixels(heat_left + static_cast<double>(shade - 1) * 16), pixels(y)));
    to_.put(picture_label(heat_left + heat_shades * 16 + picture_character, y + 10,
                          fmt::format("up to {}", amount_words(map_, map_.most))));
  }

  const HeatMap &map_;
  TextSink to_;
  double width_; // of a cell
};

} // namespace

std::string to_svg(const HeatMap &map) {
  std::string out;
  HeatPicture(map, out).write();
  return out;
}

} // namespace tally
