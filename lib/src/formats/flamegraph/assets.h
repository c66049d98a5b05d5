// Declares the parts that are the same in every picture, style.css and script.js. Meson embeds them
// in the file that it generates from assets.cpp.in.
#pragma once

#include <string_view>

namespace tally::flamegraph {

extern const std::string_view style_css, script_js;

} // namespace tally::flamegraph
