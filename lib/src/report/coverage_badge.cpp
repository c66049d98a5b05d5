#include "report/coverage_badge.h"

#include <array>
#include <cmath>

#include <fmt/format.h>

#include "report/coverage_report.h"

namespace tally {

namespace {

constexpr std::string_view badge_label = "coverage";

// A color has the name that shields.io gives to its own, and a value that is dark enough for white
// text to have a contrast of at least 4.5:1.
struct BadgeColor {
  unsigned least; // percent
  std::string_view name, value;
};
constexpr std::array<BadgeColor, 6> colors{{
    {90, "brightgreen", "#2a7f32"},
    {80, "green", "#4b7a1c"},
    {70, "yellowgreen", "#6a7014"},
    {60, "yellow", "#8a6508"},
    {40, "orange", "#b0500f"},
    {0, "red", "#c0392b"},
}};
constexpr BadgeColor without_lines{0, "lightgrey", "#6b6b6b"};

struct BadgeText {
  std::string message;
  BadgeColor color;
};

BadgeText badge_text(const Coverage &coverage) {
  const CoverageTotals totals = totals_of(coverage);
  if (totals.lines == 0)
    return {"unknown", without_lines};
  BadgeText out{share_text(totals.lines_executed, totals.lines), colors.back()};
  for (const BadgeColor &color : colors)
    if (static_cast<double>(totals.lines_executed) * 100 >=
        static_cast<double>(totals.lines) * color.least) {
      out.color = color;
      break;
    }
  return out;
}

// Returns how wide the text is at a size of 11 pixels, in pixels. The widths are roughly those of
// Verdana and DejaVu Sans; textLength makes other fonts as wide.
unsigned width_of(std::string_view text) {
  double width = 0;
  for (const char c : text) {
    if (c == '.')
      width += 4;
    else if (c == '%')
      width += 11.5;
    else if (c == 'w' || c == 'm')
      width += 9.5;
    else
      width += 6.9;
  }
  return static_cast<unsigned>(std::lround(width));
}

} // namespace

std::string to_badge(const Coverage &coverage) {
  constexpr unsigned margin = 6, baseline = 14;
  const auto [message, color] = badge_text(coverage);
  const unsigned left = width_of(badge_label) + 2 * margin, right = width_of(message) + 2 * margin;
  const auto text = [&](std::string_view words, unsigned from, unsigned width) {
    const unsigned length = width - 2 * margin;
    const double middle = from + width / 2.0;
    // The same text in black, one pixel below, is the shadow.
    return fmt::format(
        "<text x=\"{0}\" y=\"{1}\" fill=\"#000\" fill-opacity=\".35\" textLength=\"{2}\" "
        "aria-hidden=\"true\">{3}</text><text x=\"{0}\" y=\"{4}\" textLength=\"{2}\">{3}</text>\n",
        middle, baseline + 1, length, words, baseline);
  };
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"20\" "
      "viewBox=\"0 0 {0} 20\" role=\"img\" aria-label=\"{1}: {2}\">\n"
      "<title>{1}: {2}</title>\n"
      "<defs><linearGradient id=\"coverage-shine\" x2=\"0\" y2=\"1\"><stop stop-color=\"#fff\" "
      "stop-opacity=\".12\"/><stop offset=\"1\" stop-opacity=\".12\"/></linearGradient>\n"
      "<clipPath id=\"coverage-corners\"><rect width=\"{0}\" height=\"20\" "
      "rx=\"3\"/></clipPath></defs>\n"
      "<g clip-path=\"url(#coverage-corners)\"><rect width=\"{3}\" height=\"20\" fill=\"#505050\"/>"
      "<rect x=\"{3}\" width=\"{4}\" height=\"20\" fill=\"{5}\"/>"
      "<rect width=\"{0}\" height=\"20\" fill=\"url(#coverage-shine)\"/></g>\n"
      "<g fill=\"#fff\" text-anchor=\"middle\" font-size=\"11\" "
      "font-family=\"Verdana,DejaVu Sans,Geneva,sans-serif\">\n{6}{7}</g>\n</svg>\n",
      left + right, badge_label, message, left, right, color.value, text(badge_label, 0, left),
      text(message, left, right));
}

std::string to_shields(const Coverage &coverage) {
  const auto [message, color] = badge_text(coverage);
  return fmt::format(
      "{{\"schemaVersion\":1,\"label\":\"{}\",\"message\":\"{}\",\"color\":\"{}\"}}\n", badge_label,
      message, color.name);
}

} // namespace tally
