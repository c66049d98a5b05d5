// What Firefox writes as the location of a frame: an address, or the text of a function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tally::firefox {

struct FrameText {
  std::optional<uint64_t> address{}; // "0x7f1234"; the other members are empty
  std::string name;
  std::string_view file;                  // of JavaScript
  std::string object;                     // a library, or where JavaScript came from
  uint32_t line = 0;                      // where a function of JavaScript begins; 0 if unknown
  std::optional<uint32_t> source_index{}; // in the table of sources, whose file counts
};

// Never fails: a text of no known form is a name. `text` must outlive the result.
FrameText frame_text(std::string_view text);

// Returns the scheme and host of a web page's or an extension's URL; any other text as it is.
std::string_view origin_of(std::string_view url);

} // namespace tally::firefox
