// Sorts records by time. perf writes the ring buffers of several processors one after another, so
// that a mapping may come after a sample in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tally::perf_data {

// A round is one pass of perf over all ring buffers. As tools/perf/util/ordered-events.c explains,
// records after the end of a round are newer than all records of the round before it. Therefore at
// most two rounds are in memory, or `most_bytes` if the file has no rounds.
class RecordOrder {
public:
  explicit RecordOrder(size_t most_bytes = size_t{128} << 20) : most_bytes_(most_bytes) {}

  // These functions call handle(bytes of a record, its offset in the file) for each record that has
  // its final place in the order.
  template <class Handler>
  void add(uint64_t time, std::span<const std::byte> record, uint64_t offset, Handler handle) {
    if (time < handed_out_)
      ++late_;
    newest_ = time > newest_ ? time : newest_;
    entries_.push_back({time, offset, bytes_.size(), record.size()});
    bytes_.insert(bytes_.end(), record.begin(), record.end());
    if (bytes_.size() > most_bytes_)
      hand_out(middle_time(), handle);
  }
  template <class Handler> void end_round(Handler handle) {
    hand_out(newest_of_round_, handle);
    newest_of_round_ = newest_;
  }
  template <class Handler> void end(Handler handle) { hand_out(UINT64_MAX, handle); }

  // Returns the number of records that were older than a record already handled.
  uint64_t late() const { return late_; }

private:
  struct Entry {
    uint64_t time, offset;
    size_t begin, size;
  };
  void sort();
  uint64_t middle_time();
  void drop(size_t count); // removes entries from the front

  template <class Handler> void hand_out(uint64_t newest, Handler handle) {
    sort();
    size_t count = 0;
    for (; count < entries_.size() && entries_[count].time <= newest; ++count) {
      const Entry &entry = entries_[count];
      handle(std::span<const std::byte>(bytes_).subspan(entry.begin, entry.size), entry.offset);
    }
    if (count > 0)
      handed_out_ = entries_[count - 1].time;
    drop(count);
  }

  size_t most_bytes_;
  std::vector<Entry> entries_;
  std::vector<std::byte> bytes_;
  uint64_t newest_ = 0, newest_of_round_ = 0, handed_out_ = 0, late_ = 0;
};

} // namespace tally::perf_data
