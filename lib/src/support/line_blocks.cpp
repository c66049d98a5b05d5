#include "support/line_blocks.h"

#include <cstring>
#include <utility>

#include <fmt/format.h>

namespace tally {

Result<std::string_view> LineBlocks::next() {
  line_.clear();
  for (;;) {
    if (piece_.empty()) {
      TALLY_TRY(piece, source_.next());
      if (piece.empty()) {
        if (line_.empty())
          return std::string_view();
        last_line_open_ = true;
        line_ += '\n';
        return line_;
      }
      piece_ = piece;
    }
    if (line_.empty()) {
      const void *last = ::memrchr(piece_.data(), '\n', piece_.size());
      if (last) {
        const auto size = static_cast<size_t>(static_cast<const char *>(last) - piece_.data()) + 1;
        const std::string_view block = piece_.substr(0, size);
        piece_.remove_prefix(size);
        return block;
      }
    }
    const size_t end = piece_.find('\n');
    const size_t size = end == piece_.npos ? piece_.size() : end + 1;
    if (size > longest_ - line_.size())
      return fail(ErrorCode::limit, fmt::format("a line is longer than {} bytes", longest_),
                  source_.name());
    line_ += piece_.substr(0, size); // grows by doubling, and only new text is searched
    piece_.remove_prefix(size);
    if (end != piece_.npos)
      return line_;
  }
}

} // namespace tally
