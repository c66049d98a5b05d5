// Reads the rings that the kernel writes perf records to, and merges them by time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "support/perf_records.h"

namespace tally {

// Assembles a record that wraps around the end of its ring. One buffer serves all rings: its
// content is used before the next record is read.
class PerfBounce {
public:
  // A record's size is a 16-bit number.
  static constexpr size_t bytes = size_t{1} << 16;
  std::byte *data() {
    if (!data_)
      data_ = std::make_unique_for_overwrite<std::byte[]>(bytes);
    return data_.get();
  }

private:
  std::unique_ptr<std::byte[]> data_;
};

// Reads one ring. It owns nothing: `page` and `data` are mapped elsewhere.
class PerfRing {
public:
  // Who else has the ring mapped. A program that opened it itself may write anything to it, at any
  // time: each record is copied before it is looked at.
  enum class Writer : uint8_t { kernel, kernel_and_program };

  PerfRing() = default; // always empty
  // data.size() must be a power of two.
  PerfRing(perf_event_mmap_page *page, std::span<std::byte> data, Writer writer = Writer::kernel)
      : page_(page), data_(data), writer_(writer), position_(page->data_tail) {}

  // Reads how far the kernel has written. The round reads records up to there.
  void begin_round();
  // Returns whether somebody has overwritten the kernel's numbers: more is said to be there than
  // the ring can hold. The ring stays empty from then on.
  bool is_overwritten() const { return overwritten_; }
  // Returns the space of the records that were read to the kernel.
  void end_round();

  bool empty() const { return position_ == head_; }
  size_t pending() const { return static_cast<size_t>(head_ - position_); }
  size_t size() const { return data_.size(); }

  // Stores the next record in `record` without consuming it. Returns false at the end of the round.
  // A record with an invalid size ends the round and discards everything up to the head.
  bool peek(PerfBounce &bounce, PerfRecord &record);
  void pop() { position_ += next_size_; }

private:
  perf_event_mmap_page *page_ = nullptr;
  std::span<std::byte> data_;
  Writer writer_ = Writer::kernel;
  bool overwritten_ = false;
  uint64_t head_ = 0;
  uint64_t position_ = 0; // at most `head_`, and at most the size of `data_` below it
  size_t next_size_ = 0;
};

// Reads the records of many rings, merged by time. The kernel writes the records of each ring in
// the order of time, but does not order one ring against another. A new mapping must not apply to
// samples that were taken before it. Therefore records are handled oldest first, and a record that
// is younger than a limit stays in its ring, because another ring may still receive an older
// record.
class PerfMerge {
public:
  static constexpr uint64_t everything = ~uint64_t{0};

  // Calls handle(record) for each record whose time is at most `newest_ns`. Returns the largest
  // number of bytes that were waiting in one ring.
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

  // Returns whether the last round left records in their rings.
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

  std::vector<Next> heap_; // a heap with the smallest time in front
  PerfBounce bounce_;
  bool held_back_ = false;
};

} // namespace tally
