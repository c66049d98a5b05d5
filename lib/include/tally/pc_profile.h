// What a gmon.out holds, kept raw: a histogram of program counters, calls and basic blocks by
// address. Names come later, from the program that it belongs to (pc_costs.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tally/pc_histogram.h>
#include <tally/result.h>

namespace tally {

// Calls from one address to a function: `from_pc` is where the call returns to. All addresses are
// link-time.
struct PcArc {
  uint64_t from_pc = 0; // 0: not told (mon.out counts calls of a function, from anywhere)
  uint64_t self_pc = 0;
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

// How the file lies on the disk; it is written again as it was read.
struct PcLayout {
  PcFlavour flavour = PcFlavour::gnu;
  uint8_t pointer_bytes = 8; // or 4
  bool big_endian = false;
  friend bool operator==(const PcLayout &, const PcLayout &) = default;
};

class PcProfileBuilder;

class TALLY_API PcProfile {
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

// The one way to fill a PcProfile. What is equal adds up: ranges, arcs, blocks. Each call says at
// once what is wrong, so that a reader can add the place; after an error nothing has changed.
class TALLY_API PcProfileBuilder {
public:
  void set_layout(const PcLayout &layout) { layout_ = layout; }

  // Counters of [low_pc, high_pc), cut into equal parts. invalid_input: other units than those that
  // are there, a range that overlaps one of them in part or is cut otherwise.
  Result<void> add_range(PcRange range, uint32_t rate_hz, std::string_view dimension,
                         char abbreviation);
  Result<void> add_arc(const PcArc &arc);
  Result<void> add_block(const PcBlockCount &block);
  Result<void> add_outside(uint64_t ticks);
  Result<void> add(const PcProfile &profile); // all of it, but its layout

  Result<PcProfile> finish(); // the builder is empty afterwards

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

// The sum, in the layout of the first. `names`, one for each, are for errors.
TALLY_API Result<PcProfile> merge_pcs(std::span<const PcProfile *const> profiles,
                                      std::span<const std::string> names = {});

} // namespace tally
