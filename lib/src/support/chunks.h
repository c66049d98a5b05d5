// Implements a long column that grows without being copied.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

namespace tally {

// An array in chunks of 2^Bits rows, for tables of millions of rows. Growing moves no row and
// wastes at most one chunk, whereas a vector that grows temporarily needs memory for up to three
// times its rows.
template <class T, size_t Bits = 14> class Chunks {
public:
  static constexpr size_t chunk_rows = size_t{1} << Bits;

  Chunks() = default;
  Chunks(Chunks &&other) noexcept { swap(other); }
  Chunks &operator=(Chunks &&other) noexcept {
    swap(other);
    return *this;
  }
  Chunks(const Chunks &other) { *this = other; }
  Chunks &operator=(const Chunks &other) {
    if (this == &other)
      return *this;
    chunks_.clear();
    size_ = 0;
    for (size_t first = 0; first < other.size_; first += chunk_rows) {
      add_chunk();
      std::copy_n(other.chunks_[first >> Bits].get(), std::min(chunk_rows, other.size_ - first),
                  chunks_.back().get());
    }
    size_ = other.size_;
    return *this;
  }
  ~Chunks() = default;

  const T &operator[](size_t row) const { return chunks_[row >> Bits][row & (chunk_rows - 1)]; }
  T &operator[](size_t row) { return chunks_[row >> Bits][row & (chunk_rows - 1)]; }
  // Inlined because it is called once for each of millions of rows.
  [[gnu::always_inline]] void push_back(const T &value) {
    const size_t within = size_ & (chunk_rows - 1);
    if (within == 0)
      add_chunk();
    newest_[within] = value;
    ++size_;
  }
  size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  size_t memory_bytes() const { return chunks_.size() * chunk_rows * sizeof(T); }

private:
  [[gnu::noinline]] void add_chunk() {
    chunks_.push_back(std::make_unique_for_overwrite<T[]>(chunk_rows));
    newest_ = chunks_.back().get();
  }
  void swap(Chunks &other) noexcept {
    chunks_.swap(other.chunks_);
    std::swap(newest_, other.newest_);
    std::swap(size_, other.size_);
  }

  std::vector<std::unique_ptr<T[]>> chunks_;
  T *newest_ = nullptr;
  size_t size_ = 0;
};

} // namespace tally
