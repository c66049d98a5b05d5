// Text of unknown origin, and numbers, as HTML.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "support/text_sink.h"

namespace tally::html {

// Fit for text and for attributes in quotes: markup is escaped, control characters but tabs become
// their pictures (U+2400 …), bytes that are not UTF-8 U+FFFD.
void put_text(TextSink &to, std::string_view text);
std::string escaped(std::string_view text);

// "999", "1.2k", "34M": never more than the number itself.
std::string short_count(int64_t count);
// That, with the number itself for those who point at it, where they differ.
std::string count_html(int64_t count);

// How many bytes at the beginning of `text`, which is not empty, are one character of UTF-8; 0: it
// begins with none.
size_t utf8_length(std::string_view text);

} // namespace tally::html
