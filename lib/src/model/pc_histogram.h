// Counts of program counters in bins, as profil() fills them and gmon.out holds them. The counts
// are kept raw: a bin covers several addresses, and only attribute() distributes its ticks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/stack_profile.h"
#include "support/result.h"

namespace tally {

// The system whose profil() defines how a pc and a scale give a bin, see tally/mon.h.
enum class ProfilAbi : uint8_t { aix, bsd, glibc };

// How a range is divided into bins. There are three ways: bins of `bytes` each, equal bins of which
// there is one for each counter (`even`), and bins by a `scale`, as profil() makes them.
struct PcBins {
  uint64_t bytes = 0; // the bytes of code in each bin; 0 if one of the other two ways is used
  bool even = false;  // equal bins, perhaps not of whole bytes, as gprof reads a gmon.out
  uint32_t scale = 0; // the bytes of the buffer for each byte of code, as a fraction of 65536
  ProfilAbi abi = ProfilAbi::aix;
  bool strict = false; // aix: scale 2 follows the formula, instead of one bin for everything
  bool fitted = false; // the scale was computed from the range; the topmost pcs share the last bin
  friend bool operator==(const PcBins &, const PcBins &) = default;
};

struct PcRange {
  uint64_t low_pc = 0;  // link-time, as are all pcs here
  uint64_t high_pc = 0; // exclusive
  PcBins bins;
  // If bins.bytes is set, as many counters as are needed to cover the range; the last bin may be
  // shorter.
  std::vector<uint64_t> counters;

  // Returns the index of the counter for a pc, or counters.size() if there is none.
  size_t bin_of(uint64_t pc) const;
  // Returns the pcs [first, second) of a bin; the range is empty if no pc falls into the bin.
  std::pair<uint64_t, uint64_t> extent(size_t bin) const;
};

// Returns how to divide [low_pc, high_pc) into `counters` equal bins: by bytes if they have whole
// bytes, otherwise `even`.
PcBins even_bins(uint64_t low_pc, uint64_t high_pc, size_t counters);

class PcHistogramBuilder;

class PcHistogram {
public:
  std::span<const PcRange> ranges() const { return ranges_; } // ascending, without overlap
  uint32_t rate_hz() const { return rate_hz_; }               // 0 if unknown
  std::string_view dimension() const { return dimension_; }   // the unit of ticks / rate: "seconds"
  char abbreviation() const { return abbreviation_; }         // 's'
  uint64_t outside() const { return outside_; }               // the ticks in no bin
  uint64_t ticks() const; // the ticks in all bins; with outside() they fit in 64 bits

private:
  friend class PcHistogramBuilder;
  std::vector<PcRange> ranges_;
  uint32_t rate_hz_ = 0;
  std::string dimension_ = "seconds";
  char abbreviation_ = 's';
  uint64_t outside_ = 0;
};

// Fills a PcHistogram. finish() returns the first error of all calls.
class PcHistogramBuilder {
public:
  PcHistogramBuilder() = default;
  explicit PcHistogramBuilder(PcHistogram histogram) : histogram_(std::move(histogram)) {}

  void set_rate_hz(uint32_t rate_hz) { histogram_.rate_hz_ = rate_hz; }
  void set_dimension(std::string_view name, char abbreviation);

  // Adds a range and returns its index. Ranges must be added in ascending order.
  size_t add_range(uint64_t low_pc, uint64_t high_pc, uint64_t bin_bytes);
  size_t add_range(uint64_t low_pc, uint64_t high_pc, const PcBins &bins, size_t counters);
  size_t add_range(PcRange range); // a range with its counters

  // Adds ticks to the bin of `pc`, or to outside() if no bin contains `pc`.
  void count(uint64_t pc, uint64_t ticks = 1);
  void add_outside(uint64_t ticks);

  const PcHistogram &so_far() const { return histogram_; }
  Result<PcHistogram> finish(); // validates; the builder is empty afterwards

private:
  void add(uint64_t &counter, uint64_t ticks);
  void fault(ErrorCode code, std::string message); // the first one is kept

  PcHistogram histogram_;
  std::vector<Error> faults_;
};

// Checks the rules that the comments above state, and returns the first violation.
Result<void> validate(const PcHistogram &histogram);

// A piece of a function's code, [start, end). A function may have several pieces, with the same id.
struct PcExtent {
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t id = 0;
};

struct PcShare {
  uint32_t id = 0;
  uint64_t ticks = 0; // rounded; all shares and the unattributed ticks add up to all ticks
  double exact = 0;   // before rounding
};

struct PcAttribution {
  std::vector<PcShare> shares; // by ascending id, each id once, even if it has no tick
  PcShare unattributed;        // the ticks of bins, or parts of bins, without a function; id 0
};

// Shares the ticks of each bin among functions by the bytes that they have in it, as gprof does.
// The exact sums are rounded once, at the end, by the largest remainder. The extents must be in
// ascending order and must not overlap, otherwise the call fails with invalid_argument.
Result<PcAttribution> attribute(const PcHistogram &histogram, std::span<const PcExtent> functions);

} // namespace tally
