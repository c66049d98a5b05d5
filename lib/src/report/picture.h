// Parts of the pictures that have an axis of time.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Sizes in pixels.
inline constexpr double picture_width = 1200, picture_margin = 10, picture_line = 18;
inline constexpr double picture_character = 7.25; // width in the font: 0.602 em of 12 px

std::string pixels(double number);             // "12.5": two decimals at most
std::string picture_text(std::string_view of); // as text of XML

// Returns the beginning of an SVG, with the page as its background. `style` adds to the styles of
// text, which has the classes "name" (of the title) and "quiet", and of the class "back".
// `dark_style` replaces styles where the reader prefers dark colours.
std::string picture_head(double height, std::string_view title, std::string_view style,
                         std::string_view dark_style);
// Returns an element with a text, whose y is that of the base line. `anchor` is "", "middle" or
// "end".
std::string picture_label(double x, double y, std::string_view text, std::string_view kind = {},
                          std::string_view anchor = {});

} // namespace tally
