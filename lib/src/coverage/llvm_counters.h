// The counters of all profiles, added up.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "formats/llvm/source_profile.h"
#include "support/hash.h"

namespace tally::llvm {

// Adds the counters of a function to those of the same version of it.
void add_counters(CounterRecord &sum, const CounterRecord &more);

// The sum of all images with the same build ids.
class CounterPool {
public:
  void add(CounterRecord &&record);
  // Returns the sums, in the order of their hashes, and forgets them.
  std::vector<CounterRecord> take();

  struct Found {
    const CounterRecord *counters = nullptr; // null if this version of the function is unknown
    bool has_name = false;                   // whether any version is known
  };
  Found find(uint64_t name_hash, uint64_t function_hash) const;

private:
  // The versions of a function by its hash. Nearly all functions have one.
  struct Versions {
    CounterRecord first;
    std::map<uint64_t, CounterRecord> others;
  };
  SeededMap<uint64_t, Versions> functions_; // by the hash of the name
};

} // namespace tally::llvm
