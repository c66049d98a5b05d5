// Attributes addresses to functions, as gprof does with a gmon.out.

#include "transform/pc_costs.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>

#include "support/path.h"
#include "support/sort.h"

namespace tally {

namespace {

// The most functions that are named by address. Each takes hundreds of bytes, and nobody reads
// more.
constexpr size_t most_nameless = 1'000'000;

// Lines of a piece of code are looked up at each byte or, if it has more bytes than this, at about
// this many addresses.
constexpr uint64_t most_probes = 4096;

// gprof works in units of two bytes: a function that begins in the middle of a unit owns the whole
// unit.
uint64_t in_units(uint64_t pc) { return pc & ~uint64_t{1}; }

Result<PcHistogram> in_units(const PcHistogram &histogram) {
  PcHistogramBuilder out;
  out.set_rate_hz(histogram.rate_hz());
  out.set_dimension(histogram.dimension(), histogram.abbreviation());
  out.add_outside(histogram.outside());
  for (PcRange range : histogram.ranges()) {
    const bool whole = (range.low_pc | range.high_pc) % 2 == 0;
    if (const uint64_t low = in_units(range.low_pc), high = in_units(range.high_pc);
        !whole && high - low >= range.counters.size()) {
      range.low_pc = low;
      range.high_pc = high;
      range.bins = even_bins(low, high, range.counters.size());
    }
    out.add_range(std::move(range));
  }
  return out.finish();
}

struct LineKey {
  std::string_view file;
  uint32_t line = 0;
  friend auto operator<=>(const LineKey &, const LineKey &) = default;
};
using LineWeights = std::map<LineKey, double>;

// Distributes `ticks` by weight, rounded by the largest remainder; ties go to the first line.
std::vector<std::pair<LineKey, uint64_t>> apportion(uint64_t ticks, const LineWeights &weights) {
  double sum = 0;
  for (const auto &[key, weight] : weights)
    sum += weight;
  std::vector<std::pair<LineKey, uint64_t>> out;
  std::vector<std::pair<double, size_t>> remainders;
  uint64_t left = ticks;
  for (const auto &[key, weight] : weights) {
    const double exact = sum > 0 ? static_cast<double>(ticks) * (weight / sum) : 0;
    const uint64_t whole = exact >= static_cast<double>(left) ? left : static_cast<uint64_t>(exact);
    remainders.emplace_back(exact - static_cast<double>(whole), out.size());
    out.emplace_back(key, whole);
    left -= whole;
  }
  sort_stably(remainders, std::ranges::greater{}, &std::pair<double, size_t>::first);
  for (size_t i = 0; left > 0 && !out.empty(); i = (i + 1) % out.size(), --left) {
    // Doubles are imprecise, so that more ticks may be left than there are lines. The line with the
    // largest remainder gets the others.
    if (i + 1 == out.size() && left > out.size()) {
      out[remainders[0].second].second += left;
      break;
    }
    ++out[remainders[i].second].second;
  }
  return out;
}

class Attribution {
public:
  Attribution(const PcProfile &profile, const PcNames *names) : profile_(profile), names_(names) {}

  Result<CostProfile> run() {
    TALLY_TRY(histogram, in_units(profile_.histogram()));
    if (names_)
      functions_ = names_->symbolizer->functions(names_->program);
    const std::string_view dimension = histogram.dimension();
    out_.add_event(histogram.rate_hz() == 1 && dimension != "seconds" ? dimension : "ticks");
    out_.set_positions(false, true);
    out_.set_call_costs(false);
    part_ = out_.add_part({});
    object_ = out_.add_object(names_ ? names_->path : std::string());
    TALLY_CHECK(names_ ? add_shares(histogram) : add_bins(histogram));
    if (const uint64_t outside = histogram.outside(); outside > 0)
      add_unknown(outside, static_cast<double>(outside));
    for (const PcArc &arc : profile_.arcs())
      add_call(arc);
    return out_.finish();
  }

private:
  CostFunctionId unknown() { return out_.add_function("[unknown]", no_file(), object_); }
  FileId no_file() { return out_.add_file(std::string_view()); }

  void add_unknown(uint64_t ticks, double exact) {
    out_.begin_block(part_, unknown(), no_file());
    static_cast<void>(out_.add_cost({}, std::span(&ticks, 1)));
    exact_unknown_ += exact;
    if (names_)
      out_.set_exact_self(unknown(), exact_unknown_);
  }

  // Returns the innermost source line at an address.
  SourceFrame frame_at(uint64_t pc) {
    frames_.clear();
    names_->symbolizer->frames(names_->program, pc, frames_);
    return frames_.empty() ? SourceFrame() : frames_.front();
  }

  CostFunctionId function(size_t index) {
    const FunctionExtent &extent = functions_[index];
    if (const auto at = ids_.find(index); at != ids_.end())
      return at->second;
    frames_.clear();
    names_->symbolizer->frames(names_->program, extent.start, frames_);
    const std::string_view file = frames_.empty() ? "" : frames_.back().function_file;
    const CostFunctionId id = out_.add_function(extent.name, out_.add_file(file), object_);
    ids_.emplace(index, id);
    return id;
  }

