// The raw content of a gmon.out: a histogram of program counters, and counts of calls and basic
// blocks by address. pc_costs.h adds the names of the functions, from the program.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/pc_histogram.h"
#include "support/result.h"

namespace tally {

// The calls from one address to a function. All addresses are link-time.
struct PcArc {
  uint64_t from_pc = 0; // the return address; 0 if unknown (mon.out counts calls by callee only)
  uint64_t self_pc = 0; // the callee
  uint64_t count = 0;
  friend bool operator==(const PcArc &, const PcArc &) = default;
};

struct PcBlockCount {
  uint64_t pc = 0;
  uint64_t count = 0;
  friend bool operator==(const PcBlockCount &, const PcBlockCount &) = default;
};

enum class PcFlavour : uint8_t {
  gnu, // "gmon", records with tags
  bsd, // 4.4BSD's header with version 0x51879
  mon, // mon.out of V7: monitor()
};

// The layout of the file. A profile is written in the layout in which it was read.
struct PcLayout {
  PcFlavour flavour = PcFlavour::gnu;
  uint8_t pointer_bytes = 8; // 4 or 8
  bool big_endian = false;
  friend bool operator==(const PcLayout &, const PcLayout &) = default;
};

class PcProfileBuilder;

class PcProfile {
public:
  const PcHistogram &histogram() const { return histogram_; }
  std::span<const PcArc> arcs() const { return arcs_; }            // ascending, each pair once
  std::span<const PcBlockCount> blocks() const { return blocks_; } // ascending, each pc once
  const PcLayout &layout() const { return layout_; }

private:
  friend class PcProfileBuilder;
  PcHistogram histogram_;
  std::vector<PcArc> arcs_;
  std::vector<PcBlockCount> blocks_;
  PcLayout layout_;
};

// Fills a PcProfile. Equal ranges, arcs and blocks are added up; a sum of more than 64 bits is an
// overflow. Each call reports an error at once, so that a reader can add the file offset, and
// leaves the builder unchanged.
class PcProfileBuilder {
public:
  void set_layout(const PcLayout &layout) { layout_ = layout; }

  // Adds the counters of a range, whose bins must be even_bins(). Fails with invalid_input if they
  // are not, if the rate, dimension or abbreviation differs from that of earlier ranges, or if the
  // range overlaps an earlier range partly or divides it differently.
  Result<void> add_range(PcRange range, uint32_t rate_hz, std::string_view dimension,
                         char abbreviation);
  Result<void> add_arc(const PcArc &arc);
  Result<void> add_block(const PcBlockCount &block);
  Result<void> add_outside(uint64_t ticks);
  Result<void> add(const PcProfile &profile); // everything except the layout

  Result<PcProfile> finish(); // leaves the builder empty

private:
  struct Units {
    uint32_t rate_hz = 0;
    std::string dimension;
    char abbreviation = 0;
  };
  std::optional<Units> units_;
  std::map<uint64_t, PcRange> ranges_; // by low_pc
  uint64_t ticks_ = 0, outside_ = 0;
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> arcs_;
  std::map<uint64_t, uint64_t> blocks_;
  PcLayout layout_;
};

} // namespace tally
