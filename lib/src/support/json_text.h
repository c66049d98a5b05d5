// Text as a JSON string.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Returns the string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(std::string_view text);

} // namespace tally
