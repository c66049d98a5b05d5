#include "formats/llvm/names.h"

#include <algorithm>

#include "support/gzip.h"
#include "support/memory_limit.h"

namespace tally::llvm {

std::optional<std::string> read_packed(ByteCursor &from, uint64_t size, uint64_t packed_size) {
  if (size > most_unpacked)
    return std::nullopt;
  const std::string_view bytes = from.take(packed_size == 0 ? size : packed_size);
  if (from.failed())
    return std::nullopt;
  return packed_size == 0 ? std::optional(std::string(bytes)) : zlib_unpacked(bytes, size);
}

std::optional<std::vector<std::string>> read_name_texts(std::string_view section) {
  std::vector<std::string> out;
  ByteCursor from(section);
  size_t unpacked = 0;
  while (from.left() > 0) {
    const uint64_t size = from.uleb128();
    if (size == 0 && !from.failed())
      continue; // a zero that pads the section
    const uint64_t packed_size = from.uleb128();
    auto text = read_packed(from, size, packed_size);
    if (!text || text->size() > most_unpacked - unpacked)
      return std::nullopt;
    unpacked += text->size();
    out.push_back(std::move(*text));
  }
  return out;
}

std::vector<std::string_view> names_of_text(std::string_view text) {
  constexpr char between_names = '\x01';
  std::vector<std::string_view> out;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(between_names, begin), text.size());
    MemoryLimit::tick();
    out.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return out;
}

} // namespace tally::llvm
