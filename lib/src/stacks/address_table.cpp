#include "stacks/address_table.h"

#include "model/jit_code.h"
#include "support/hash.h"

namespace tally {

namespace {

// Returns whether the range has the same content in all processes.
bool is_shared(const CodeRange &range) {
  return range.path == "[vdso]" ||
         (range.path.starts_with('/') && range.inode != 0 && !is_anonymous_memory(range.path));
}

uint64_t hash_of_file(const CodeRange &range) {
  return combine(combine(range.limit - range.start, range.file_offset),
                 combine(range.inode, hash_bytes(range.path)));
}

// Returns whether both ranges show the same part of the same file.
bool is_same_file(const CodeRange &a, const CodeRange &b) {
  return a.limit - a.start == b.limit - b.start && a.file_offset == b.file_offset &&
         a.device == b.device && a.inode == b.inode && a.path == b.path && a.build_id == b.build_id;
}

} // namespace

void AddressTable::clear() {
  entries_ = {};
  by_entry_ = {};
  elsewhere_ = {};
  by_address_ = {};
  ++cleared_;
}

std::span<const uint32_t> AddressTable::numbers_of(Process &process,
                                                   std::span<const uint64_t> pcs) {
  if (process.cleared_ != cleared_)
    process.previous_ = {};
  process.cleared_ = cleared_;
  return process.previous_.values_of(
      pcs, process.space_->generation(),
      [&](uint64_t pc, std::span<const uint32_t>) { return number_of(process, pc); });
}

uint32_t AddressTable::range_of(Process &process, uint32_t number) {
  if (number == AddressSpace::nowhere)
    return number;
  if (process.ranges_.size() <= number)
    process.ranges_.resize(process.space_->ranges().size(), AddressSpace::nowhere);
  uint32_t &known = process.ranges_[number];
  if (known == AddressSpace::nowhere)
    known = add_range(process, process.space_->ranges()[number]);
  return known;
}

void AddressTable::name_anonymous(Process &process, const std::string &path) {
  for (const uint32_t number : process.ranges_)
    if (number != AddressSpace::nowhere && is_anonymous_memory(ranges_[number].path))
      ranges_[number].path = path;
}

uint32_t AddressTable::add_range(Process &process, const CodeRange &range) {
  if (!first_)
    first_ = main_ ? main_->space_ : process.space_;
  const uint64_t hash = hash_of_file(range);
  if (process.space_ != first_ && is_shared(range)) {
    uint32_t same = AddressSpace::nowhere;
    const auto [begin, end] = by_file_.equal_range(hash);
    for (auto at = begin; at != end; ++at)
      if (is_same_file(ranges_[at->second], range) &&
          (same == AddressSpace::nowhere || ranges_[at->second].start == range.start))
        same = at->second;
    if (same == AddressSpace::nowhere && main_)
      same = range_of_main(range);
    if (same != AddressSpace::nowhere)
      return same;
  }
  const auto number = static_cast<uint32_t>(ranges_.size());
  ranges_.push_back(range);
  by_file_.emplace(hash, number);
  return number;
}

// Returns the number of the first process's range that shows the same, or `nowhere`.
uint32_t AddressTable::range_of_main(const CodeRange &range) {
  const std::vector<CodeRange> &ranges = main_->space_->ranges();
  uint32_t same = AddressSpace::nowhere;
  for (uint32_t i = 0; i < ranges.size(); ++i)
    if (is_same_file(ranges[i], range) &&
        (same == AddressSpace::nowhere || ranges[i].start == range.start))
      same = i;
  return range_of(*main_, same);
}

uint32_t AddressTable::number_of(Process &process, uint64_t pc) {
  const uint32_t own = process.space_->find(pc);
  const uint32_t range = range_of(process, own);
  const uint64_t offset = range < no_range ? pc - process.space_->ranges()[own].start : 0;
  uint64_t wanted = uint64_t{range} << offset_bits | offset;
  if (range >= no_range || offset > most_offset) {
    const auto [id, added] = by_address_.find_or_add(
        mix(pc), static_cast<uint32_t>(elsewhere_.size()),
        [&](uint32_t i) { return elsewhere_[i] == pc; },
        [&](uint32_t i) { return mix(elsewhere_[i]); });
    if (added)
      elsewhere_.push_back(pc);
    wanted = uint64_t{no_range} << offset_bits | id;
  }
  const auto [id, added] = by_entry_.find_or_add(
      mix(wanted), size(), [&](uint32_t i) { return entries_[i] == wanted; },
      [&](uint32_t i) { return mix(entries_[i]); });
  if (added)
    entries_.push_back(wanted);
  return id;
}

AddressTable::Entry AddressTable::operator[](uint32_t number) const {
  const auto range = static_cast<uint32_t>(entries_[number] >> offset_bits);
  const uint64_t offset = entries_[number] & most_offset;
  if (range == no_range)
    return {AddressSpace::nowhere, elsewhere_[offset]};
  return {range, ranges_[range].start + offset};
}

size_t AddressTable::memory_bytes() const {
  return entries_.memory_bytes() + by_entry_.memory_bytes() +
         elsewhere_.capacity() * sizeof(uint64_t) + by_address_.memory_bytes();
}

} // namespace tally
