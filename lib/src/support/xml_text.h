// Text that XML 1.0 can hold.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Control characters, of which XML has none, become '?', as does each byte that is not UTF-8;
// `changed` tells that some did. Markup is left for the writer to escape.
std::string xml_text(std::string_view text, bool &changed);

inline constexpr std::string_view xml_text_changed =
    "control characters and bytes that are not UTF-8, in names (they became '?')";

// The markup of such text escaped: fit for text, and for attributes in double quotes.
std::string xml_escaped(std::string_view text);

} // namespace tally
