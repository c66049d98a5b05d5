// Extracts the data of a histogram from a profile: the ticks of one object by address.
#include <algorithm>
#include <charconv>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include "model/pc_words.h"
#include "report/histogram_text.h"
#include "report/names.h"
#include "report/pc_range.h"
#include "report/pc_ticks.h"
#include "report/render.h"
#include "support/path.h"

namespace tally {

namespace {

// The function and line at one address of the object, known from a sample or a cost.
struct SourceLocation {
  StringId function{};
  StringId file{};
  uint32_t line = 0;
};
using SourceLocations = std::map<uint64_t, SourceLocation>;

// Returns the extents of the functions: each run of successive known addresses with the same
// function is treated as an extent of that function.
std::vector<PcView::Function> functions_of(const SourceLocations &locations,
                                           const StringPool &strings) {
  std::vector<PcView::Function> out;
  StringId last{};
  for (const auto &[pc, location] : locations) {
    if (strings[location.function].empty())
      continue;
    if (out.empty() || location.function != last)
      out.push_back({pc, pc + 1, std::string(strings[location.function])});
    out.back().end = pc + 1;
    last = location.function;
  }
  return out;
}

// Collects lines, and formats the range of lines for each file.
class LineSpan {
public:
  void add(std::string_view file, uint32_t line) {
    if (file.empty() || line == 0)
      return;
    auto &[least, most] = spans_.try_emplace(std::string(file), line, line).first->second;
    least = std::min(least, line);
    most = std::max(most, line);
  }
  std::string text() const {
    std::string out;
    for (const auto &[file, span] : spans_) {
      out += (out.empty() ? "" : ", ") + location_of(file, span.first, {});
      if (span.second > span.first)
        out += fmt::format("-{}", span.second);
    }
    return out;
  }

private:
  std::map<std::string, std::pair<uint32_t, uint32_t>> spans_;
};

auto lines_of(const SourceLocations &locations, const StringPool &strings) {
  std::map<uint64_t, std::pair<std::string, uint32_t>> lines;
  for (const auto &[pc, location] : locations)
    lines.emplace(pc, std::pair(std::string(strings[location.file]), location.line));
  return [lines = std::move(lines)](uint64_t low, uint64_t high) {
    LineSpan span;
    for (auto at = lines.lower_bound(low); at != lines.end() && at->first < high; ++at)
      span.add(at->second.first, at->second.second);
    return span.text();
  };
}

void use_names(PcView &view, const PcNames &names) {
  const auto functions = names.symbolizer->functions(names.program);
  if (functions.empty())
    return;
  view.functions.clear();
  for (const FunctionExtent &extent : functions)
    view.functions.push_back({extent.start, extent.end, std::string(extent.name)});
  view.knows_starts = true;
  view.starts_of = [symbolizer = names.symbolizer, module = names.program](std::string_view name) {
    return symbolizer->addresses_of(module, name);
  };
  view.lines = [symbolizer = names.symbolizer, module = names.program](uint64_t low,
                                                                       uint64_t high) {
    constexpr uint64_t most_probes = 64;
    LineSpan span;
    std::vector<SourceFrame> frames;
    const uint64_t step = std::max<uint64_t>(1, (high - low) / most_probes);
    for (uint64_t pc = low; pc < high; pc += std::min(step, high - pc)) {
      frames.clear();
      symbolizer->frames(module, pc, frames);
      if (!frames.empty())
        span.add(frames.front().file, frames.front().line);
    }
    return span.text();
  };
}

// In the symbol table, each function ends where the next one begins. Functions without a symbol lie
// in between, and the profile names them by their starts ("libc.so.6+0x2d430").
void split_unnamed(std::vector<PcView::Function> &functions,
                   std::span<const PcView::Function> sampled, std::string_view object) {
  const std::string prefix = fmt::format("{}+0x", base_name(object));
  for (const PcView::Function &each : sampled) {
    uint64_t start = 0;
    if (!each.name.starts_with(prefix) ||
        std::from_chars(each.name.data() + prefix.size(), each.name.data() + each.name.size(),
                        start, 16)
                .ec != std::errc())
      continue;
    const auto after = std::ranges::upper_bound(functions, start, {}, &PcView::Function::start);
    const uint64_t limit = after == functions.end() ? UINT64_MAX : after->start;
    if (after == functions.begin()) {
      functions.insert(after, {start, std::min(each.end, limit), each.name});
      continue;
    }
    PcView::Function &before = *std::prev(after);
    if (before.start == start)
      continue;
    const PcView::Function own{start, std::min(std::max(before.end, each.end), limit), each.name};
    before.end = std::min(before.end, start);
    functions.insert(after, own);
  }
}

StringId own_function(const StackProfile &stacks, const Location &at) {
  return at.lines.empty() ? StringId{} : stacks.functions()[at.lines.back().function].name;
}

// Returns the mapping of the requested object. If `what` is a range, this is the first mapping that
// overlaps it. If `what` is a function, this is the mapping that has the function, preferably that
// of the program. Otherwise this is the first mapping, which is that of the program.
MappingId mapping_for(const StackProfile &stacks, std::string_view what) {
  if (what.empty())
    return MappingId{0};
  if (const auto range = range_of(what)) {
    for (uint32_t i = 0; i < stacks.mappings().size(); ++i)
      if (const Mapping &each = stacks.mappings()[static_cast<MappingId>(i)];
          range->first < each.limit && each.start < range->second)
        return static_cast<MappingId>(i);
    return MappingId{0};
  }
  const StringId program = stacks.mappings()[MappingId{0}].path;
  MappingId found = MappingId{0};
  std::vector<std::string_view> functions;
  for (const SourceFunction &each : stacks.functions())
    functions.push_back(stacks.strings[each.name]);
  const FunctionMatcher matcher(what, functions);
  for (uint32_t i = 0; i < stacks.location_count(); ++i) {
    const Location at = stacks.location(static_cast<LocationId>(i));
    if (at.mapping == none<MappingId> || !matcher.matches(stacks.strings[own_function(stacks, at)]))
      continue;
    found = at.mapping;
    if (stacks.mappings()[found].path == program)
      break;
  }
  return found;
}

using TicksByPc = std::map<uint64_t, uint64_t>;

// Returns the end of the addresses that share a range with `first`. A gap of up to about `most_gap`
// bytes is cheaper if it has counters than if it separates two ranges. Adjacent instructions, which
// have at most 15 bytes, are always in one range.
TicksByPc::const_iterator end_of_range(const TicksByPc &ticks, TicksByPc::const_iterator first) {
  constexpr uint64_t most_gap = 16;
  uint64_t last = first->first;
  for (; first != ticks.end() && first->first - last <= most_gap; ++first)
    last = first->first;
  return first;
}

} // namespace

Result<PcHistogram> histogram_of(const TicksByPc &ticks, uint64_t outside, uint32_t rate_hz,
                                 uint64_t most_bytes) {
  if (!ticks.empty() && ticks.rbegin()->first == UINT64_MAX)
    return fail(ErrorCode::invalid_input, "the profile has the address 0xffffffffffffffff");
  PcHistogramBuilder out;
  out.set_rate_hz(rate_hz);
  out.add_outside(outside);
  uint64_t bytes = 0;
  for (auto at = ticks.begin(); at != ticks.end();) {
    const auto end = end_of_range(ticks, at);
    PcRange range{at->first, std::prev(end)->first + 1, {.bytes = 1}, {}};
    const uint64_t span = range.high_pc - range.low_pc;
    bytes += sizeof range + span * sizeof range.counters[0];
    if (bytes > most_bytes)
      return fail(ErrorCode::limit,
                  fmt::format("a histogram of its {} addresses takes more than {} MiB of memory",
                              ticks.size(), most_bytes >> 20));
    range.counters.resize(span, 0);
    for (; at != end; ++at)
      range.counters[at->first - range.low_pc] += at->second;
    out.add_range(std::move(range));
  }
  return out.finish();
}

Result<PcView> pc_view(const PcProfile &profile, const PcNames *names) {
  if (profile.histogram().ranges().empty())
    return fail(ErrorCode::no_data, "has calls, but no histogram");
  PcView view;
  view.histogram = profile.histogram();
  const std::string_view dimension = view.histogram.dimension();
  view.event = view.histogram.rate_hz() == 1 && dimension != "seconds" ? dimension : "ticks";
  if (names) {
    view.object = names->path;
    use_names(view, *names);
  }
  return view;
}

Result<PcView> pc_view(const StackProfile &stacks, std::string_view what,
                       const NamesOfObject &names) {
  // The profile of a remote target has no mappings: all its code is that of one program.
  const bool has_mappings = stacks.mappings().size() > 0;
  if (!has_mappings && !has_addresses(stacks))
    return fail(ErrorCode::unsupported, std::string(only_names));
  const MappingId chosen = has_mappings ? mapping_for(stacks, what) : none<MappingId>;
  const Mapping mapping = has_mappings ? stacks.mappings()[chosen] : Mapping{};
  PcView view;
  view.object = stacks.strings[mapping.path];
  view.event = stacks.strings[stacks.value_types().front().type];
  if (mapping.has_bias)
    view.bias = mapping.bias;
  std::map<uint64_t, uint64_t> ticks;
  SourceLocations locations;
  uint64_t outside = 0;
  for (size_t row = 0; row < stacks.sample_count(); ++row) {
    const Sample sample = stacks.sample(row);
    if (sample.values.front() < 0)
      return fail(ErrorCode::invalid_input, "a sample has a negative value");
    const auto count = static_cast<uint64_t>(sample.values.front());
    const Location at = sample.stack == none<StackId>
                            ? Location{}
                            : stacks.location(stacks.stack_location(sample.stack));
    const Mapping *const own =
        at.mapping == none<MappingId> ? nullptr : &stacks.mappings()[at.mapping];
    const bool is_inside = has_mappings ? own && own->path == mapping.path : at.address != 0;
    if (!is_inside) {
      outside += count;
      continue;
    }
    const uint64_t pc = at.address - (own && own->has_bias ? own->bias : 0);
    ticks[pc] += count;
    SourceLocation location{own_function(stacks, at), {}, 0};
    if (!at.lines.empty()) {
      location.file = at.lines.front().file;
      location.line = at.lines.front().line;
    }
    locations.emplace(pc, location);
  }
  const uint64_t period = stacks.period_ns;
  TALLY_TRY(histogram,
            histogram_of(ticks, outside,
                         period == 0 ? 0
                                     : static_cast<uint32_t>(std::min<uint64_t>(
                                           (1'000'000'000 + period / 2) / period, UINT32_MAX))));
  view.histogram = std::move(histogram);
  view.functions = functions_of(locations, stacks.strings);
  view.lines = lines_of(locations, stacks.strings);
  if (const auto found = names && has_mappings ? names(chosen) : std::nullopt;
      found && mapping.has_bias) {
    const std::vector<PcView::Function> sampled = view.functions;
    use_names(view, *found);
    if (view.knows_starts) // otherwise these are the sampled ones
      split_unnamed(view.functions, sampled, view.object);
  }
  return view;
}

Result<PcView> pc_view(const CostProfile &costs, std::string_view what) {
  if (!costs.has_addresses)
    return fail(ErrorCode::unsupported, std::string(only_lines));
  // Choose the object that contains the function, or else the object with the highest cost.
  std::map<ObjectId, uint64_t> sums;
  std::vector<uint64_t> row(costs.events().size());
  const auto each_cost = [&](auto take) {
    for (const CostBlock &block : costs.blocks())
      for (uint32_t i = block.first_cost; i < block.last_cost; ++i) {
        costs.costs().get(i, row);
        take(block, costs.functions()[block.function], costs.cost_position(i));
      }
  };
  std::optional<ObjectId> object;
  std::vector<std::string_view> functions;
  for (const CostFunction &each : costs.functions())
    functions.push_back(costs.strings[each.name]);
  const FunctionMatcher matcher(what, functions);
  each_cost([&](const CostBlock &, const CostFunction &function, const CostPosition &) {
    sums[function.object] += row[0];
    if (!object && matcher.matches(costs.strings[function.name]))
      object = function.object;
  });
  if (sums.empty())
    return fail(ErrorCode::no_data, "has no costs");
  if (!object)
    object =
        std::ranges::max_element(sums, {}, &std::pair<const ObjectId, uint64_t>::second)->first;
  PcView view;
  view.object = costs.strings[costs.objects()[*object]];
  view.event = costs.strings[costs.events()[0].name];
  std::map<uint64_t, uint64_t> ticks;
  SourceLocations locations;
  uint64_t outside = 0;
  each_cost([&](const CostBlock &block, const CostFunction &function, const CostPosition &at) {
    if (function.object != *object || at.address == 0) {
      outside += row[0];
      return;
    }
    ticks[at.address] += row[0];
    locations.emplace(at.address,
                      SourceLocation{function.name, costs.files()[block.file], at.line});
  });
  TALLY_TRY(histogram, histogram_of(ticks, outside, 0));
  view.histogram = std::move(histogram);
  view.functions = functions_of(locations, costs.strings);
  view.lines = lines_of(locations, costs.strings);
  return view;
}

} // namespace tally