  Result<void> add_shares(const PcHistogram &histogram) {
    std::vector<PcExtent> extents;
    for (size_t i = 0; i < functions_.size(); ++i)
      extents.push_back(
          {in_units(functions_[i].start), in_units(functions_[i].end), static_cast<uint32_t>(i)});
    TALLY_TRY(shares, attribute(histogram, extents));
    auto lines = line_weights(histogram, extents);
    for (const PcShare &share : shares.shares) {
      if (share.exact == 0)
        continue;
      const CostFunctionId id = function(share.id);
      exact_[id] += share.exact; // static functions with the same name and file are one
      out_.set_exact_self(id, exact_[id]);
      LineWeights &weights = lines[share.id];
      if (weights.empty()) // its bytes were too small a share of a bin
        weights[{}] = 1;
      for (const auto &[line, ticks] : apportion(share.ticks, weights)) {
        out_.begin_block(part_, id, out_.add_file(line.file));
        static_cast<void>(out_.add_cost({.line = line.line}, std::span(&ticks, 1)));
      }
    }
    if (shares.unattributed.exact > 0)
      add_unknown(shares.unattributed.ticks, shares.unattributed.exact);
    return {};
  }

  // Returns the weight of each line of each function: the ticks that fall on its bytes.
  std::map<uint32_t, LineWeights> line_weights(const PcHistogram &histogram,
                                               std::span<const PcExtent> extents) {
    std::map<uint32_t, LineWeights> out;
    for (const PcRange &range : histogram.ranges())
      for (size_t bin = 0; bin < range.counters.size(); ++bin) {
        if (range.counters[bin] == 0)
          continue;
        const auto ticks = static_cast<double>(range.counters[bin]);
        const auto [begin, end] = range.extent(bin);
        auto at = std::ranges::upper_bound(extents, begin, {}, &PcExtent::end);
        for (; at != extents.end() && at->start < end; ++at) {
          const uint64_t from = std::max(begin, at->start), to = std::min(end, at->end);
          const uint64_t step = std::max<uint64_t>(1, (to - from) / most_probes);
          const double weight =
              ticks * static_cast<double>(step) / static_cast<double>(end - begin);
          for (uint64_t pc = from; pc < to; pc += std::min(step, to - pc)) {
            // If a function begins within a unit, the byte before it belongs to another function.
            const SourceFrame frame = frame_at(std::max(pc, functions_[at->id].start));
            out[at->id][{frame.file, frame.line}] += weight;
          }
        }
      }
    return out;
  }

  CostFunctionId by_address(uint64_t pc) {
    return out_.add_function(fmt::format("{:#x}", pc), no_file(), object_);
  }

  Result<void> add_bins(const PcHistogram &histogram) {
    size_t functions = profile_.arcs().size() * 2;
    for (const PcRange &range : histogram.ranges())
      functions += range.counters.size() -
                   static_cast<size_t>(std::ranges::count(range.counters, uint64_t{0}));
    if (functions > most_nameless)
      return fail(ErrorCode::limit,
                  fmt::format("holds {} addresses without names; specify its program", functions));
    for (const PcRange &range : histogram.ranges())
      for (size_t bin = 0; bin < range.counters.size(); ++bin)
        if (const uint64_t ticks = range.counters[bin]; ticks > 0) {
          out_.begin_block(part_, by_address(range.extent(bin).first), no_file());
          static_cast<void>(out_.add_cost({}, std::span(&ticks, 1)));
        }
    return {};
  }

  std::optional<size_t> function_at(uint64_t pc) const {
    auto at = std::ranges::upper_bound(functions_, pc, {}, &FunctionExtent::start);
    if (at == functions_.begin() || pc >= (--at)->end)
      return {};
    return static_cast<size_t>(at - functions_.begin());
  }

  void add_call(const PcArc &arc) {
    const auto end_of = [&](uint64_t pc) {
      if (pc == 0) // unknown
        return unknown();
      if (!names_)
        return by_address(pc);
      const auto index = function_at(pc);
      return index ? function(*index) : unknown();
    };
    const CostFunctionId caller = end_of(arc.from_pc), callee = end_of(arc.self_pc);
    SourceFrame from, to;
    // Minus 1, because the address is behind the call.
    if (const auto index = function_at(arc.from_pc))
      from = frame_at(std::max(arc.from_pc - 1, functions_[*index].start));
    if (function_at(arc.self_pc))
      to = frame_at(arc.self_pc);
    out_.begin_block(part_, caller, out_.add_file(from.file));
    const uint64_t cost = 0; // not measured
    out_.add_call({{.line = from.line}, callee, {.line = to.line}, arc.count}, std::span(&cost, 1));
  }

  const PcProfile &profile_;
  const PcNames *names_;
  std::vector<FunctionExtent> functions_;
  std::map<size_t, CostFunctionId> ids_;
  std::map<CostFunctionId, double> exact_;
  double exact_unknown_ = 0;
  std::vector<SourceFrame> frames_;
  CostProfileBuilder out_;
  CostPartId part_{};
  ObjectId object_{};
};

} // namespace

Result<CostProfile> costs_of(const PcProfile &profile, const PcNames *names) {
  if (names && names->symbolizer->functions(names->program).empty())
    return fail(ErrorCode::no_data, "has no symbols: its functions are not known", names->path);
  return Attribution(profile, names).run();
}

} // namespace tally
