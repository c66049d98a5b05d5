// The counters of all profiles, added up.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "formats/llvm/source_profile.h"
#include "support/hash.h"

namespace tally::llvm {

// The counters of a function: those of one profile, or the sum of several.
struct CounterSum {
  std::vector<uint64_t> values;
  std::string bitmap;

  void clear() {
    values.clear();
    bitmap.clear();
  }
  void add(std::span<const uint64_t> more, std::string_view more_bits);
};

// The sum of all images with the same build ids.
class CounterPool {
public:
  void add(CounterRecord &&record);

  struct Found {
    const CounterSum *counters = nullptr; // null if this version of the function is unknown
    bool has_name = false;                // whether any version is known
  };
  Found find(uint64_t name_hash, uint64_t function_hash) const;

private:
  struct HashName {
    size_t operator()(uint64_t name_hash) const { return mix(name_hash); }
  };
  // The versions of a function by its hash. Nearly all functions have one.
  struct Versions {
    uint64_t function_hash = 0;
    CounterSum counters;
    std::map<uint64_t, CounterSum> others;
  };
  std::unordered_map<uint64_t, Versions, HashName> functions_; // by the hash of the name
};

} // namespace tally::llvm
