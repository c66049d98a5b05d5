// What is not read here, and is often taken for what is.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// What a file is that begins so, and what to do with it: the end of a sentence that begins with its
// name. "": nothing known.
std::string foreign_format(std::string_view head);
// The same of a table that another tool printed. Any line may tell it, so that a name in a file
// that is read may look like one: to be asked only where no probe accepts the head.
std::string foreign_table(std::string_view head);

} // namespace tally
