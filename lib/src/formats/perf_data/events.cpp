#include "formats/perf_data/events.h"

#include <algorithm>

#include <fmt/format.h>

#include "formats/event_values.h"
#include "support/byte_cursor.h"

namespace tally::perf_data {

namespace {

constexpr std::string_view hardware_names[] = {"cycles",
                                               "instructions",
                                               "cache-references",
                                               "cache-misses",
                                               "branches",
                                               "branch-misses",
                                               "bus-cycles",
                                               "stalled-cycles-frontend",
                                               "stalled-cycles-backend",
                                               "ref-cycles"};
constexpr std::string_view software_names[] = {
    "cpu-clock",        "task-clock",   "page-faults",  "context-switches",
    "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
    "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

// Returns perf's name for the event.
std::string event_name(const PerfAttr &attr) {
  if (attr.type == PERF_TYPE_HARDWARE && attr.config < std::size(hardware_names))
    return std::string(hardware_names[attr.config]);
  if (attr.type == PERF_TYPE_SOFTWARE && attr.config < std::size(software_names))
    return std::string(software_names[attr.config]);
  return fmt::format("event-{}-{:#x}", attr.type, attr.config);
}

std::string_view until_nul(std::string_view text) { return text.substr(0, text.find('\0')); }

std::string_view string_of(ByteCursor &cursor) { return until_nul(cursor.take(cursor.u32())); }

bool read_command(ByteCursor &cursor, Features &features) {
  const uint32_t count = cursor.u32();
  std::string command;
  for (uint32_t i = 0; i < count && !cursor.failed(); ++i) {
    if (i > 0)
      command += ' ';
    command += string_of(cursor);
  }
  if (!cursor.failed())
    features.command = std::move(command);
  return !cursor.failed();
}

bool read_descriptions(ByteCursor &cursor, Events &events) {
  const uint32_t count = cursor.u32(), attr_size = cursor.u32();
  for (uint32_t i = 0; i < count && !cursor.failed(); ++i) {
    cursor.take(attr_size);
    const uint32_t ids = cursor.u32();
    const std::string_view name = string_of(cursor);
    for (uint32_t k = 0; k < ids && !cursor.failed(); ++k)
      if (const uint64_t id = cursor.u64_whole(); !cursor.failed())
        events.set_name(id, name);
  }
  return !cursor.failed();
}

bool read_build_ids(std::string_view bytes, bool big_endian, Features &features) {
  const bool swapped = big_endian != (std::endian::native == std::endian::big);
  while (!bytes.empty()) {
    PerfRecord record;
    if (!first_perf_record(std::as_bytes(std::span(bytes)), record, swapped))
      return false;
    const size_t size = sizeof(perf_event_header) + record.body.size();
    if (!read_build_id(record.misc, bytes.substr(sizeof(perf_event_header), record.body.size()),
                       features))
      return false;
    bytes.remove_prefix(size);
  }
  return true;
}

} // namespace

std::string hex(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes)
    out += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return out;
}

bool Event::is_clock() const {
  return attr.type == PERF_TYPE_SOFTWARE &&
         (attr.config == PERF_COUNT_SW_CPU_CLOCK || attr.config == PERF_COUNT_SW_TASK_CLOCK);
}

void Events::add(const PerfAttr &attr, std::span<const uint64_t> ids) {
  for (const uint64_t id : ids)
    by_id_.try_emplace(id, events_.size());
  events_.push_back({attr, event_name(attr)});
}

void Events::set_name(uint64_t id, std::string_view name) {
  const auto at = by_id_.find(id);
  if (at != by_id_.end() && !name.empty())
    events_[at->second].name = without_precision(name);
}

size_t Events::of(const PerfRecord &record) const {
  if (events_.size() == 1)
    return 0;
  const auto at = by_id_.find(perf_event_id(events_.front().attr.layout, record));
  return at == by_id_.end() ? 0 : at->second;
}

bool read_build_id(uint16_t misc, std::string_view body, Features &features) {
  // The body has a pid, 20 bytes for the id, the size of the id (only if a flag is set), padding,
  // and a path.
  constexpr size_t id_at = 4, most = 20, size_at = id_at + most, path_at = size_at + 4;
  constexpr uint16_t has_size = 1 << 15;
  if (body.size() < path_at)
    return false;
  const size_t size = (misc & has_size) != 0 ? static_cast<unsigned char>(body[size_at]) : most;
  const std::string_view path = until_nul(body.substr(path_at));
  if (size > most)
    return false;
  if (size > 0 && !path.empty())
    features.build_ids[std::string(path)] = hex(body.substr(id_at, size));
  return true;
}

bool read_feature(unsigned number, std::string_view bytes, bool big_endian, Features &features,
                  Events &events) {
  ByteCursor cursor(bytes, big_endian);
  switch (number) {
  case build_id_feature:
    return read_build_ids(bytes, big_endian, features);
  case arch_feature:
    features.machine = string_of(cursor);
    return !cursor.failed();
  case cmdline_feature:
    return read_command(cursor, features);
  case event_desc_feature:
    return read_descriptions(cursor, events);
  default:
    return true;
  }
}

} // namespace tally::perf_data
