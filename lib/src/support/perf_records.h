// The records that perf_event_open's rings and perf.data files hold: decoded in place.
//
// Source: linux/perf_event.h and perf_event_open(2). Every length is checked against the record's
// own bytes before it is believed, because files are read with the same code. A decoded record
// points into the bytes it came from. Rings have the machine's byte order, files may have the other
// one: `swapped`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <linux/perf_event.h>

namespace tally {

// What of an event's attributes decides how its records look.
struct PerfLayout {
  uint64_t sample_type = 0;
  uint64_t read_format = 0;
  uint64_t branch_sample_type = 0;
  uint64_t regs_user = 0; // a mask: attr.sample_regs_user
  uint64_t regs_intr = 0;
  bool sample_id_all = false;
  bool swapped = false; // the byte order is not the machine's
};

// Records that perf itself writes among the kernel's (tools/lib/perf/include/perf/event.h).
enum PerfToolRecord : uint32_t {
  perf_header_attr = 64,
  perf_header_tracing_data = 66,
  perf_header_build_id = 67,
  perf_finished_round = 68,
  perf_auxtrace = 71,
  perf_event_update = 78,
  perf_header_feature = 80,
  perf_compressed = 81,
  perf_compressed2 = 83,
};

// What of an event's attributes tells what it counts, and its layout.
struct PerfAttr {
  uint32_t type = 0;
  uint64_t config = 0;
  uint64_t period_or_hz = 0;
  bool is_frequency = false; // what period_or_hz is
  uint32_t stack_user = 0;   // bytes of stack with each sample
  PerfLayout layout;
};

// One record as it lies in a ring or a file: the header and what follows it.
struct PerfRecord {
  uint32_t type = 0;
  uint16_t misc = 0;
  std::span<const std::byte> body; // without the header
};

// The record that begins `bytes`; false when its size field is smaller than a header or larger
// than what is there.
[[nodiscard]] bool first_perf_record(std::span<const std::byte> bytes, PerfRecord &record,
                                     bool swapped = false);

// A struct perf_event_attr of any version, which states its own size; what is beyond the known
// fields is skipped. False when there is less than it states, or than the first version has.
[[nodiscard]] bool decode_attr(std::span<const std::byte> bytes, bool swapped, PerfAttr &out,
                               uint32_t &size);

// Eight-byte words that need not lie on eight-byte boundaries.
class PerfWords {
public:
  PerfWords() = default;
  explicit PerfWords(std::span<const std::byte> bytes, bool swapped = false)
      : bytes_(bytes), swapped_(swapped) {}
  size_t size() const { return bytes_.size() / sizeof(uint64_t); }
  bool empty() const { return size() == 0; }
  uint64_t operator[](size_t i) const {
    uint64_t word;
    std::memcpy(&word, bytes_.data() + i * sizeof word, sizeof word);
    return swapped_ ? __builtin_bswap64(word) : word;
  }

private:
  std::span<const std::byte> bytes_;
  bool swapped_ = false;
};

// The fields that sample_type did not ask for keep their defaults.
struct PerfSample {
  uint64_t identifier = 0;
  uint64_t ip = 0;
  int32_t pid = 0;
  int32_t tid = 0;
  uint64_t time = 0;
  uint64_t address = 0;
  uint64_t id = 0;
  uint64_t stream_id = 0;
  uint32_t cpu = 0;
  uint64_t period = 0;
  bool in_kernel = false;           // the clock struck outside user mode
  PerfWords chain;                  // with its PERF_CONTEXT_ marks, leaf first
  uint64_t regs_abi = 0;            // PERF_SAMPLE_REGS_ABI_*; none: no user registers
  PerfWords regs;                   // in ascending order of regs_user's bits
  std::span<const std::byte> stack; // what of the copy is valid: dyn_size, not size
  size_t stack_asked = 0;           // size
};

// What trails every other record when sample_id_all is set.
struct PerfSampleId {
  int32_t pid = 0;
  int32_t tid = 0;
  uint64_t time = 0;
  uint64_t id = 0;
  uint64_t stream_id = 0;
  uint32_t cpu = 0;
};

struct PerfMmap { // MMAP and MMAP2
  int32_t pid = 0;
  int32_t tid = 0;
  uint64_t address = 0;
  uint64_t length = 0;
  uint64_t file_offset = 0;
  uint64_t device = 0; // as makedev() makes it; 0 when a build id stands in its place
  uint64_t inode = 0;
  std::span<const std::byte> build_id; // only with PERF_RECORD_MISC_MMAP_BUILD_ID
  bool executable = false;
  std::string_view path;
};

struct PerfComm {
  int32_t pid = 0;
  int32_t tid = 0;
  bool is_exec = false;
  std::string_view name;
};

struct PerfTask { // FORK and EXIT
  int32_t pid = 0;
  int32_t parent_pid = 0;
  int32_t tid = 0;
  int32_t parent_tid = 0;
  uint64_t time = 0;
};

// Each returns false when the record is shorter than what it claims to hold; `out` is then of no
// use. The caller has looked at the record's type.
[[nodiscard]] bool decode(const PerfLayout &layout, const PerfRecord &record, PerfSample &out);
[[nodiscard]] bool decode(const PerfLayout &layout, const PerfRecord &record, PerfSampleId &out);
[[nodiscard]] bool decode(const PerfLayout &layout, const PerfRecord &record, PerfMmap &out);
[[nodiscard]] bool decode(const PerfLayout &layout, const PerfRecord &record, PerfComm &out);
[[nodiscard]] bool decode(const PerfLayout &layout, const PerfRecord &record, PerfTask &out);
// LOST and LOST_SAMPLES: how many records, or samples, had no room.
[[nodiscard]] bool decode_lost(const PerfRecord &record, uint64_t &count, bool swapped = false);
// The event's id in any record of the layout, 0 where it has none. Where several events differ in
// their layouts the id stands at the same place in all.
uint64_t perf_event_id(const PerfLayout &layout, const PerfRecord &record);

// The time of any record of the layout; false where it has none (or is cut short).
[[nodiscard]] bool perf_time(const PerfLayout &layout, const PerfRecord &record, uint64_t &time_ns);

// The bytes that sample_id_all appends with this layout.
size_t perf_sample_id_size(const PerfLayout &layout);

} // namespace tally
