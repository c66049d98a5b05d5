// Text in Markdown.
#pragma once

#include <string>
#include <string_view>

namespace tally {

// Returns a name as a code span for a cell of a table, so that "__init__" is not bold and "@types"
// does not mention a person.
std::string markdown_name(std::string_view name);

// Returns text without markup: characters that Markdown or a table would interpret are written as
// numeric character references.
std::string markdown_text(std::string_view text);

} // namespace tally
