// Reads text in blocks of whole lines.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "support/file_io.h"

namespace tally {

// Removes the first line from the text and returns it, without its line break and without a CR
// before that.
inline std::string_view next_line(std::string_view &rest) {
  const size_t end = std::min(rest.find('\n'), rest.size());
  std::string_view line = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  if (line.ends_with('\r'))
    line.remove_suffix(1);
  return line;
}

// Splits a source into blocks of whole lines. A block ends with a line break, and callers must not
// read beyond its end: most blocks are views of the source's pieces. Only two kinds of lines are
// copied: a line that spans several pieces, and a last line to which a line break must be added.
class LineBlocks {
public:
  // Longer lines are an error. Otherwise a binary file might be held in memory as a single line.
  static constexpr size_t longest_line = size_t{1} << 30;

  explicit LineBlocks(ByteSource &source, size_t longest = longest_line)
      : source_(source), longest_(longest) {}

  // Returns the next block, valid until the next call; empty at the end.
  Result<std::string_view> next();
  // Returns whether the file's last line had no line break and was given one.
  bool last_line_open() const { return last_line_open_; }

private:
  ByteSource &source_;
  size_t longest_;
  std::string_view piece_; // the unread part of the piece
  std::string line_;       // a line that spans several pieces, or the last one with its line break
  bool last_line_open_ = false;
};

} // namespace tally
