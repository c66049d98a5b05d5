// Reads and writes notes (.gcno) and counters (.gcda) of GCC 3.4 and later, and of Clang.
// lib/src/formats/gcov/FORMAT.md describes the files and names the source of each rule.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/counter_file.h"
#include "model/coverage_graph.h"
#include "support/diagnostics.h"
#include "support/file_io.h"
#include "support/result.h"

namespace tally {

// The version of the compiler whose layout a file has: 100 * major + minor. The enumerators are the
// versions that changed the layout; a header may hold any version.
enum class GcovVersion : uint32_t {
  v4_7 = 407, // checksums of the flow graph
  v4_8 = 408, // the exit is block 1
  v8 = 800,   // columns, last lines, artificial functions, one word for the number of blocks
  v9 = 900,   // the working directory, and the last columns of functions
  v10 = 1000, // the kinds of counters have the numbers of GcovCounter
  v11 = 1100, // counters that are all zeros are not stored
  v12 = 1200, // a checksum in the header; lengths in bytes
  v14 = 1400, // conditions
  v15 = 1500, // paths
};

struct GcovHeader {
  bool big_endian = false;
  uint32_t version_word = 0; // "B22*", with the first character in the highest byte
  GcovVersion version{};
  uint32_t stamp = 0; // the same in notes and counters of one compilation
  // Present in GCC 12's layout, which has a checksum after the stamp and lengths in bytes. Clang
  // writes neither, whatever version it states.
  std::optional<uint32_t> checksum;
  bool byte_lengths() const { return checksum.has_value(); }
  // Returns the size in bytes of a record or string that has this length in the file: lengths are
  // in bytes or, in the older layout, in words of 4 bytes.
  uint64_t bytes_in(uint64_t length) const { return byte_lengths() ? length : length * 4; }
};

// Returns the four characters of a version word: "B22*".
std::string version_text(uint32_t version_word);

class GcovNotes final : public CounterFile {
public:
  GcovHeader header;
  CoverageGraph graph;
  std::string file_bytes; // as read, because notes are never changed

  Result<std::string> bytes() const override { return file_bytes; }
  Result<void> add(const CounterFile &other) override; // fails: notes have no counters
  Result<void> zero() override;                        // fails for the same reason
};

// A record of a file of counters: a tag and its payload.
struct GcovRecord {
  uint32_t tag = 0;
  bool zeros = false; // counters that are all 0 and not stored (GCC 11 and later)
  // A half-open range: of GcovData::values for counters, of GcovData::other for other records. If
  // `zeros` is true, only the size of the range has a meaning: the number of counters.
  uint32_t first = 0, last = 0;
};

// Kinds of counters. GCC before 10 uses other numbers for some of them.
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
inline constexpr uint32_t gcov_tag_program_summary = 0xa3000000; // up to GCC 8

inline constexpr uint32_t counter_tag(GcovCounter kind) {
  return gcov_tag_counters + (static_cast<uint32_t>(kind) << 17);
}
inline constexpr bool is_counter_tag(uint32_t tag) {
  return tag >= gcov_tag_counters && (tag & 0xffe1ffff) == gcov_tag_counters;
}
inline constexpr GcovCounter counter_kind(uint32_t tag) {
  return static_cast<GcovCounter>((tag - gcov_tag_counters) >> 17);
}

// The identity of a function in a file of counters. A record without a key (length 0) is a
// placeholder for a function whose counters are in another object.
struct GcovFunctionKey {
  uint32_t ident = 0, lineno_checksum = 0, cfg_checksum = 0;
  friend bool operator==(const GcovFunctionKey &, const GcovFunctionKey &) = default;
};

class GcovData final : public CounterFile {
public:
  GcovHeader header;
  std::vector<GcovRecord> records; // in the order of the file
  std::vector<int64_t> values;     // the values of all counters
  std::string other;               // the payloads of all other records, in the file's byte order
  bool end_mark = false;           // the file has a 0 in place of a tag after the last record
  std::string behind;              // the bytes after that 0

  std::span<const int64_t> values_of(const GcovRecord &record) const {
    return std::span(values).subspan(record.first, record.last - record.first);
  }
  // Returns the key in a function's record, or nothing for a placeholder.
  std::optional<GcovFunctionKey> function_of(const GcovRecord &record) const;

  Result<std::string> bytes() const override;
  // Adds each counter by the rule of its kind, as gcov-tool does, and also the number of runs and
  // the sum of the largest counters. Kinds that cannot be added for the file's version are
  // unsupported.
  Result<void> add(const CounterFile &file) override;
  Result<void> zero() override;
};

// Reads a file from its bytes. Errors hold the offset of the bytes at fault. A file that ends
// within a record is an error.
Result<GcovNotes> read_gcov_notes(std::string bytes, std::string_view source,
                                  Diagnostics &diagnostics);
Result<GcovData> read_gcov_data(std::string_view bytes, std::string_view source,
                                Diagnostics &diagnostics);

// Assigns the counters of arcs and conditions to the functions of the notes, as gcov does.
// Functions match by ident. If the stamps differ, no counters are used. At the first function whose
// checksums or number of counters differ, matching stops. Each mismatch adds a warning with
// `source`, the name of the file of counters. If `data` is null, nothing ran.
CoverageCounters match_counters(const GcovNotes &notes, const GcovData *data,
                                std::string_view source, Diagnostics &diagnostics);

} // namespace tally
