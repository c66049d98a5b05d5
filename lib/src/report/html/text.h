// Writes untrusted text, and numbers, as HTML.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/text_sink.h"

namespace tally::html {

// Writes text for elements or quoted attributes. Escapes markup, replaces control characters other
// than tabs by control pictures (U+2400 …), and C1 controls and bytes that are not UTF-8 by U+FFFD.
void put_text(TextSink &to, std::string_view text);
std::string escaped(std::string_view text);

// Returns "999", "1.2k", "34.0M" or "345M". The number is rounded down.
std::string short_count(int64_t count);
// Returns the result of short_count(), with a tooltip that shows the exact number if it differs.
std::string count_html(int64_t count);

} // namespace tally::html
