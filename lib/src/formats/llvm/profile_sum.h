// Adds up profiles of source-based coverage, as `llvm-profdata merge` does.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "formats/llvm/source_profile.h"
#include "support/hash.h"
#include "support/result.h"

namespace tally::llvm {

class ProfileSum {
public:
  // Adds all images of a profile that was read with ProfileDetail::everything. Counters with the
  // same name and the same hash of the function add up, and stop at the largest number that LLVM
  // accepts; bitmaps are united. Errors: unsupported if the counters have no records, because these
  // are in the object; invalid_input if the bitmaps have different layouts. After an error the sum
  // is unchanged.
  Result<void> add(const SourceProfile &profile);
  // Resets all counters and bitmaps to 0.
  void zero();

  // An indexed profile. Its version is the largest of those that the LLVM of each added profile
  // writes, which that LLVM and all newer ones read.
  const SourceProfile &profile() const { return sum_; }
  // What the sum does not hold of the profiles, a phrase for each.
  std::vector<std::string> lost() const;

private:
  void add(const CounterRecord &record, const ProfileImage &from);

  SourceProfile sum_{.version = 0, .is_indexed = true, .images = {{}}, .left_out = {}};
  // The index of the record with the hashes of a name and of a function.
  SeededMap<std::pair<uint64_t, uint64_t>, size_t> index_;
  SeededSet<std::string> build_ids_; // of the sum
  std::set<uint64_t> unnamed_;       // the hashes of names that are not known
  std::set<size_t> mismatched_;      // the indices of records whose numbers of counters differ
};

} // namespace tally::llvm
