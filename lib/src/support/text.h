#pragma once

#include <string>

namespace tally {

// Control characters become '?': text from a file must not end a row, nor command the terminal.
std::string printable(std::string text);

} // namespace tally
