// Finds where a module keeps its coverage counters, as far as its file shows it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "live/memory.h"
#include "symbolize/elf_file.h"

namespace tally::live {

struct AddressRange {
  uint64_t low = 0, high = 0; // half-open
  uint64_t size() const { return high - low; }
  bool contains(uint64_t address, uint64_t size) const {
    return address >= low && address < high && size <= high - address;
  }
  friend bool operator==(const AddressRange &, const AddressRange &) = default;
};

// An object that Clang compiled with --coverage. Its counters are an array for each function.
struct ClangUnit {
  std::string source;                // the name of the source file, without directories
  std::optional<uint64_t> file_info; // what describes the object, unless it was optimized away
  std::map<uint32_t, AddressRange> counters; // by the number of the function
};

// Clang's source-based coverage: the sections __llvm_prf_data, _cnts, _bits and _names, and the
// variable __llvm_profile_raw_version.
struct SourceBasedPlaces {
  AddressRange data, counters, bitmaps, names;
  std::optional<uint64_t> version;
  std::optional<uint64_t> bias; // __llvm_profile_counter_bias: by how much counters moved
};

// Addresses are those of the file, which differ from the process's by the module's bias. libgcov
// and GCC (gcc/coverage.cc) define the names of symbols and sections.
struct CounterPlaces {
  WordLayout words;
  uint64_t file_bytes = 0;              // the size of the file
  std::vector<uint64_t> roots;          // __gcov_root, the head of a list of objects
  std::vector<AddressRange> info_lists; // .gcov_info, arrays of pointers to objects
  std::vector<uint64_t> functions;      // __gcov_.FUNCTION, the description of a function
  std::vector<AddressRange> data;       // initialised data, in which objects are described
  std::vector<AddressRange> segments;   // all that is loaded
  bool x86_64 = false;                  // its code is for x86-64
  std::vector<ClangUnit> clang_units;
  // Texts among the constants that end with the path of a file of counters, for units without a
  // file_info.
  std::vector<std::string> data_paths;
  SourceBasedPlaces source;

  bool is_source_based() const { return source.counters.high > source.counters.low; }

  bool has_counters() const { // those of gcov
    return !roots.empty() || !info_lists.empty() || !functions.empty() || !clang_units.empty();
  }
};

CounterPlaces find_places(const symbolize::ElfFile &file);

} // namespace tally::live
