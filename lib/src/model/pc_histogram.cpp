
#include "model/pc_histogram.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "model/pc_words.h"
#include "mon/profil_index.h"
#include "support/checked.h"
#include "support/sort.h"

namespace tally {

namespace {

__extension__ typedef unsigned __int128 Wide;

// More counters than this are certainly a mistake, such as a histogram of all memory, byte by byte.
constexpr uint64_t most_counters = uint64_t{1} << 32;

tally_profil_map profil_map(const PcRange &range) {
  return {range.low_pc,
          range.high_pc,
          uint64_t{range.counters.size()} * 2,
          range.bins.scale,
          static_cast<uint8_t>(range.bins.abi),
          range.bins.strict,
          range.bins.fitted};
}

uint64_t bins_needed(uint64_t low_pc, uint64_t high_pc, uint64_t bin_bytes) {
  const uint64_t span = high_pc > low_pc ? high_pc - low_pc : 0;
  return span / bin_bytes + (span % bin_bytes != 0);
}

// A sum of shares: whole ticks, and a fraction in units of 2^-64 ticks.
struct ShareSum {
  uint64_t whole = 0;
  uint64_t part = 0;

  // Adds ticks * bytes / width; bytes must not exceed width.
  void add(uint64_t ticks, uint64_t bytes, uint64_t width) {
    const Wide product = Wide{ticks} * bytes;
    const auto rest = static_cast<uint64_t>(product % width);
    const auto fraction = static_cast<uint64_t>((Wide{rest} << 64) / width);
    whole += static_cast<uint64_t>(product / width);
    part += fraction;
    whole += part < fraction;
  }
  double exact() const { return static_cast<double>(whole) + static_cast<double>(part) * 0x1p-64; }
};

// The extent of a bin, as a whole number of units. A unit is a byte or, if the range is divided
// into n equal parts, an n-th of a byte.
struct BinExtent {
  uint64_t first_pc = 0, end_pc = 0; // all bytes that belong to it at least in part
  Wide begin = 0;                    // distance from the range's start, in units
  uint64_t width = 0;
  uint64_t per_byte = 1;

