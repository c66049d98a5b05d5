// Holds the events of a perf.data and the features that describe the recording.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/hash.h"
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
  // Returns the index of the record's event, or 0 if its id is missing or unknown. There must be at
  // least one event.
  size_t of(const PerfRecord &record) const;

private:
  std::vector<Event> events_;
  SeededMap<uint64_t, size_t> by_id_;
};

struct Features {
  std::string machine;                           // as uname() names it
  std::string command;                           // of perf itself
  SeededMap<std::string, std::string> build_ids; // by path; lower-case hex
};

// The numbers of the header's feature bits (tools/perf/util/header.h).
enum Feature : unsigned {
  build_id_feature = 2,
  arch_feature = 6,
  cmdline_feature = 11,
  event_desc_feature = 12,
};
inline constexpr unsigned feature_count = 256;

// Reads a feature section into `features` and `events`. Features that are not needed are ignored.
// Returns false if the section is damaged.
[[nodiscard]] bool read_feature(unsigned number, std::string_view bytes, bool big_endian,
                                Features &features, Events &events);
// Reads the body of a build ID's record. Returns false if it is damaged.
[[nodiscard]] bool read_build_id(uint16_t misc, std::string_view body, Features &features);

std::string hex(std::string_view bytes);

} // namespace tally::perf_data
