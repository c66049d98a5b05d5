// Builds records of perf.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include <linux/perf_event.h>

namespace tally {

// Builds a record field by field, as the kernel does.
class RecordBytes {
public:
  template <class T> RecordBytes &add(T value) {
    const auto *from = reinterpret_cast<const std::byte *>(&value);
    bytes_.insert(bytes_.end(), from, from + sizeof value);
    return *this;
  }
  RecordBytes &text(std::string_view text) {
    const auto *from = reinterpret_cast<const std::byte *>(text.data());
    bytes_.insert(bytes_.end(), from, from + text.size());
    do
      bytes_.push_back({});
    while (bytes_.size() % 8 != 0);
    return *this;
  }
  // Returns the record with its header.
  std::vector<std::byte> record(uint32_t type, uint16_t misc = 0) const {
    const perf_event_header header{type, misc,
                                   static_cast<uint16_t>(sizeof header + bytes_.size())};
    std::vector<std::byte> out(sizeof header + bytes_.size());
    std::memcpy(out.data(), &header, sizeof header);
    if (!bytes_.empty())
      std::memcpy(out.data() + sizeof header, bytes_.data(), bytes_.size());
    return out;
  }

private:
  std::vector<std::byte> bytes_;
};

} // namespace tally