  // Returns the overlap with the pcs [start, end), in units.
  uint64_t overlap(const PcRange &range, uint64_t start, uint64_t end) const {
    const auto at = [&](uint64_t pc) {
      return pc <= range.low_pc ? Wide{0} : Wide{pc - range.low_pc} * per_byte;
    };
    const Wide from = std::max(begin, at(start)), to = std::min(begin + width, at(end));
    return from < to ? static_cast<uint64_t>(to - from) : 0;
  }
};

BinExtent bin_extent(const PcRange &range, size_t bin) {
  if (range.bins.even && range.bins.bytes == 0) {
    const uint64_t span = range.high_pc - range.low_pc, parts = range.counters.size();
    const Wide begin = Wide{bin} * span;
    return {range.low_pc + static_cast<uint64_t>(begin / parts),
            range.low_pc + static_cast<uint64_t>((begin + span + parts - 1) / parts), begin, span,
            parts};
  }
  const auto [first, end] = range.extent(bin);
  return {first, end, first - range.low_pc, end - first, 1};
}

} // namespace

size_t PcRange::bin_of(uint64_t pc) const {
  if (pc < low_pc || pc >= high_pc)
    return counters.size();
  if (bins.bytes != 0)
    return std::min<size_t>((pc - low_pc) / bins.bytes, counters.size());
  if (bins.even)
    return static_cast<size_t>(Wide{pc - low_pc} * counters.size() / (high_pc - low_pc));
  const tally_profil_map map = profil_map(*this);
  return std::min<size_t>(tally_profil_index(&map, pc), counters.size());
}

std::pair<uint64_t, uint64_t> PcRange::extent(size_t bin) const {
  if (bins.bytes != 0) {
    const uint64_t span = high_pc - low_pc;
    const uint64_t begin = Wide{bin} * bins.bytes < span ? bin * bins.bytes : span;
    return {low_pc + begin, low_pc + begin + std::min(bins.bytes, span - begin)};
  }
  if (bins.even) {
    const uint64_t span = high_pc - low_pc;
    const auto first = [&](size_t index) { // rounded up to the first pc that falls into the bin
      return low_pc +
             static_cast<uint64_t>((Wide{index} * span + counters.size() - 1) / counters.size());
    };
    return {first(bin), first(bin + 1)};
  }
  const tally_profil_map map = profil_map(*this);
  const uint64_t begin = std::min(tally_profil_first_pc(&map, bin), high_pc);
  // Addresses behind the last bin are outside.
  const uint64_t end = bin + 1 < counters.size()
                           ? tally_profil_first_pc(&map, bin + 1)
                           : tally_profil_first_pc(&map, TALLY_PROFIL_OUTSIDE);
  return {begin, std::max(begin, std::min(end, high_pc))};
}

PcBins even_bins(uint64_t low_pc, uint64_t high_pc, size_t counters) {
  const uint64_t span = high_pc > low_pc ? high_pc - low_pc : 0;
  if (counters > 0 && span >= counters && span % counters == 0)
    return {.bytes = span / counters};
  return {.even = true};
}

uint64_t PcHistogram::ticks() const {
  uint64_t sum = 0; // validate() has shown that this fits
  for (const PcRange &range : ranges_)
    for (uint64_t counter : range.counters)
      sum += counter;
  return sum;
}

void PcHistogramBuilder::fault(ErrorCode code, std::string message) {
  if (faults_.empty())
    faults_.emplace_back(code, std::move(message));
}

void PcHistogramBuilder::add(uint64_t &counter, uint64_t ticks) {
  if (!checked_add(counter, ticks))
    fault(ErrorCode::overflow, "the sum of the ticks of a bin exceeds 64 bits");
}

void PcHistogramBuilder::set_dimension(std::string_view name, char abbreviation) {
  histogram_.dimension_ = name;
  histogram_.abbreviation_ = abbreviation;
}

size_t PcHistogramBuilder::add_range(uint64_t low_pc, uint64_t high_pc, uint64_t bin_bytes) {
  if (bin_bytes == 0) {
    fault(ErrorCode::invalid_argument, "a bin has 0 bytes");
    bin_bytes = 1;
  }
  return add_range(low_pc, high_pc, {.bytes = bin_bytes}, bins_needed(low_pc, high_pc, bin_bytes));
}

size_t PcHistogramBuilder::add_range(uint64_t low_pc, uint64_t high_pc, const PcBins &bins,
                                     size_t counters) {
  if (counters > most_counters) {
    fault(ErrorCode::limit,
          fmt::format("{} bins are too many: the maximum is {}", counters, most_counters));
    counters = 0;
  }
  return add_range({low_pc, high_pc, bins, std::vector<uint64_t>(counters)});
}

size_t PcHistogramBuilder::add_range(PcRange range) {
  histogram_.ranges_.push_back(std::move(range));
  return histogram_.ranges_.size() - 1;
}

void PcHistogramBuilder::count(uint64_t pc, uint64_t ticks) {
  for (PcRange &range : histogram_.ranges_)
    if (const size_t bin = range.bin_of(pc); bin < range.counters.size())
      return add(range.counters[bin], ticks);
  add_outside(ticks);
}

void PcHistogramBuilder::add_outside(uint64_t ticks) { add(histogram_.outside_, ticks); }

Result<PcHistogram> PcHistogramBuilder::finish() {
  if (!faults_.empty())
    return fail(faults_.front());
  TALLY_CHECK(validate(histogram_));
  PcHistogram out = std::move(histogram_);
  *this = PcHistogramBuilder();
  return out;
}

Result<void> validate(const PcHistogram &histogram) {
  const auto broken = [](const std::string &message) {
    return fail(ErrorCode::invalid_input, "not a valid histogram: " + message);
  };
  uint64_t sum = histogram.outside();
  const PcRange *before = nullptr;
  for (const PcRange &range : histogram.ranges()) {
    if (range.low_pc >= range.high_pc)
      return broken(fmt::format("the range {} is empty", shown(range)));
    if (before && range.low_pc < before->high_pc)
      return broken(range.high_pc <= before->low_pc
                        ? fmt::format("the range {} comes after {}", shown(range), shown(*before))
                        : fmt::format("{} and {} overlap", shown(*before), shown(range)));
    if (range.bins.bytes != 0) {
      const uint64_t needed = bins_needed(range.low_pc, range.high_pc, range.bins.bytes);
      if (range.counters.size() != needed)
        return broken(fmt::format("the range {} has {} counters, and needs {}", shown(range),
                                  range.counters.size(), needed));
    }
    if (range.bins.even && range.counters.size() > range.high_pc - range.low_pc)
      return broken(fmt::format("the range {} has more bins than bytes", shown(range)));
    for (uint64_t counter : range.counters)
      if (!checked_add(sum, counter))
        return fail(ErrorCode::overflow, "the sum of the ticks exceeds 64 bits");
    before = &range;
  }
  return {};
}

Result<PcAttribution> attribute(const PcHistogram &histogram, std::span<const PcExtent> functions) {
  for (size_t i = 0; i < functions.size(); ++i)
    if (functions[i].end < functions[i].start ||
        (i > 0 && functions[i].start < functions[i - 1].end))
      return fail(ErrorCode::invalid_argument,
                  fmt::format("the function at {:#x} is out of order", functions[i].start));
  std::map<uint32_t, ShareSum> sums;
  for (const PcExtent &function : functions)
    sums[function.id];
  ShareSum nobody;
  for (const PcRange &range : histogram.ranges())
    for (size_t bin = 0; bin < range.counters.size(); ++bin) {
      const uint64_t ticks = range.counters[bin];
      if (ticks == 0)
        continue;
      const BinExtent extent = bin_extent(range, bin);
      if (extent.width == 0) {
        // A bin by a scale may contain no pc, but add_range() accepts ticks in it; they belong to
        // no function.
        nobody.add(ticks, 1, 1);
        continue;
      }
      uint64_t left = extent.width;
      auto at = std::ranges::upper_bound(functions, extent.first_pc, {}, &PcExtent::end);
      for (; at != functions.end() && at->start < extent.end_pc; ++at) {
        const uint64_t overlap = extent.overlap(range, at->start, at->end);
        if (overlap == 0)
          continue;
        sums[at->id].add(ticks, overlap, extent.width);
        left -= overlap;
      }
      if (left > 0)
        nobody.add(ticks, left, extent.width);
    }

  PcAttribution out;
  out.unattributed = {0, nobody.whole, nobody.exact()};
  uint64_t missing = histogram.ticks() - nobody.whole;
  for (const auto &[id, sum] : sums) {
    out.shares.push_back({id, sum.whole, sum.exact()});
    missing -= sum.whole;
  }
  // If remainders are equal, the earlier function gets the tick; the unattributed ticks come last.
  std::vector<std::pair<uint64_t, PcShare *>> remainders;
  remainders.reserve(sums.size() + 1);
  auto share = out.shares.begin();
  for (const auto &[id, sum] : sums)
    remainders.emplace_back(sum.part, &*share++);
  remainders.emplace_back(nobody.part, &out.unattributed);
  sort_stably(remainders, std::ranges::greater{}, &std::pair<uint64_t, PcShare *>::first);
  for (size_t i = 0; i < remainders.size() && missing > 0; ++i, --missing)
    ++remainders[i].second->ticks;
  return out;
}

} // namespace tally
