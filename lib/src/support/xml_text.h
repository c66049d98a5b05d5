// Text for XML 1.0.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Replaces control characters, most of which XML 1.0 cannot represent, and each byte that is not
// UTF-8 with '?', and sets `changed` if there are any. It does not escape markup; the writer does.
std::string xml_text(std::string_view text, bool &changed);

inline constexpr std::string_view xml_text_changed =
    "control characters, and bytes that are not valid UTF-8, in names (written as '?')";

// Escapes the markup of such text, for use as text or as an attribute in double quotes.
std::string xml_escaped(std::string_view text);

} // namespace tally
