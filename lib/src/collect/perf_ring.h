// The rings that the kernel writes perf records into, and their merging by time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "support/perf_records.h"

namespace tally {

// A record that wraps round the ring's end is put together here. One buffer serves all rings: what
// it holds is used before the next record is looked at.
class PerfBounce {
public:
  // A record's size is sixteen bits.
  static constexpr size_t bytes = size_t{1} << 16;
  std::byte *data() {
    if (!data_)
      data_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    return data_.get();
  }

private:
  std::unique_ptr<std::byte[]> data_;
};

// The reader's side of one ring. Owns nothing: `page` and `data` are mapped elsewhere.
class PerfRing {
public:
  PerfRing() = default;
  // data.size() is a power of two.
  PerfRing(perf_event_mmap_page *page, std::span<std::byte> data) : page_(page), data_(data) {}

  // Looks how far the kernel has written. Records are read up to there.
  void begin_round();
  // Gives what was read back to the kernel.
  void end_round();

  bool empty() const { return position_ == head_; }
  size_t pending() const { return static_cast<size_t>(head_ - position_); }
  size_t size() const { return data_.size(); }

  // The next record; it stays next. False at the end. A record whose size cannot be true ends the
  // round: everything up to the head is given up.
  bool peek(PerfBounce &bounce, PerfRecord &record);
  void pop() { position_ += next_size_; }

private:
  perf_event_mmap_page *page_ = nullptr;
  std::span<std::byte> data_;
  uint64_t head_ = 0;
  uint64_t position_ = 0;
  size_t next_size_ = 0;
};

// One round over many rings. Within a ring the kernel writes in order of time; among rings nothing
// is ordered, and a mapping that was replaced must not be seen by samples taken before. So records
// are handed on oldest first, and those younger than a limit stay in their ring, because another
// ring may yet receive an older one.
class PerfMerge {
public:
  static constexpr uint64_t everything = ~uint64_t{0};

  // Calls handle(record) for each record whose time is at most `newest_ns`. Returns the largest
  // share of a ring that was waiting, in bytes.
  template <class Handle>
  size_t run(std::span<PerfRing> rings, const PerfLayout &layout, uint64_t newest_ns,
             Handle &&handle) {
    size_t most = begin(rings, layout);
    PerfRecord record;
    while (!heap_.empty() && heap_.front().time_ns <= newest_ns) {
      PerfRing &ring = rings[heap_.front().ring];
      if (ring.peek(bounce_, record)) {
        handle(record);
        ring.pop();
      }
      advance(ring, layout);
    }
    held_back_ = !heap_.empty();
    for (PerfRing &ring : rings)
      ring.end_round();
    return most;
  }

  // The last round left records where they were.
  bool held_back() const { return held_back_; }

private:
  struct Next {
    uint64_t time_ns;
    uint32_t ring;
  };
  size_t begin(std::span<PerfRing> rings, const PerfLayout &layout);
  bool next_time(PerfRing &ring, const PerfLayout &layout, uint64_t &time_ns);
  void advance(PerfRing &ring, const PerfLayout &layout);
  void sift_down();

  std::vector<Next> heap_; // the smallest time in front
  PerfBounce bounce_;
  bool held_back_ = false;
};

} // namespace tally
