// Decodes, in place, the records of perf_event_open's ring buffers and of perf.data files.
//
// linux/perf_event.h and perf_event_open(2) describe the layouts. Every length is checked against
// the size of the record, because files are read with the same code. A decoded record points into
// the bytes that it was decoded from. Ring buffers have the machine's byte order; files may have
// the opposite order (`swapped`).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include <linux/perf_event.h>

namespace tally {

// The attributes of an event that determine the layout of its records.
struct PerfLayout {
  uint64_t sample_type = 0;
  uint64_t read_format = 0;
  uint64_t branch_sample_type = 0;
  uint64_t regs_user = 0; // bit mask: attr.sample_regs_user
  uint64_t regs_intr = 0;
  bool sample_id_all = false;
  bool swapped = false; // not in the machine's byte order
};

// Records that perf itself adds to those of the kernel. They are defined in Linux's
// tools/lib/perf/include/perf/event.h.
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

// The attributes of an event that determine what it counts, and its layout.
struct PerfAttr {
  uint32_t type = 0;
  uint64_t config = 0;
  uint64_t period_or_hz = 0;
  bool is_frequency = false; // period_or_hz is a frequency
  uint32_t stack_user = 0;   // bytes of the stack dump in each sample
  int32_t clock = -1;        // of the times, as for clock_gettime(); -1 for perf's own
  PerfLayout layout;
};

// One record in a ring buffer or file.
struct PerfRecord {
  uint32_t type = 0;
  uint16_t misc = 0;
  std::span<const std::byte> body; // without the header
};

// Reads the record at the beginning of `bytes`. Returns false if its size field is smaller than a
// header or larger than `bytes`.
[[nodiscard]] bool first_perf_record(std::span<const std::byte> bytes, PerfRecord &record,
                                     bool swapped = false);

// Decodes a struct perf_event_attr of any version, which states its own `size`; unknown fields at
// its end are skipped. Returns false if `bytes` has less than that size, or the size is less than
// that of the first version.
[[nodiscard]] bool decode_attr(std::span<const std::byte> bytes, bool swapped, PerfAttr &out,
                               uint32_t &size);

// Eight-byte words that need not be aligned.
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

// A field that sample_type does not include keeps its default. The data members are the fields of
// the kernel's PERF_RECORD_SAMPLE.
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
  bool in_kernel = false;           // the sample was not taken in user mode
  PerfWords chain;                  // leaf first, including the PERF_CONTEXT_ marks
  uint64_t regs_abi = 0;            // PERF_SAMPLE_REGS_ABI_*; if none, there are no user registers
  PerfWords regs;                   // in ascending order of regs_user's bits
  std::span<const std::byte> stack; // the valid part of the stack dump: dyn_size bytes, not size
  size_t stack_asked = 0;           // the requested size of the stack dump
};

// The trailer of every other record if sample_id_all is set.
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
  uint64_t device = 0; // as makedev() returns it; 0 if there is a build ID instead
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

struct PerfCount { // READ, with a read_format of 0
  int32_t pid = 0;
  int32_t tid = 0;
  uint64_t value = 0;
};

// Each decode() returns false if the record is shorter than its contents require; `out` must not be
// used then. The caller must have checked the record's type.
[[nodiscard]] bool decode(const PerfLayout &layout, const PerfRecord &record, PerfSample &out);
[[nodiscard]] bool decode(const PerfLayout &layout, const PerfRecord &record, PerfSampleId &out);
[[nodiscard]] bool decode(const PerfLayout &layout, const PerfRecord &record, PerfMmap &out);
[[nodiscard]] bool decode(const PerfLayout &layout, const PerfRecord &record, PerfComm &out);
[[nodiscard]] bool decode(const PerfLayout &layout, const PerfRecord &record, PerfTask &out);
[[nodiscard]] bool decode(const PerfRecord &record, PerfCount &out);
// Decodes LOST and LOST_SAMPLES: the number of records, or samples, that were dropped for lack of
// space.
struct PerfLost {
  uint64_t count = 0;
  uint64_t event_id = 0; // of an event that writes to the ring; 0 if the record does not say
};
[[nodiscard]] bool decode(const PerfRecord &record, PerfLost &out, bool swapped = false);
// Returns the event's ID in any record of the layout, 0 if there is none. If the events have
// different layouts, the ID is at the same offset in all of them.
uint64_t perf_event_id(const PerfLayout &layout, const PerfRecord &record);

// Reads the time of any record of the layout. Returns false if the layout has no time, or the
// record is too short.
[[nodiscard]] bool perf_time(const PerfLayout &layout, const PerfRecord &record, uint64_t &time_ns);

// Returns the number of bytes that sample_id_all appends with this layout.
size_t perf_sample_id_size(const PerfLayout &layout);

} // namespace tally
