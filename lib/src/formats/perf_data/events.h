// What was counted, and what else a perf.data says about itself.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "support/perf_records.h"

namespace tally::perf_data {

struct Event {
  PerfAttr attr;
  std::string name;
  bool is_clock() const;
};

class Events {
public:
  void add(const PerfAttr &attr, std::span<const uint64_t> ids);
  void set_name(uint64_t id, std::string_view name);

  bool empty() const { return events_.empty(); }
  size_t size() const { return events_.size(); }
  const Event &operator[](size_t number) const { return events_[number]; }
  // The event that a record is of; the first one where it does not tell. There must be one.
  size_t of(const PerfRecord &record) const;

private:
  std::vector<Event> events_;
  std::unordered_map<uint64_t, size_t> by_id_;
};

struct Features {
  std::string command;                                    // of perf itself
  std::unordered_map<std::string, std::string> build_ids; // by path; lower-case hex
};

// Numbers of the header's bits (tools/perf/util/header.h).
enum Feature : unsigned { build_id_feature = 2, cmdline_feature = 11, event_desc_feature = 12 };
inline constexpr unsigned feature_count = 256;

// One section, whose content that is of use here goes into the two. False: it is damaged.
[[nodiscard]] bool read_feature(unsigned number, std::string_view bytes, bool big_endian,
                                Features &features, Events &events);
// What follows the header of a build id's record.
[[nodiscard]] bool read_build_id(uint16_t misc, std::string_view body, Features &features);

std::string hex(std::string_view bytes);

} // namespace tally::perf_data
