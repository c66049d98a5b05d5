// Defines the interface to a file of coverage notes or counters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "support/result.h"

namespace tally {

// A file in memory. It keeps everything that the file holds, so that a file that is read and
// written again has the same bytes.
class CounterFile {
public:
  virtual ~CounterFile() = default;
  // Returns the bytes of the file.
  virtual Result<std::string> bytes() const = 0;
  // Adds the counters of another file of the same object, each by the rule of its kind. Errors:
  // invalid_input if the other file belongs to another object or has no counters; overflow if a sum
  // exceeds 64 bits. After an error the counters are unchanged.
  virtual Result<void> add(const CounterFile &other) = 0;
  // Returns what bytes() leaves out of the files that were added up, a phrase for each.
  virtual std::vector<std::string> lost() const { return {}; }
  // Merges the sections that several runs appended to the file (GCC before 3.4), as add() does. A
  // file that can only be read (a raw profile of LLVM) becomes one of the format of sums.
  virtual Result<void> unite() { return {}; }
  // Resets all counters, as if nothing had run. Fails with invalid_input if the file has none.
  virtual Result<void> zero() = 0;
};

} // namespace tally
