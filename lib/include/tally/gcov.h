// Notes and counters of GCC 3.4 and later, and of Clang: .gcno, .gcda.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tally/counter_file.h>
#include <tally/coverage_graph.h>
#include <tally/diagnostics.h>
#include <tally/file_io.h>
#include <tally/result.h>

namespace tally {

// Of the compiler whose layout a file has, 100 * major + minor.
enum class GcovVersion : uint32_t {
  v4_7 = 407, // checksums of the flow graph
  v4_8 = 408, // the exit is block 1
  v8 = 800,   // columns, ends, artificial functions, one word for the blocks
  v9 = 900,   // the working directory
  v10 = 1000, // kinds of counters as today
  v11 = 1100, // runs of zeros are not stored
  v12 = 1200, // a checksum; lengths in bytes
  v14 = 1400, // conditions
  v15 = 1500, // paths
};

struct GcovHeader {
  bool big_endian = false;
  uint32_t version_word = 0; // "B22*", its first character in the highest byte
  GcovVersion version{};
  uint32_t stamp = 0; // the same in notes and counters of one compilation
  // GCC 12's layout: a checksum behind the stamp, lengths in bytes. Clang has neither, whatever
  // version it writes.
  std::optional<uint32_t> checksum;
  bool byte_lengths() const { return checksum.has_value(); }
  // What a record or a string takes of which the file tells this length.
  uint64_t bytes_in(uint64_t length) const { return byte_lengths() ? length : length * 4; }
};

// "B22*" as text.
TALLY_API std::string version_text(uint32_t version_word);

class TALLY_API GcovNotes final : public CounterFile {
public:
  GcovHeader header;
  CoverageGraph graph;
  std::string file_bytes; // as read: nothing in notes is ever changed

  Result<std::string> bytes() const override { return file_bytes; }
  Result<void> add(const CounterFile &other) override; // refuses: there are no counters
  Result<void> zero() override;                        // likewise
};

// What stands behind a tag.
struct GcovRecord {
  uint32_t tag = 0;
  bool zeros = false;           // counters that are all 0, and not stored (GCC 11)
  uint32_t first = 0, last = 0; // half-open: counters into values, all else into other
};

// Kinds of counters; GCC before 10 numbers some in another way (FORMAT.md).
enum class GcovCounter : uint32_t {
  arcs = 0,
  interval = 1,
  pow2 = 2,
  topn = 3,
  indirect = 4,
  average = 5,
  ior = 6,
  time_profiler = 7,
  conditions = 8,
  paths = 9,
};

inline constexpr uint32_t gcov_tag_function = 0x01000000;
inline constexpr uint32_t gcov_tag_counters = 0x01a10000; // + (kind << 17)
inline constexpr uint32_t gcov_tag_object_summary = 0xa1000000;
inline constexpr uint32_t gcov_tag_program_summary = 0xa3000000; // until GCC 8

inline constexpr uint32_t counter_tag(GcovCounter kind) {
  return gcov_tag_counters + (static_cast<uint32_t>(kind) << 17);
}
inline constexpr bool is_counter_tag(uint32_t tag) {
  return tag >= gcov_tag_counters && (tag & 0xffe1ffff) == gcov_tag_counters;
}
inline constexpr GcovCounter counter_kind(uint32_t tag) {
  return static_cast<GcovCounter>((tag - gcov_tag_counters) >> 17);
}

// The identity of a function in counters; length 0 of its record: a place holder, counted in
// another object.
struct GcovFunctionKey {
  uint32_t ident = 0, lineno_checksum = 0, cfg_checksum = 0;
  friend bool operator==(const GcovFunctionKey &, const GcovFunctionKey &) = default;
};

class TALLY_API GcovData final : public CounterFile {
public:
  GcovHeader header;
  std::vector<GcovRecord> records; // in the order of the file
  std::vector<int64_t> values;     // of all counters
  std::string other;               // payloads of all other records, as they lie in the file
  bool end_mark = false;           // a 0 where a tag would be
  std::string behind;              // what follows that

  std::span<const int64_t> values_of(const GcovRecord &record) const {
    return std::span(values).subspan(record.first, record.last - record.first);
  }
  // Of a function's record; none: a place holder.
  std::optional<GcovFunctionKey> function_of(const GcovRecord &record) const;

  Result<std::string> bytes() const override;
  // As gcov-tool adds: the number of runs and the sums of the largest counters too.
  Result<void> add(const CounterFile &file) override;
  Result<void> zero() override;
};

// Errors have the offset of what is at fault. A file that ends within a record is an error.
TALLY_API Result<GcovNotes> read_gcov_notes(std::string bytes, std::string_view source,
                                            Diagnostics &diagnostics);
TALLY_API Result<GcovData> read_gcov_data(std::string_view bytes, std::string_view source,
                                          Diagnostics &diagnostics);

// The counters of the functions' arcs and conditions, as gcov takes them: by ident; with another
// stamp none; up to the first function whose checksums or number of counters are other ones. What
// does not match is found. `data` null: nothing ran.
TALLY_API CoverageCounters match_counters(const GcovNotes &notes, const GcovData *data,
                                          std::string_view source, Diagnostics &diagnostics);

} // namespace tally
