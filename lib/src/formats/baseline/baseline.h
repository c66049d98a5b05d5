// Reads and writes the file of a coverage baseline, which FORMAT.md describes.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "support/file_io.h"
#include "support/result.h"

namespace tally::baseline {

// How many of all lines ran, or how many of all branches were taken.
struct Share {
  uint64_t ran = 0, all = 0;

  uint64_t missed() const { return all - ran; }
  Share &operator+=(const Share &more) {
    ran += more.ran;
    all += more.all;
    return *this;
  }
  friend bool operator==(const Share &, const Share &) = default;
};

// Returns whether the percentage of `a` is smaller. A share of nothing counts as 100%.
bool is_smaller(const Share &a, const Share &b);

struct Record {
  Share lines;    // of at least one line
  Share branches; // of none if the file has no branches, or if they were not counted

  friend bool operator==(const Record &, const Record &) = default;
};

// By path as tables show it: relative for a file below the root, otherwise absolute.
using Baseline = std::map<std::string, Record, std::less<>>;

// Every error of the text has a position. Of several values of one file, the lower requirement
// counts: the smaller percentage or, if these are equal, the one of more lines that did not run; no
// branches, if one of them has none.
Result<Baseline> read(ByteSource &source);
std::string write(const Baseline &baseline);

} // namespace tally::baseline
