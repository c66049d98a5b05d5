#include "stacks/address_space.h"

#include <algorithm>
#include <iterator>

#include "model/jit_code.h"
#include "support/hash.h"
#include "support/process_maps.h"

namespace tally {

namespace {

uint64_t hash_of(const CodeRange &r) {
  return combine(combine(combine(r.start, r.limit), combine(r.file_offset, r.inode)),
                 hash_bytes(r.path));
}

} // namespace

std::vector<CodeRange> parse_maps(std::string_view text) {
  std::vector<CodeRange> ranges;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    // MMAP2 records call memory without a file "//anon", too.
    if (const auto map = parse_process_map(text.substr(0, end)); map && map->is_executable)
      ranges.push_back({map->start, map->limit, map->file_offset, map->device, map->inode,
                        std::string(map->path.empty() ? "//anon" : map->path)});
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return ranges;
}

uint32_t AddressSpace::number_of(const CodeRange &range) {
  const uint64_t hash = hash_of(range);
  const auto [first, last] = by_hash_.equal_range(hash);
  for (auto it = first; it != last; ++it)
    if (ranges_[it->second] == range)
      return it->second;
  const auto number = static_cast<uint32_t>(ranges_.size());
  ranges_.push_back(range);
  by_hash_.emplace(hash, number);
  return number;
}

void AddressSpace::map(const CodeRange &range) {
  if (range.start >= range.limit)
    return;
  const uint32_t number = number_of(range);
  if (program_ == nowhere && !range.path.starts_with('[') && !range.path.starts_with("//"))
    program_ = number;
  if (put(pieces_, {range.start, range.limit, number})) {
    last_ = {0, 0, nowhere};
    ++generation_;
  }
}

void AddressSpace::map_code(const CodeRange &range) {
  if (range.start >= range.limit)
    return;
  const uint32_t number = number_of(range);
  if (put(code_, {range.start, range.limit, number}))
    ++generation_;
}

bool AddressSpace::put(Pieces &pieces, const Piece &piece) {
  // [first, last) are the pieces that overlap the new one.
  auto first = pieces.upper_bound(piece.start);
  if (first != pieces.begin() && std::prev(first)->second.limit > piece.start)
    --first;
  const auto last = pieces.lower_bound(piece.limit);
  if (first == last) {
    pieces.emplace_hint(last, piece.start, piece);
    return true;
  }
  const Piece before = first->second, after = std::prev(last)->second;
  if (std::next(first) == last && before.start == piece.start && before.limit == piece.limit &&
      before.range == piece.range)
    return false;
  pieces.erase(first, last);
  if (before.start < piece.start)
    pieces[before.start] = {before.start, piece.start, before.range};
  pieces[piece.start] = piece;
  if (after.limit > piece.limit)
    pieces[piece.limit] = {piece.limit, after.limit, after.range};
  return true;
}

const AddressSpace::Piece *AddressSpace::find_in(const Pieces &pieces, uint64_t address) {
  const auto after = pieces.upper_bound(address);
  if (after == pieces.begin())
    return nullptr;
  const Piece &piece = std::prev(after)->second;
  return address < piece.limit ? &piece : nullptr;
}

uint32_t AddressSpace::with_code(uint32_t range, uint64_t pc) const {
  if (code_.empty() || ranges_[range].is_jit || !is_anonymous_memory(ranges_[range].path))
    return range;
  const Piece *const piece = find_in(code_, pc);
  return piece ? piece->range : range;
}

void AddressSpace::reset() {
  pieces_.clear();
  code_.clear();
  program_ = nowhere;
  last_ = {0, 0, nowhere};
  ++generation_;
}

uint32_t AddressSpace::find_mapping(uint64_t pc) const {
  if (pc - last_.start >= last_.limit - last_.start) {
    const Piece *const piece = find_in(pieces_, pc);
    if (!piece)
      return nowhere;
    last_ = *piece;
  }
  return last_.range;
}

} // namespace tally
