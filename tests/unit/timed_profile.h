// Profiles whose samples have times, and plain ways to list them, for the formats that draw a time
// axis.
#pragma once

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "model/stack_profile.h"
#include "random_profile.h"

namespace tally {

// A frame as viewers know it: name, file, object, declared line, line.
using ShownFrame = std::tuple<std::string, std::string, std::string, uint32_t, uint32_t>;
using ShownStack = std::vector<ShownFrame>; // outermost first

inline ShownStack shown_stack(const StackProfile &profile, StackId stack) {
  ShownStack frames;
  const auto text = [&](StringId id) { return std::string(profile.strings[id]); };
  for (; stack != none<StackId>; stack = profile.stack_caller(stack))
    for (const SourceLine &line : profile.location(profile.stack_location(stack)).lines) {
      const SourceFunction &f = profile.functions()[line.function];
      const bool is_elsewhere = line.file != f.file && line.file != StringId{};
      frames.emplace_back(text(f.name).empty() ? "[unknown]" : text(f.name), text(f.file),
                          text(f.object), f.line, is_elsewhere ? 0 : line.line);
    }
  if (frames.empty())
    frames.emplace_back("[unknown]", "", "", 0, 0);
  std::ranges::reverse(frames);
  return frames;
}

// A sample's thread (tid, or -1), stack and value.
using ShownSample = std::tuple<int32_t, ShownStack, size_t>;

inline ShownSample shown_sample(const StackProfile &profile, size_t row, size_t value) {
  const Sample sample = profile.sample(row);
  const int32_t tid = sample.thread == none<ThreadId> ? -1 : profile.threads()[sample.thread].tid;
  return {tid, shown_stack(profile, sample.stack), value};
}

inline std::map<ShownSample, int64_t> shown_totals(const StackProfile &profile) {
  std::map<ShownSample, int64_t> out;
  for (size_t row = 0; row < profile.sample_count(); ++row)
    for (size_t value = 0; value < profile.value_types().size(); ++value)
      if (const int64_t amount = profile.sample(row).values[value]; amount != 0)
        out[shown_sample(profile, row, value)] += amount;
  return out;
}

// Returns all times in order, each with its sample and amount.
inline std::vector<std::tuple<ShownSample, uint64_t, int64_t>>
shown_times(const StackProfile &profile) {
  std::vector<std::tuple<ShownSample, uint64_t, int64_t>> out;
  for (const SampleTime &time : profile.times())
    out.emplace_back(shown_sample(profile, time.row, time.value), time.at_ns, time.amount);
  std::ranges::sort(out);
  return out;
}

// Returns a profile of ticks, waits, queued time, and the number of waits. Three threads run and
// wait by turns for `steps` steps. If `covers_all`, all values but the number of waits have times.
inline StackProfile random_timed_profile(Random &random, int steps, bool covers_all = true) {
  constexpr uint64_t period = 1'000'000;
  StackProfileBuilder out;
  out.add_value_type("ticks", "count");
  out.add_value_type("wait", "nanoseconds");
  out.add_value_type("queued", "nanoseconds");
  out.add_value_type("waits", "count");
  out.set_period_ns(period);
  out.set_command("/usr/bin/prog --flag 'a b'");
  std::vector<StackId> stacks{none<StackId>};
  for (int i = 0; i < 12; ++i) {
    const StringId file = out.intern(pick(random, 3) == 0 ? "" : "/src/f" + std::to_string(i % 3));
    std::vector<SourceLine> lines;
    for (uint64_t n = 1 + pick(random, 2); n > 0; --n)
      lines.push_back({out.add_function({out.intern("f" + std::to_string(pick(random, 6))),
                                         {},
                                         file,
                                         out.intern("/lib/l" + std::to_string(pick(random, 2))),
                                         static_cast<uint32_t>(pick(random, 3))}),
                       file, static_cast<uint32_t>(pick(random, 50))});
    const LocationId at =
        out.add_location(none<MappingId>, 0x1000 + static_cast<uint64_t>(i), lines);
    stacks.push_back(out.push(stacks[pick(random, stacks.size())], at));
  }
  stacks.erase(stacks.begin());
  const std::array<ThreadId, 3> threads{
      out.add_thread(40, 40, "main"), out.add_thread(40, 41, "worker"), out.add_thread(40, 42, "")};
  std::array<uint64_t, 3> now{};
  for (int step = 0; step < steps; ++step) {
    const uint64_t which = pick(random, 3);
    const StackId stack = stacks[pick(random, stacks.size())];
    std::array<int64_t, 4> values{};
    const uint64_t value = pick(random, 3);
    uint64_t &at = now.at(which);
    if (value == 0) {
      at += period + 10'000 * pick(random, 3);
      values[0] = 1;
    } else {
      values.at(value) = static_cast<int64_t>(10'000 * (1 + pick(random, 2000)));
      at += static_cast<uint64_t>(values.at(value));
      values[3] = value == 1 ? 1 : 0;
    }
    const uint32_t row = out.add_sample(stack, threads.at(which), none<PartId>, values);
    if (covers_all || pick(random, 2) == 0)
      out.add_time({at, row, static_cast<uint32_t>(value), values.at(value)});
  }
  return std::move(out.finish()).value();
}

} // namespace tally
