// The files that are the same in every report, style.css and report.js. Meson embeds them from
// assets.cpp.in.
#pragma once

#include <string_view>

namespace tally::html {

extern const std::string_view style_css, report_js;

} // namespace tally::html
