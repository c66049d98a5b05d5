// The counters of a program with Clang's source-based coverage, from a raw or an indexed profile.
// FORMAT.md describes both.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/hash.h"
#include "support/result.h"

namespace tally::llvm {

struct CounterRecord {
  uint64_t name_hash = 0;     // of the function's name
  uint64_t function_hash = 0; // of its structure, by which other versions of it are recognized
  std::vector<uint64_t> counts;
  std::string bitmap; // the test vectors of MC/DC that ran, a bit for each
  // What threads were doing when the counters were read from memory.
  struct Open {
    // How many calls had not returned, so that they may not have taken a branch: at the end, and,
    // if the counters are those since a mark, at its begin.
    uint32_t frames = 0, frames_before = 0;
    std::vector<uint32_t> next{}; // counters that threads are about to increase, each by one
    // The calls that have begun, and of which the first counter, which is among `next`, does not
    // tell: at the end and at the begin.
    uint32_t entered = 0, entered_before = 0;
    bool at_least = false; // counters may be in registers
    friend bool operator==(const Open &, const Open &) = default;
  } open;
  friend bool operator==(const CounterRecord &, const CounterRecord &) = default;
};

// The counters of one executable or shared library, or those of all that a profile was merged from.
struct ProfileImage {
  std::vector<std::string> build_ids; // lower-case hex; empty if it does not say
  std::vector<CounterRecord> records;
  // With -profile-correlate=binary, the records are in the object, and only the counters are here.
  bool is_correlated = false;
  bool has_byte_counters = false;
  std::string counters; // the sections of counters and bitmaps, if it is correlated
  std::string bitmaps;
  // Of functions, by their hash. Only with ProfileDetail::everything, as coverage has the names of
  // the object.
  SeededMap<uint64_t, std::string> names;
};

// What profiles hold beside counters, which a sum of profiles does not keep.
struct LeftOut {
  bool values = false, memory_profile = false, traces = false, virtual_tables = false;
};

struct SourceProfile {
  uint64_t version = 0;
  bool is_indexed = false;
  std::vector<ProfileImage> images; // an indexed profile has one
  LeftOut left_out;                 // only with ProfileDetail::everything
};

// What is read of a profile. Coverage needs only the counts.
enum class ProfileDetail : uint8_t { counts, everything };

bool is_raw_profile(std::string_view head);
bool is_indexed_profile(std::string_view head);

// Read the profile in `bytes`. `name` is its file, for errors. Errors: invalid_input with the
// offset at which the bytes are wrong or missing; unsupported for other versions, and for profiles
// of optimizers (-fprofile-generate), which no mapping to sources belongs to.
Result<SourceProfile> read_raw_profile(std::string_view bytes, const std::string &name,
                                       ProfileDetail detail = ProfileDetail::counts);
Result<SourceProfile> read_indexed_profile(std::string_view bytes, const std::string &name,
                                           ProfileDetail detail = ProfileDetail::counts);

// The layout of records of functions, which is that of a version and of the program's processor.
struct RecordLayout {
  uint64_t version = 0;
  size_t pointer_size = 8;
  bool big_endian = false;
  bool has_byte_counters = false;
  size_t value_kinds = 2;
  size_t size() const; // of a record, in bytes

  // The version of the records of an object, which does not say it: those of the oldest compiler
  // that can leave them in the object are 9.
  static constexpr uint64_t in_objects = 10;
};

// Returns the layout of records that the word of a raw profile's version determines, or of the
// variable __llvm_profile_raw_version; nothing if it is not known, or a profile of optimizers.
std::optional<RecordLayout> record_layout(uint64_t version_word, size_t pointer_size,
                                          bool big_endian);

// Where counters, and those of bitmaps, are: the numbers from which a record's pointer is an
// offset into the section.
struct CounterSections {
  std::string_view counters, bitmaps;
  uint64_t counters_delta = 0, bitmaps_delta = 0;
  bool is_relative = false; // the pointers are relative to their records
};

// Reads records of functions. `offset` is where they begin, for errors.
Result<std::vector<CounterRecord>> read_records(std::string_view records,
                                                const RecordLayout &layout,
                                                const CounterSections &sections,
                                                const std::string &name, uint64_t offset);

// Returns where the counters of each record begin in their section, which is not checked.
std::vector<uint64_t> counter_offsets(std::string_view records, const RecordLayout &layout,
                                      const CounterSections &sections);

} // namespace tally::llvm
