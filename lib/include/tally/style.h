// Colours of tables on a terminal.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include <tally/result.h>

namespace tally {

// What a piece of a table is. The words are those of GDB's `set style`.
enum class Role : uint8_t {
  plain,
  function,
  filename, // a place
  address,
  variable,  // the name of a value, in `status`
  title,     // of a column
  highlight, // a percentage, where it is a heavy one
  metadata,  // what is said about a table
};

// How each of them is shown; as plain text, unless told otherwise.
class TALLY_API Style {
public:
  // Those of a terminal with eight colours.
  static Style standard();
  // `sgr`: what a terminal is sent before such a piece, "\033[…m"; empty: nothing.
  Result<void> set(std::string_view role, std::string_view sgr);
  // Blanks before and behind stay as they are: they are space between columns.
  std::string paint(Role role, std::string_view text) const;

private:
  std::array<std::string, 8> begins_; // by role
};

} // namespace tally
