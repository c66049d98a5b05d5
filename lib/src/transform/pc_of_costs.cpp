// Converts profiles of stacks and of costs to addresses: the part of them that a gmon.out can hold.
#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "model/pc_words.h"
#include "support/path.h"
#include "transform/pc_costs.h"

namespace tally {

namespace {

// Ticks by pc are grouped into ranges of this many bytes, aligned to their size, without ranges for
// code that has no tick. Therefore the ranges of two profiles of one program are equal or disjoint,
// so that they can be added up; and a count above 65535, for which the range is written several
// times, takes little space.
constexpr uint64_t block_bytes = 64;
// gprof's unit: it treats a function at an odd address as if it began one byte earlier.
constexpr uint64_t bin_bytes = 2;

using Ticks = std::map<uint64_t, uint64_t>; // by pc

Result<void> add_ranges(PcProfileBuilder &out, const Ticks &ticks, uint32_t rate_hz,
                        std::string_view dimension, char abbreviation) {
  for (auto at = ticks.begin(); at != ticks.end();) {
    PcRange range;
    range.low_pc = at->first / block_bytes * block_bytes;
    range.high_pc = range.low_pc + block_bytes;
    if (range.high_pc < range.low_pc)
      return fail(ErrorCode::invalid_input,
                  fmt::format("{:#x} is not an address of a program's code", at->first));
    range.bins.bytes = bin_bytes;
    range.counters.resize(block_bytes / bin_bytes, 0);
    for (; at != ticks.end() && at->first < range.high_pc; ++at)
      // Cannot overflow: at most the total.
      range.counters[(at->first - range.low_pc) / bin_bytes] += at->second;
    TALLY_CHECK(out.add_range(std::move(range), rate_hz, dimension, abbreviation));
  }
  return {};
}

// gmon.out stores a dimension of at most 15 characters.
std::string short_dimension(std::string_view event) {
  std::string out(event.substr(0, 15));
  return out.empty() ? "ticks" : out;
}

std::string outside_words(uint64_t outside, std::string_view unit, std::string_view program) {
  return fmt::format("{} {} outside of {}'s own text", outside, unit, base_name(program));
}

constexpr std::string_view no_callers = "callers (samples do not count calls)";
constexpr std::string_view no_parts = "the parts (their sum is written)";
constexpr std::string_view no_lines =
    "functions, lines and files (readers take them from the program)";

// --- samples

struct ProgramTicks {
  Ticks by_pc;
  uint64_t outside = 0;
};

// Returns the function that owns the code at a location, not one that is inlined there.
StringId function_at(const StackProfile &stacks, const Location &at) {
  return at.lines.empty() ? StringId{} : stacks.functions()[at.lines.back().function].name;
}

// gprof gives a function that begins at an odd address the byte before it as well. A tick at that
// byte, which is the last one of the previous function, moves down by one unit, where it counts for
// its own function.
void keep_from_next_function(Ticks &ticks, const std::map<uint64_t, StringId> &functions) {
  for (auto at = functions.begin(); at != functions.end(); ++at) {
    const auto next = std::next(at);
    if (next == functions.end() || at->first % 2 != 0 || next->first != at->first + 1 ||
        at->second == next->second || at->first < bin_bytes)
      continue;
    auto moved = ticks.extract(at->first);
    if (!moved.empty())
      ticks[at->first - bin_bytes] += moved.mapped();
  }
}

Result<ProgramTicks> ticks_of(const StackProfile &stacks, StringId program) {
  ProgramTicks out;
  std::map<uint64_t, StringId> functions;
  for (size_t row = 0; row < stacks.sample_count(); ++row) {
    const Sample sample = stacks.sample(row);
    if (sample.values.front() < 0)
      return fail(ErrorCode::invalid_input, "a sample has a negative value");
    const auto ticks = static_cast<uint64_t>(sample.values.front());
    const Location at = sample.stack == none<StackId>
                            ? Location{}
                            : stacks.location(stacks.stack_location(sample.stack));
    if (at.mapping == none<MappingId> || stacks.mappings()[at.mapping].path != program) {
      out.outside += ticks; // cannot overflow: validate() has added up all values
      continue;
    }
    const Mapping &mapping = stacks.mappings()[at.mapping];
    if (!mapping.has_bias)
      return fail(
          ErrorCode::unsupported,
          "the profile holds no link-time addresses of this program, which the format needs",
          std::string(stacks.strings[program]));
    const uint64_t pc = at.address - mapping.bias;
    out.by_pc[pc] += ticks;
    functions[pc] = function_at(stacks, at);
  }
  keep_from_next_function(out.by_pc, functions);
  return out;
}

// --- costs

// Returns which of a profile's objects is the program.
Result<ObjectId> program_of(const CostProfile &costs) {
  std::set<ObjectId> with_code, with_main, of_command;
  std::string command;
  for (const CostPart &part : costs.parts())
    if (const std::string_view words = costs.strings[part.command]; command.empty())
      command = base_name(words.substr(0, words.find(' ')));
  for (const CostBlock &block : costs.blocks()) {
    const CostFunction &function = costs.functions()[block.function];
    if (block.empty())
      continue;
    with_code.insert(function.object);
    if (costs.strings[function.name] == "main")
      with_main.insert(function.object);
    if (!command.empty() && base_name(costs.strings[costs.objects()[function.object]]) == command)
      of_command.insert(function.object);
  }
  for (const auto *found : {&of_command, &with_main, &with_code})
    if (found->size() == 1)
      return *found->begin();
  return fail(ErrorCode::unsupported,
              "cannot determine which of its objects is the program: no single one has "
              "the command's name or main()");
}

} // namespace

Result<PcConversion> to_pc_profile(const StackProfile &stacks) {
  if (stacks.value_types().empty() || stacks.sample_count() == 0)
    return fail(ErrorCode::no_data, "the profile has no samples");
  if (stacks.mappings().size() == 0) // a remote target has addresses
    return fail(ErrorCode::unsupported,
                has_addresses(stacks) ? "the profile does not state the size and byte order of the "
                                        "program's pointers, which the format needs"
                                      : "the profile " + std::string(only_names));
  const StringId program = stacks.mappings()[MappingId{0}].path;
  const std::string_view name = stacks.strings[program];
  TALLY_TRY(ticks, ticks_of(stacks, program));
  if (ticks.by_pc.empty())
    return fail(ErrorCode::no_data,
                fmt::format("no sample was taken in the program's own text: all {} lie in "
                            "libraries or elsewhere",
                            ticks.outside),
                std::string(name));
  const std::string unit = short_dimension(stacks.strings[stacks.value_types().front().type]);
  PcConversion out;
  PcProfileBuilder builder;
  if (const uint64_t period = stacks.period_ns; period != 0) {
    const uint64_t rate = (1'000'000'000 + period / 2) / period;
    if (rate == 0)
      return fail(ErrorCode::unsupported,
                  "the rate is less than one tick per second, which the format cannot express");
    TALLY_CHECK(add_ranges(builder, ticks.by_pc, static_cast<uint32_t>(rate), "seconds", 's'));
    // A clock's period is its rate's period, rounded. A difference that rounding explains is not
    // reported as a loss.
    if (const uint64_t rounded = (1'000'000'000 + rate / 2) / rate;
        std::max(rounded, period) - std::min(rounded, period) > rounded / 10'000)
      out.lost.push_back(
          fmt::format("the exact period of the clock ({} ns; {} Hz is written)", period, rate));
  } else {
    TALLY_CHECK(add_ranges(builder, ticks.by_pc, 1, unit, unit[0]));
  }
  TALLY_TRY(profile, builder.finish());
  out.profile = std::move(profile);
  if (ticks.outside > 0)
    out.lost.push_back(outside_words(ticks.outside, unit, name));
  out.lost.emplace_back(no_callers);
  out.lost.emplace_back(no_lines);
  if (stacks.value_types().size() > 1)
    out.lost.push_back(fmt::format("values other than {}", unit));
  if (stacks.threads().size() > 1)
    out.lost.emplace_back("the thread of each sample");
  if (stacks.parts().size() > 1)
    out.lost.emplace_back(no_parts);
  return out;
}

Result<PcConversion> to_pc_profile(const CostProfile &costs) {
  if (!costs.has_addresses)
    return fail(ErrorCode::unsupported, "the profile " + std::string(only_lines));
  TALLY_TRY(program, program_of(costs));
  const std::string event(costs.strings[costs.events()[0].name]);
  const std::string_view name = costs.strings[costs.objects()[program]];
  Ticks ticks;
  std::map<uint64_t, StringId> functions;
  uint64_t outside = 0, calls_outside = 0;
  PcProfileBuilder builder;
  std::vector<uint64_t> row(costs.events().size());
  const bool counts_calls = event != "ticks";
  for (const CostBlock &block : costs.blocks()) {
    const bool own = costs.functions()[block.function].object == program;
    for (uint32_t i = block.first_cost; i < block.last_cost; ++i) {
      costs.costs().get(i, row);
      const uint64_t pc = costs.cost_position(i).address;
      (own && pc != 0 ? ticks[pc] : outside) += row[0]; // cannot overflow: at most the total
      if (own)
        functions[pc] = costs.functions()[block.function].name;
    }
    for (uint32_t i = block.first_call; i < block.last_call && counts_calls; ++i) {
      const CostCall call = costs.call(i);
      const bool within = own && costs.functions()[call.callee].object == program;
      if (within && call.from.address != 0 && call.target.address != 0)
        TALLY_CHECK(builder.add_arc({call.from.address, call.target.address, call.count}));
      else
        ++calls_outside;
    }
  }
  keep_from_next_function(ticks, functions);
  std::erase_if(ticks, [](const auto &each) { return each.second == 0; });
  if (ticks.empty())
    return fail(ErrorCode::no_data, "no cost lies in the program's own text", std::string(name));
  const std::string dimension = short_dimension(event);
  TALLY_CHECK(add_ranges(builder, ticks, 1, dimension, dimension[0]));
  TALLY_TRY(profile, builder.finish());
  PcConversion out{std::move(profile), {}};
  if (outside > 0)
    out.lost.push_back(outside_words(outside, event, name));
  if (!counts_calls)
    out.lost.emplace_back(no_callers);
  if (calls_outside > 0)
    out.lost.emplace_back("calls into and out of other objects");
  if (counts_calls)
    out.lost.emplace_back("the costs of calls");
  out.lost.emplace_back(no_lines);
  if (costs.events().size() > 1)
    out.lost.push_back(fmt::format("events other than {}", event));
  if (costs.parts().size() > 1)
    out.lost.emplace_back(no_parts);
  if (costs.jump_count() > 0)
    out.lost.emplace_back("jumps");
  return out;
}

} // namespace tally
