// Declares the parts that are the same in every picture, style.css and script.js. Meson embeds them
// in the file that it generates from assets.cpp.in.
#pragma once

#include <string_view>

namespace tally::flamegraph {

// difference_css is for pictures of differences alone.
extern const std::string_view style_css, difference_css, script_js;

} // namespace tally::flamegraph
