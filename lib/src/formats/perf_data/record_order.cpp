#include "formats/perf_data/record_order.h"

#include <algorithm>

namespace tally::perf_data {

void RecordOrder::sort() {
  // The sort is stable, so that records with the same time keep the file's order.
  const auto older = [](const Entry &a, const Entry &b) { return a.time < b.time; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), older))
    std::stable_sort(entries_.begin(), entries_.end(), older);
}

uint64_t RecordOrder::middle_time() {
  sort();
  return entries_[entries_.size() / 2].time;
}

void RecordOrder::drop(size_t count) {
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<std::byte> kept;
  for (Entry &entry : entries_) {
    const auto from = bytes_.begin() + static_cast<std::ptrdiff_t>(entry.begin);
    entry.begin = kept.size();
    kept.insert(kept.end(), from, from + static_cast<std::ptrdiff_t>(entry.size));
  }
  bytes_.swap(kept);
}

} // namespace tally::perf_data
