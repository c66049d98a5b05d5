// Colours of tables on a terminal.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "support/result.h"

namespace tally {

// The role of a piece of text in a table. The names are those of GDB's `set style`.
enum class Role : uint8_t {
  plain,
  function,
  filename, // a source location or an object
  address,
  variable,  // the name of a value in `status`
  title,     // the title of a column
  highlight, // a percentage, if it is high
  metadata,  // a remark about a table
};

// The colours of the roles. Without any, all text is plain.
class Style {
public:
  // Returns a style for terminals with eight colours.
  static Style standard();
  // Sets the escape sequence ("\033[…m") that precedes text of this role; an empty one removes it.
  // Unknown roles and other sequences are invalid_argument.
  Result<void> set(std::string_view role, std::string_view sgr);
  // Returns the text with its escape sequences. Leading and trailing blanks stay outside of them,
  // because they separate columns.
  std::string paint(Role role, std::string_view text) const;
  // Returns a text of several lines in which everything that a terminal would obey, but line ends,
  // tabs and what paint() adds, is replaced with '?': a name from a file may hold such sequences,
  // and a message may contain the name.
  std::string without_foreign(std::string_view text) const;

private:
  std::array<std::string, 8> begins_; // by role
};

} // namespace tally
