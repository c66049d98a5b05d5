// Text as a JSON string.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Returns the string with its quotes. Bytes that are not UTF-8 become U+FFFD.
std::string json_text(std::string_view text);
// Returns the number with as few digits as identify it; "null" if it is not finite.
std::string json_text(double number);
// Returns whether `json`, which json_text() made of the text, has a U+FFFD that the text has not.
bool is_replaced(std::string_view text, std::string_view json);
// Does the same as json_text(text), and sets `changed` if is_replaced().
std::string json_text(std::string_view text, bool &changed);

// Removes blanks from the beginning of a JSON text, and then `token`, if it is next. Returns
// whether it was.
bool skip_json(std::string_view &text, std::string_view token);

} // namespace tally
