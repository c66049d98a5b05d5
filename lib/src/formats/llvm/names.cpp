#include "formats/llvm/names.h"

#include <algorithm>

#include "support/gzip.h"

namespace tally::llvm {

std::optional<std::string> read_packed(ByteCursor &from, uint64_t size, uint64_t packed_size) {
  if (size > most_unpacked)
    return std::nullopt;
  const std::string_view bytes = from.take(packed_size == 0 ? size : packed_size);
  if (from.failed())
    return std::nullopt;
  return packed_size == 0 ? std::optional(std::string(bytes)) : zlib_unpacked(bytes, size);
}

std::optional<std::vector<std::string>> read_names(std::string_view section) {
  constexpr char between_names = '\x01';
  std::vector<std::string> out;
  ByteCursor from(section);
  size_t unpacked = 0;
  while (from.left() > 0) {
    const uint64_t size = from.uleb128();
    if (size == 0 && !from.failed())
      continue; // a zero that pads the section
    const uint64_t packed_size = from.uleb128();
    const auto chunk = read_packed(from, size, packed_size);
    if (!chunk || chunk->size() > most_unpacked - unpacked)
      return std::nullopt;
    unpacked += chunk->size();
    for (size_t begin = 0; begin <= chunk->size();) {
      const size_t end = std::min(chunk->find(between_names, begin), chunk->size());
      out.push_back(chunk->substr(begin, end - begin));
      begin = end + 1;
    }
  }
  return out;
}

} // namespace tally::llvm
