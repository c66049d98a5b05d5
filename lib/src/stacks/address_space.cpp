#include "stacks/address_space.h"

#include <algorithm>

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

uint32_t CodeRanges::number_of(const CodeRange &range) {
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

AddressSpace::AddressSpace(const AddressSpace &other)
    : pieces_(other.pieces_), code_(other.code_),
      ranges_(std::make_shared<CodeRanges>(*other.ranges_)), program_(other.program_),
      generation_(other.generation_) {}

void AddressSpace::inherit(const AddressSpace &parent) {
  pieces_ = parent.pieces_;
  code_ = parent.code_;
  program_ = parent.program_;
  last_ = {0, 0, nowhere};
  ++generation_;
}

void AddressSpace::map(const CodeRange &range) {
  if (range.start >= range.limit)
    return;
  const uint32_t number = ranges_->number_of(range);
  if (program_ == nowhere && !range.path.starts_with('[') && !range.path.starts_with("//"))
    program_ = number;
  if (pieces_.put({range.start, range.limit, number})) {
    last_ = {0, 0, nowhere};
    ++generation_;
  }
}

void AddressSpace::map_code(const CodeRange &range) {
  if (range.start >= range.limit)
    return;
  const uint32_t number = ranges_->number_of(range);
  if (code_.put({range.start, range.limit, number}))
    ++generation_;
}

uint32_t AddressSpace::with_code(uint32_t range, uint64_t pc) const {
  if (code_.empty() || ranges()[range].is_jit || !is_anonymous_memory(ranges()[range].path))
    return range;
  const Piece *const piece = code_.find(pc);
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
    const Piece *const piece = pieces_.find(pc);
    if (!piece)
      return nowhere;
    last_ = *piece;
  }
  return last_.range;
}

} // namespace tally
