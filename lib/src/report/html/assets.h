// What is the same in every report: style.css and report.js, put into assets.cpp by Meson.
#pragma once

#include <string_view>

namespace tally::html {

extern const std::string_view style_css, report_js;

} // namespace tally::html
