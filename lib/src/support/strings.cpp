
#include "support/strings.h"

#include <algorithm>
#include <cstring>

#include "support/hash.h"
#include "support/memory_limit.h"

namespace tally {

namespace {
constexpr size_t first_chunk = 4096;
constexpr size_t largest_chunk = size_t{1} << 20;
} // namespace

StringPool::StringPool() : slots_(16, 0) { intern({}); }

StringPool::StringPool(const StringPool &other) : StringPool() { *this = other; }

StringPool &StringPool::operator=(const StringPool &other) {
  if (this == &other)
    return *this;
  chunks_.clear();
  chunk_used_ = chunk_size_ = chunk_total_ = 0;
  views_.clear();
  views_.reserve(other.views_.size());
  for (std::string_view text : other.views_)
    views_.push_back(store(text));
  slots_ = other.slots_;
  return *this;
}

std::string_view StringPool::store(std::string_view text) {
  if (text.empty())
    return "";
  if (chunk_size_ - chunk_used_ < text.size()) {
    const size_t wanted = std::clamp(chunk_total_, first_chunk, largest_chunk);
    chunk_size_ = std::max(wanted, text.size());
    chunks_.push_back(std::make_unique_for_overwrite<char[]>(chunk_size_));
    chunk_total_ += chunk_size_;
    chunk_used_ = 0;
  }
  char *to = chunks_.back().get() + chunk_used_;
  std::memcpy(to, text.data(), text.size());
  chunk_used_ += text.size();
  return {to, text.size()};
}

StringId StringPool::intern(std::string_view text) {
  const size_t mask = slots_.size() - 1;
  for (size_t slot = hash_bytes(text) & mask;; slot = (slot + 1) & mask) {
    const uint32_t taken = slots_[slot];
    if (taken == 0) {
      MemoryLimit::tick();
      views_.push_back(store(text));
      slots_[slot] = static_cast<uint32_t>(views_.size());
      if (views_.size() * 2 > slots_.size())
        grow();
      return static_cast<StringId>(views_.size() - 1);
    }
    if (views_[taken - 1] == text)
      return static_cast<StringId>(taken - 1);
  }
}

void StringPool::grow() {
  slots_.assign(slots_.size() * 2, 0);
  const size_t mask = slots_.size() - 1;
  for (uint32_t i = 0; i < views_.size(); ++i) {
    size_t slot = hash_bytes(views_[i]) & mask;
    while (slots_[slot] != 0)
      slot = (slot + 1) & mask;
    slots_[slot] = i + 1;
  }
}

size_t StringPool::memory_bytes() const {
  return chunk_total_ + views_.capacity() * sizeof(std::string_view) +
         slots_.capacity() * sizeof(uint32_t);
}

} // namespace tally
