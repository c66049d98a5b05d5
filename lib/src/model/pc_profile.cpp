
#include "model/pc_profile.h"

#include <algorithm>

#include <fmt/format.h>

#include "model/pc_words.h"
#include "support/checked.h"

namespace tally {

namespace {

tl::unexpected<Error> too_many(std::string_view what) {
  return fail(ErrorCode::overflow, fmt::format("the sum of {} exceeds 64 bits", what));
}

// Returns the message for two ranges that are not equal but overlap.
std::string conflict(const PcRange &ours, const PcRange &theirs) {
  if (ours.low_pc == theirs.low_pc && ours.high_pc == theirs.high_pc)
    return fmt::format("the histogram of {} has {} bins here and {} there", shown(ours),
                       theirs.counters.size(), ours.counters.size());
  return fmt::format("the histograms of {} and {} overlap in part", shown(ours), shown(theirs));
}

std::string unit_words(uint32_t rate_hz, std::string_view dimension, char abbreviation) {
  return fmt::format("{} ticks per unit ({})", rate_hz,
                     dimension.empty() ? std::string(1, abbreviation) : std::string(dimension));
}

} // namespace

Result<void> PcProfileBuilder::add_range(PcRange range, uint32_t rate_hz,
                                         std::string_view dimension, char abbreviation) {
  if (range.low_pc >= range.high_pc || range.counters.empty())
    return fail(ErrorCode::invalid_input,
                fmt::format("the histogram of {} is empty", shown(range)));
  if (range.bins != even_bins(range.low_pc, range.high_pc, range.counters.size()) ||
      range.counters.size() > range.high_pc - range.low_pc)
    return fail(ErrorCode::invalid_input,
                fmt::format("the histogram of {} has more bins than bytes, or unequal ones: {}",
                            shown(range), range.counters.size()));
  if (units_ && (units_->rate_hz != rate_hz || units_->dimension != dimension ||
                 units_->abbreviation != abbreviation))
    return fail(ErrorCode::invalid_input,
                fmt::format("a histogram has {}, others {}: their bins cannot be added up",
                            unit_words(rate_hz, dimension, abbreviation),
                            unit_words(units_->rate_hz, units_->dimension, units_->abbreviation)));
  uint64_t sum = ticks_;
  for (const uint64_t ticks : range.counters)
    if (!checked_add(sum, ticks))
      return too_many("the ticks");
  if (uint64_t all = sum; !checked_add(all, outside_))
    return too_many("the ticks");

  const auto next = ranges_.lower_bound(range.low_pc);
  if (next != ranges_.end() && next->second.low_pc < range.high_pc) {
    PcRange &there = next->second;
    if (there.low_pc != range.low_pc || there.high_pc != range.high_pc ||
        there.bins != range.bins || there.counters.size() != range.counters.size())
      return fail(ErrorCode::invalid_input, conflict(there, range));
    for (size_t i = 0; i < range.counters.size(); ++i)
      there.counters[i] += range.counters[i]; // cannot overflow: at most all ticks
  } else {
    if (next != ranges_.begin())
      if (const PcRange &before = std::prev(next)->second; before.high_pc > range.low_pc)
        return fail(ErrorCode::invalid_input, conflict(before, range));
    const uint64_t low = range.low_pc;
    ranges_.emplace_hint(next, low, std::move(range));
  }
  ticks_ = sum;
  if (!units_)
    units_ = Units{rate_hz, std::string(dimension), abbreviation};
  return {};
}

Result<void> PcProfileBuilder::add_arc(const PcArc &arc) {
  uint64_t &count = arcs_[{arc.from_pc, arc.self_pc}];
  return checked_add(count, arc.count) ? Result<void>() : too_many("the calls of an arc");
}

Result<void> PcProfileBuilder::add_block(const PcBlockCount &block) {
  uint64_t &count = blocks_[block.pc];
  return checked_add(count, block.count) ? Result<void>() : too_many("the counts of a basic block");
}

Result<void> PcProfileBuilder::add_outside(uint64_t ticks) {
  uint64_t sum = outside_;
  if (!checked_add(sum, ticks))
    return too_many("the ticks");
  if (uint64_t all = ticks_; !checked_add(all, sum))
    return too_many("the ticks");
  outside_ = sum;
  return {};
}

Result<void> PcProfileBuilder::add(const PcProfile &profile) {
  const PcHistogram &histogram = profile.histogram();
  PcProfileBuilder sum = *this;
  for (const PcRange &range : histogram.ranges())
    TALLY_CHECK(
        sum.add_range(range, histogram.rate_hz(), histogram.dimension(), histogram.abbreviation()));
  TALLY_CHECK(sum.add_outside(histogram.outside()));
  for (const PcArc &arc : profile.arcs())
    TALLY_CHECK(sum.add_arc(arc));
  for (const PcBlockCount &block : profile.blocks())
    TALLY_CHECK(sum.add_block(block));
  *this = std::move(sum);
  return {};
}

Result<PcProfile> PcProfileBuilder::finish() {
  PcHistogramBuilder histogram;
  if (units_) {
    histogram.set_rate_hz(units_->rate_hz);
    histogram.set_dimension(units_->dimension, units_->abbreviation);
  }
  for (auto &[low, range] : ranges_)
    histogram.add_range(std::move(range));
  histogram.add_outside(outside_);
  PcProfile out;
  TALLY_TRY(bins, histogram.finish());
  out.histogram_ = std::move(bins);
  for (const auto &[pcs, count] : arcs_)
    out.arcs_.push_back({pcs.first, pcs.second, count});
  for (const auto &[pc, count] : blocks_)
    out.blocks_.push_back({pc, count});
  out.layout_ = layout_;
  *this = PcProfileBuilder();
  return out;
}

} // namespace tally
