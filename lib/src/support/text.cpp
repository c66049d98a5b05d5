#include "support/text.h"

#include <algorithm>

namespace tally {

std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 0x7F; }, '?');
  return text;
}

} // namespace tally
