#include "report/picture.h"

#include <fmt/format.h>

#include "support/xml_text.h"

namespace tally {

namespace {

// There are no custom properties, because image viewers that are not browsers do not know them.
constexpr std::string_view page_style = R"(svg { color-scheme: light dark; }
svg, text { font: 12px "DejaVu Sans Mono", Menlo, Consolas, "Liberation Mono", monospace; }
text { fill: #1b1c1e; }
.page { fill: #ffffff; }
.name { font-size: 15px; font-weight: bold; }
.quiet { fill: #5c6066; }
.back { fill: #f1f2f4; }
)";
constexpr std::string_view dark_page_style = R"(  text { fill: #f1f2f4; }
  .page { fill: #17191c; }
  .quiet { fill: #a4a9b0; }
  .back { fill: #22252a; }
)";

} // namespace

std::string pixels(double number) {
  std::string text = fmt::format("{:.2f}", number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.'))
    text.pop_back();
  return text;
}

std::string picture_text(std::string_view of) {
  bool changed = false;
  return xml_escaped(xml_text(of, changed));
}

std::string picture_head(double height, std::string_view title, std::string_view style,
                         std::string_view dark_style) {
  return fmt::format("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                     "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                     "viewBox=\"0 0 {0} {1}\">\n<title>{2}</title>\n<style><![CDATA[\n{3}{4}"
                     "@media (prefers-color-scheme: dark) {{\n{5}{6}}}\n]]></style>"
                     "\n<rect class=\"page\" width=\"100%\" height=\"100%\"/>\n",
                     pixels(picture_width), pixels(height), picture_text(title), page_style, style,
                     dark_page_style, dark_style);
}

std::string picture_label(double x, double y, std::string_view text, std::string_view kind,
                          std::string_view anchor) {
  return fmt::format("<text x=\"{}\" y=\"{}\"{}{}>{}</text>\n", pixels(x), pixels(y),
                     kind.empty() ? "" : fmt::format(" class=\"{}\"", kind),
                     anchor.empty() ? "" : fmt::format(" text-anchor=\"{}\"", anchor),
                     picture_text(text));
}

} // namespace tally
