
#include <algorithm>
#include <cstring>
#include <utility>

#include "model/cost_profile.h"
#include "support/checked.h"

namespace tally {

namespace {

constexpr size_t longest_number = 10; // bytes for 64 bits, with seven bits in each

uint8_t *put(uint8_t *to, uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    *to++ = static_cast<uint8_t>(value | 0x80);
  *to++ = static_cast<uint8_t>(value);
  return to;
}

[[gnu::always_inline]] inline uint64_t take(const uint8_t *&from) {
  uint64_t value = *from++;
  if (value < 0x80) [[likely]]
    return value;
  value &= 0x7f;
  for (unsigned shift = 7;; shift += 7) {
    const uint64_t byte = *from++;
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80)
      return value;
  }
}

} // namespace

CostTable::CostTable(const CostTable &other) { *this = other; }

CostTable &CostTable::operator=(const CostTable &other) {
  if (this == &other)
    return *this;
  first_ = other.first_;
  used_ = other.used_;
  chunks_.clear();
  for (const auto &chunk : other.chunks_) {
    chunks_.push_back(std::make_unique_for_overwrite<uint8_t[]>(chunk_bytes));
    const bool newest = &chunk == &other.chunks_.back();
    std::memcpy(chunks_.back().get(), chunk.get(), newest ? used_ : chunk_bytes);
  }
  return *this;
}

CostTable &CostTable::operator=(CostTable &&other) noexcept {
  first_ = std::move(other.first_); // this swaps as well
  chunks_.swap(other.chunks_);
  std::swap(used_, other.used_);
  return *this;
}

bool CostTable::push(std::span<const uint64_t> costs) {
  size_t count = costs.size();
  while (count > 0 && costs[count - 1] == 0)
    --count;
  const size_t most = (count + 1) * longest_number;
  if (chunk_bytes - used_ < most) {
    if (most > chunk_bytes || chunks_.size() == chunk_bytes || first_.size() >= UINT32_MAX - 1)
      return false;
    chunks_.push_back(std::make_unique_for_overwrite<uint8_t[]>(chunk_bytes));
    used_ = 0;
  }
  uint8_t *const chunk = chunks_.back().get();
  first_.push_back(static_cast<uint32_t>((chunks_.size() - 1) * chunk_bytes + used_));
  uint8_t *to = put(chunk + used_, count);
  for (size_t i = 0; i < count; ++i)
    to = put(to, costs[i]);
  used_ = static_cast<size_t>(to - chunk);
  return true;
}

// Iterates over the stored costs of a row.
class CostTable::Decoder {
public:
  Decoder(const CostTable &table, uint32_t row) {
    const uint32_t first = table.first_[row];
    from_ = table.chunks_[first / chunk_bytes].get() + first % chunk_bytes;
    left_ = take(from_);
  }
  uint64_t left() const { return left_; }
  uint64_t next() {
    --left_;
    return take(from_);
  }

private:
  const uint8_t *from_;
  uint64_t left_;
};

void CostTable::get(uint32_t row, std::span<uint64_t> out) const {
  Decoder costs(*this, row);
  const size_t stored = std::min<size_t>(costs.left(), out.size());
  for (size_t e = 0; e < stored; ++e)
    out[e] = costs.next();
  std::fill(out.begin() + static_cast<std::ptrdiff_t>(stored), out.end(), 0);
}

bool CostTable::add_to(uint32_t row, std::span<uint64_t> sums) const {
  bool fits = true;
  size_t e = 0;
  for (Decoder costs(*this, row); costs.left() && e < sums.size(); ++e)
    fits &= checked_add(sums[e], costs.next());
  return fits;
}

size_t CostTable::memory_bytes() const {
  return first_.memory_bytes() + chunks_.size() * chunk_bytes;
}

} // namespace tally
