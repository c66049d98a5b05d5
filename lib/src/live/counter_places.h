// Finds where a module keeps its coverage counters, as far as its file shows it.
#pragma once

#include <cstdint>
#include <vector>

#include "live/memory.h"
#include "symbolize/elf_file.h"

namespace tally::live {

struct AddressRange {
  uint64_t low = 0, high = 0; // half-open
  bool contains(uint64_t address, uint64_t size) const {
    return address >= low && address < high && size <= high - address;
  }
  friend bool operator==(const AddressRange &, const AddressRange &) = default;
};

// Addresses are those of the file, which differ from the process's by the module's bias. libgcov
// and GCC (gcc/coverage.cc) define the names of symbols and sections.
struct CounterPlaces {
  WordLayout words;
  std::vector<uint64_t> roots;          // __gcov_root, the head of a list of objects
  std::vector<AddressRange> info_lists; // .gcov_info, arrays of pointers to objects
  std::vector<uint64_t> functions;      // __gcov_.FUNCTION, the description of a function
  std::vector<AddressRange> data;       // initialised data, in which objects are described
  std::vector<AddressRange> segments;   // all that is loaded
  bool x86_64 = false;                  // its code is for x86-64
  // __llvm_prf_cnts: counters of Clang's source-based coverage, which are not read.
  bool source_based = false;

  bool has_counters() const { // those of GCC
    return !roots.empty() || !info_lists.empty() || !functions.empty();
  }
};

CounterPlaces find_places(const symbolize::ElfFile &file);

} // namespace tally::live
