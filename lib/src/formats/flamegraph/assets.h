// What is the same in every picture: style.css and script.js, put into assets.cpp by Meson.
#pragma once

#include <string_view>

namespace tally::flamegraph {

extern const std::string_view style_css, script_js;

} // namespace tally::flamegraph
