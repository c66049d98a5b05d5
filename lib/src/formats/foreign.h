// Recognizes files of other tools that users often pass by mistake and that cannot be read.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Returns a predicate ("is a text heap profile, …") that says what a file with this beginning is
// and how to convert it, or "" if the beginning is unknown. The file's name is the subject.
std::string foreign_format(std::string_view head);
// Does the same for a table that another tool printed. Any line of `head` may match, so a name in a
// supported file can look like such a table. Call it only if no format's probe accepts `head`.
std::string foreign_table(std::string_view head);

} // namespace tally
