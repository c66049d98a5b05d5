// The mapping from counters to the regions of sources, which Clang stores in objects. FORMAT.md
// describes it.
#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "formats/llvm/source_profile.h"
#include "support/diagnostics.h"
#include "support/hash.h"
#include "support/result.h"

namespace tally::llvm {

// No source has more lines, and no macro expands this many others, one within the other.
inline constexpr uint32_t most_lines = uint32_t{1} << 24;
inline constexpr size_t most_nested = 256;

// A count: none, that of a counter, or that of an expression.
struct Counter {
  enum class Kind : uint8_t { zero, counter, expression };
  Kind kind = Kind::zero;
  uint32_t index = 0;
  friend bool operator==(const Counter &, const Counter &) = default;
};

// The sum, or the difference, of two counts.
struct Expression {
  Counter left, right;
  bool is_sum = false;
};

struct SourcePlace {
  uint32_t line = 0, column = 0;
  friend auto operator<=>(const SourcePlace &, const SourcePlace &) = default;
};

struct MappingRegion {
  // The order is that of regions with the same place.
  enum class Kind : uint8_t { code, expansion, skipped, gap, branch, decision };
  Kind kind = Kind::code;
  uint32_t file = 0;     // the index of its file in MappedFunction::files
  uint32_t expanded = 0; // of an expansion: the file that stands there
  SourcePlace start, end;
  Counter count;       // of a branch: how often the condition was true
  Counter false_count; // of a branch
  // MC/DC. A decision has the index of its first bit and the number of its conditions; a condition
  // has its number, and those that are evaluated next if it is true, or false: -1 for none.
  uint32_t bitmap_index = 0, conditions = 0;
  bool is_condition = false;
  int32_t id = -1, next_if_true = -1, next_if_false = -1;

  // Returns whether it is a stretch of the source, and not a branch or a decision.
  bool is_stretch() const { return kind != Kind::branch && kind != Kind::decision; }
};

struct MappedFunction {
  uint64_t name_hash = 0, function_hash = 0;
  std::string_view name; // empty if the object, which it refers to, does not have it
  // Index 0 is the function's own file, the others are expanded in it. The object has the names.
  std::vector<std::string_view> files;
  std::vector<Expression> expressions;
  std::vector<MappingRegion> regions;

  // Returns whether it stands for a function that its unit does not use: other units may.
  bool is_dummy() const;
};

// One mapping of a function, not decoded yet.
struct MappingRecord {
  uint64_t name_hash = 0, function_hash = 0, files_key = 0;
  uint64_t offset = 0; // of the mapping in the file
  std::string_view mapping;
};

// An object with mappings: an executable, a shared library, a relocatable file, or a member of an
// archive.
class CoverageObject {
public:
  // Reads all objects of a file; none if it is not an ELF file or has no mappings. What is damaged
  // in it is reported and left out. The file may change or shrink meanwhile and afterwards.
  static std::vector<CoverageObject> read(const std::string &path, Diagnostics &diagnostics);
  // Does the same for the content of a file, which the objects refer to.
  static std::vector<CoverageObject> read(std::string_view bytes, const std::string &name,
                                          Diagnostics &diagnostics);

  const std::string &name() const { return name_; } // the path, and the member in parentheses
  const std::string &build_id() const { return build_id_; } // lower-case hex; may be empty
  // Returns the paths of all sources that the mappings name, each once.
  std::set<std::string> sources() const;
  const std::vector<MappingRecord> &records() const { return records_; }
  // Decodes the mapping of a record into `out`, whose memory is used again. Fails with
  // invalid_input if it is damaged.
  Result<void> decode(const MappingRecord &record, MappedFunction &out) const;
  // Returns the name of a record's function, which the object holds; empty if it has none.
  std::string_view name_of(const MappingRecord &record) const;
  // Returns the records of functions for counters of a profile that has none, because it was made
  // with -profile-correlate=binary. Fails with invalid_input if they do not fit together.
  Result<std::vector<CounterRecord>> correlate(const ProfileImage &image) const;
  // Returns whether the counters may be this object's: those of another one rarely have its size.
  bool correlates(const ProfileImage &image) const {
    return !correlated_.empty() && image.counters.size() == counters_size_;
  }

private:
  friend class ObjectReader;

  std::string name_, build_id_;
  // The sections that the views are of; empty if the caller has the file's bytes.
  std::vector<std::shared_ptr<const std::string>> sections_;
  RecordLayout layout_;
  std::string_view correlated_; // __llvm_covdata
  uint64_t counters_address_ = 0, counters_size_ = 0, bitmaps_address_ = 0;
  bool has_folders_ = false; // file_names_ begin with the compiler's working directory
  SeededMap<uint64_t, std::vector<std::string>> file_names_; // by their key
  // The names of functions by their hash, in the texts that the sections hold.
  SeededMap<uint64_t, std::string_view> names_;
  std::vector<std::shared_ptr<const std::string>> name_texts_;
  std::vector<MappingRecord> records_;
};

} // namespace tally::llvm
