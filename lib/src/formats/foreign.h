// Recognizes files of other tools that users often pass by mistake and that cannot be read.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Returns a predicate ("is a text heap profile, …") that says what a file with this beginning is
// and how to convert it, or "" if the beginning is unknown. The caller puts the file's name before
// it.
std::string foreign_format(std::string_view head);
// Returns such a predicate for a table that another tool printed. Any line of `head` may match, so
// that a name in a supported file can look like a table. Call it only if no format's probe accepts
// `head`.
std::string foreign_table(std::string_view head);

} // namespace tally
