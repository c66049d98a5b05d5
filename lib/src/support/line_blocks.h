// Text a block of whole lines at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include <tally/file_io.h>

namespace tally {

// Takes a line off the text: without its end, and without the CR of a line from elsewhere.
inline std::string_view next_line(std::string_view &rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

// Cuts a source into blocks of whole lines. A block ends in a line break, and nothing behind it may
// be read: most blocks are views into the source's pieces. Only a line that pieces part is copied.
class LineBlocks {
public:
  // Longer lines are an error: what is no text at all would be held in memory as one.
  static constexpr size_t longest_line = size_t{1} << 30;

  explicit LineBlocks(ByteSource &source, size_t longest = longest_line)
      : source_(source), longest_(longest) {}

  // Valid until the next call; empty at the end.
  Result<std::string_view> next();
  // Whether the last line of all has no line break in the file, and was given one.
  bool last_line_open() const { return last_line_open_; }

private:
  ByteSource &source_;
  size_t longest_;
  std::string_view piece_; // what is left of it
  std::string line_;       // one line, joined
  bool last_line_open_ = false;
};

} // namespace tally
