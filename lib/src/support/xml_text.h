// Text for XML 1.0.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Returns `text` with '?' in place of each control character and of each byte that is not valid
// UTF-8. XML 1.0 cannot represent most control characters. Sets `changed` to true if it replaces
// anything. Markup is not escaped; see xml_escaped().
std::string xml_text(std::string_view text, bool &changed);

inline constexpr std::string_view xml_text_changed =
    "control characters, and bytes that are not valid UTF-8, in names (written as '?')";

// Escapes the markup in a result of xml_text(), for use as text or as an attribute in double
// quotes.
std::string xml_escaped(std::string_view text);

} // namespace tally
