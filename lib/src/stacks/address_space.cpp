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
  if (put({range.start, range.limit, number})) {
    last_ = 0;
    ++generation_;
  }
}

void AddressSpace::map_code(const CodeRange &range) {
  if (range.start >= range.limit)
    return;
  const uint32_t number = number_of(range);
  if (put_code({range.start, range.limit, number}))
    ++generation_;
}

bool AddressSpace::put_code(const Piece &piece) {
  auto first = code_.upper_bound(piece.start);
  if (first != code_.begin() && std::prev(first)->second.limit > piece.start)
    --first;
  const auto last = code_.lower_bound(piece.limit);
  if (first == last) {
    code_.emplace_hint(last, piece.start, piece);
    return true;
  }
  const Piece before = first->second, after = std::prev(last)->second;
  if (std::next(first) == last && before.start == piece.start && before.limit == piece.limit &&
      before.range == piece.range)
    return false;
  code_.erase(first, last);
  if (before.start < piece.start)
    code_[before.start] = {before.start, piece.start, before.range};
  code_[piece.start] = piece;
  if (after.limit > piece.limit)
    code_[piece.limit] = {piece.limit, after.limit, after.range};
  return true;
}

bool AddressSpace::put(const Piece &piece) {
  // [first, last) are the pieces that overlap the new one.
  const auto first =
      std::upper_bound(pieces_.begin(), pieces_.end(), piece.start,
                       [](uint64_t start, const Piece &p) { return start < p.limit; });
  const auto last =
      std::lower_bound(first, pieces_.end(), piece.limit,
                       [](const Piece &p, uint64_t limit) { return p.start < limit; });
  if (last - first == 1 && first->start == piece.start && first->limit == piece.limit &&
      first->range == piece.range)
    return false;
  Piece fresh[3];
  size_t count = 0;
  if (first != last && first->start < piece.start)
    fresh[count++] = {first->start, piece.start, first->range};
  fresh[count++] = piece;
  if (first != last && (last - 1)->limit > piece.limit)
    fresh[count++] = {piece.limit, (last - 1)->limit, (last - 1)->range};
  const auto at = pieces_.erase(first, last);
  pieces_.insert(at, fresh, fresh + count);
  return true;
}

uint32_t AddressSpace::with_code(uint32_t range, uint64_t pc) const {
  if (code_.empty() || ranges_[range].is_jit || !is_anonymous_memory(ranges_[range].path))
    return range;
  const auto after = code_.upper_bound(pc);
  if (after == code_.begin())
    return range;
  const Piece &piece = std::prev(after)->second;
  return pc < piece.limit ? piece.range : range;
}

void AddressSpace::reset() {
  pieces_.clear();
  code_.clear();
  program_ = nowhere;
  last_ = 0;
  ++generation_;
}

uint32_t AddressSpace::find_mapping(uint64_t pc) const {
  if (last_ < pieces_.size() &&
      pc - pieces_[last_].start < pieces_[last_].limit - pieces_[last_].start)
    return pieces_[last_].range;
  const auto it = std::upper_bound(pieces_.begin(), pieces_.end(), pc,
                                   [](uint64_t at, const Piece &p) { return at < p.limit; });
  if (it == pieces_.end() || pc < it->start)
    return nowhere;
  last_ = static_cast<size_t>(it - pieces_.begin());
  return it->range;
}

} // namespace tally
