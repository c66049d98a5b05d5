#include "stacks/address_space.h"

#include <algorithm>
#include <charconv>
#include <iterator>

#include <sys/sysmacros.h>

#include "model/jit_code.h"
#include "support/hash.h"

namespace tally {

namespace {

// Parses a number and the single character that must follow it, and removes both from `text`.
// Returns false, with `text` unchanged, if either is missing.
bool take_number(std::string_view &text, int base, char after, uint64_t &value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end == text.data() + text.size() || *end != after)
    return false;
  text.remove_prefix(static_cast<size_t>(end - text.data()) + 1);
  return true;
}

// Parses a line such as "55d0c2a00000-55d0c2a05000 r-xp 00002000 08:01 1234    /bin/cat". Returns
// false if it is malformed or the range is not executable.
bool parse_line(std::string_view line, CodeRange &range) {
  uint64_t major_number = 0, minor_number = 0;
  if (!take_number(line, 16, '-', range.start) || !take_number(line, 16, ' ', range.limit))
    return false;
  if (line.size() < 5 || line[2] != 'x')
    return false;
  line.remove_prefix(5);
  if (!take_number(line, 16, ' ', range.file_offset) || !take_number(line, 16, ':', major_number) ||
      !take_number(line, 16, ' ', minor_number))
    return false;
  const auto [end, error] =
      std::from_chars(line.data(), line.data() + line.size(), range.inode, 10);
  if (error != std::errc{})
    return false;
  line.remove_prefix(static_cast<size_t>(end - line.data()));
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  range.device = makedev(static_cast<unsigned>(major_number), static_cast<unsigned>(minor_number));
  range.path = line.empty() ? "//anon" : line; // MMAP2 records call such memory "//anon", too
  return range.start < range.limit;
}

uint64_t hash_of(const CodeRange &r) {
  return combine(combine(combine(r.start, r.limit), combine(r.file_offset, r.inode)),
                 hash_bytes(r.path));
}

} // namespace

std::vector<CodeRange> parse_maps(std::string_view text) {
  std::vector<CodeRange> ranges;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    CodeRange range;
    if (parse_line(text.substr(0, end), range))
      ranges.push_back(std::move(range));
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
