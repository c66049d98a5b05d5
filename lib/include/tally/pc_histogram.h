// Counts of program counters by place: what profil() fills and gmon.out holds. Kept raw: a bin is
// not an address, and only attribute() shares it out.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/result.h>
#include <tally/stack_profile.h>

namespace tally {

// Whose rule turns a pc and a scale into a bin.
enum class ProfilAbi : uint8_t { aix, bsd, glibc };

// How a range is cut into bins: ones of `bytes`, as many equal ones as there are counters, or as
// profil() does by a scale.
struct PcBins {
  uint64_t bytes = 0; // 0: one of the other two
  bool even = false;  // equal parts, which may be no whole bytes: as gprof takes a gmon.out
  uint32_t scale = 0; // an unsigned fraction of 65536: two bytes of counters for each byte of code
  ProfilAbi abi = ProfilAbi::aix;
  bool strict = false; // aix: scale 2 by the formula, not everything in the first bin
  bool fitted = false; // the scale was computed from the range; the topmost pcs share the last bin
  friend bool operator==(const PcBins &, const PcBins &) = default;
};

struct PcRange {
  uint64_t low_pc = 0;  // link-time, as all pcs here
  uint64_t high_pc = 0; // exclusive
  PcBins bins;
  std::vector<uint64_t> counters; // bins.bytes: as many as cover the range; the last may be cut

  // The counter that a pc falls into; counters.size() when none.
  TALLY_API size_t bin_of(uint64_t pc) const;
  // [first, second) of a bin, the pcs that fall into it; empty when none does.
  TALLY_API std::pair<uint64_t, uint64_t> extent(size_t bin) const;
};

// [low_pc, high_pc) in `counters` equal parts: by bytes where these are whole.
TALLY_API PcBins even_bins(uint64_t low_pc, uint64_t high_pc, size_t counters);

class PcHistogramBuilder;

class TALLY_API PcHistogram {
public:
  std::span<const PcRange> ranges() const { return ranges_; } // ascending, apart
  uint32_t rate_hz() const { return rate_hz_; }               // 0: not known
  std::string_view dimension() const { return dimension_; }   // "seconds": of ticks / rate
  char abbreviation() const { return abbreviation_; }         // 's'
  uint64_t outside() const { return outside_; }               // ticks in no bin
  uint64_t ticks() const; // in all bins; with those outside no more than 64 bits hold

private:
  friend class PcHistogramBuilder;
  friend TALLY_API Result<void> append(PcHistogramBuilder &to, const PcHistogram &from);
  std::vector<PcRange> ranges_;
  uint32_t rate_hz_ = 0;
  std::string dimension_ = "seconds";
  char abbreviation_ = 's';
  uint64_t outside_ = 0;
};

// The one way to fill a PcHistogram. What is wrong is the error of finish().
class TALLY_API PcHistogramBuilder {
public:
  PcHistogramBuilder() = default;
  explicit PcHistogramBuilder(PcHistogram histogram) : histogram_(std::move(histogram)) {}

  void set_rate_hz(uint32_t rate_hz) { histogram_.rate_hz_ = rate_hz; }
  void set_dimension(std::string_view name, char abbreviation);

  // Ranges come in ascending order; returns the range's index.
  size_t add_range(uint64_t low_pc, uint64_t high_pc, uint64_t bin_bytes);
  size_t add_range(uint64_t low_pc, uint64_t high_pc, const PcBins &bins, size_t counters);
  size_t add_range(PcRange range); // with its counters

  void count(uint64_t pc, uint64_t ticks = 1);
  void add_outside(uint64_t ticks);

  const PcHistogram &so_far() const { return histogram_; }
  Result<PcHistogram> finish(); // validates; the builder is empty afterwards

private:
  friend TALLY_API Result<void> append(PcHistogramBuilder &to, const PcHistogram &from);
  void add(uint64_t &counter, uint64_t ticks);
  void fault(ErrorCode code, std::string message); // the first one is kept

  PcHistogram histogram_;
  std::vector<Error> faults_;
};

// The bins of equal ranges add up, ranges that lie apart stand side by side. Refused, and `to` left
// as it was: other rates or dimensions, ranges that overlap in part or are cut otherwise.
TALLY_API Result<void> append(PcHistogramBuilder &to, const PcHistogram &from);

// Every rule that the comments above state; the first one broken is the error.
TALLY_API Result<void> validate(const PcHistogram &histogram);

// The code [start, end) of a function. A function may have several.
struct PcExtent {
  uint64_t start = 0;
  uint64_t end = 0;
  uint32_t id = 0;
};

struct PcShare {
  uint32_t id = 0;
  uint64_t ticks = 0; // whole; all shares and what is unattributed make up all ticks
  double exact = 0;   // before rounding
};

struct PcAttribution {
  std::vector<PcShare> shares; // by ascending id, each id once, also those without a tick
  PcShare unattributed;        // in bins, or parts of bins, that no function covers; id 0
};

// Shares the ticks of each bin among functions by the bytes that they have in it, as gprof does.
// Exact sums are rounded once, at the end, to the largest remainder. Extents are ascending and do
// not overlap.
TALLY_API Result<PcAttribution> attribute(const PcHistogram &histogram,
                                          std::span<const PcExtent> functions);

// The first value of the samples whose leaf lies in `mapping`, by its address there: link-time
// where the mapping's bias is known, else run-time. Samples elsewhere are outside.
TALLY_API Result<PcHistogram> from_samples(const StackProfile &profile, MappingId mapping,
                                           uint64_t low_pc, uint64_t high_pc, uint64_t bin_bytes);

} // namespace tally
