#include "collect/perf_ring.h"

#include <algorithm>

namespace tally {

void PerfRing::begin_round() {
  if (!page_ || overwritten_)
    return;
  // Pairs with the kernel's release of data_head: the records up to it are complete.
  head_ = __atomic_load_n(&page_->data_head, __ATOMIC_ACQUIRE);
  if (head_ - position_ > data_.size()) {
    overwritten_ = true;
    head_ = position_;
  }
}

void PerfRing::end_round() {
  if (page_ && !overwritten_)
    __atomic_store_n(&page_->data_tail, position_, __ATOMIC_RELEASE);
}

bool PerfRing::peek(PerfBounce &bounce, PerfRecord &record) {
  if (empty())
    return false;
  const size_t offset = static_cast<size_t>(position_) & (data_.size() - 1);
  const size_t contiguous = data_.size() - offset;
  std::span<const std::byte> bytes = data_.subspan(offset, std::min(pending(), contiguous));
  // The sizes of records are multiples of eight bytes, so a header never wraps.
  perf_event_header header{};
  if (bytes.size() >= sizeof header)
    std::memcpy(&header, bytes.data(), sizeof header);
  const size_t size = header.size;
  const bool wraps = size > bytes.size();
  if (size <= pending() && (wraps || writer_ == Writer::kernel_and_program)) {
    const size_t first = std::min(size, bytes.size());
    std::memcpy(bounce.data(), bytes.data(), first);
    std::memcpy(bounce.data() + first, data_.data(), size - first);
    if (size >= sizeof header) // the size that was checked, not the one that may be there by now
      std::memcpy(bounce.data(), &header, sizeof header);
    bytes = {bounce.data(), size};
  }
  if (!first_perf_record(bytes, record)) {
    position_ = head_;
    return false;
  }
  next_size_ = size;
  return true;
}

size_t PerfMerge::begin(std::span<PerfRing> rings, const PerfLayout &layout) {
  size_t most = 0;
  heap_.clear();
  for (PerfRing &ring : rings)
    ring.begin_round();
  for (uint32_t i = 0; i < rings.size(); ++i) {
    most = std::max(most, rings[i].pending());
    uint64_t time_ns;
    if (next_time(rings[i], layout, time_ns))
      heap_.push_back({time_ns, i});
  }
  std::make_heap(heap_.begin(), heap_.end(),
                 [](const Next &a, const Next &b) { return a.time_ns > b.time_ns; });
  return most;
}

bool PerfMerge::next_time(PerfRing &ring, const PerfLayout &layout, uint64_t &time_ns) {
  PerfRecord record;
  if (!ring.peek(bounce_, record))
    return false;
  if (!perf_time(layout, record, time_ns))
    time_ns = 0; // a record without a time need not wait
  return true;
}

void PerfMerge::advance(PerfRing &ring, const PerfLayout &layout) {
  if (!next_time(ring, layout, heap_.front().time_ns)) {
    heap_.front() = heap_.back();
    heap_.pop_back();
  }
  sift_down();
}

void PerfMerge::sift_down() {
  const size_t size = heap_.size();
  for (size_t at = 0;;) {
    size_t least = at;
    for (const size_t child : {2 * at + 1, 2 * at + 2})
      if (child < size && heap_[child].time_ns < heap_[least].time_ns)
        least = child;
    if (least == at)
      return;
    std::swap(heap_[at], heap_[least]);
    at = least;
  }
}

} // namespace tally
