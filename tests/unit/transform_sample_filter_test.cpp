#include <algorithm>
#include <array>
#include <map>
#include <regex>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "random_profile.h"
#include "timed_profile.h"
#include "transform/owner_roots.h"
#include "transform/sample_filter.h"

namespace tally::transform_sample_filter_test {
namespace {

// The samples of a profile, independent of its ids.
using SampleKey = std::tuple<std::vector<std::tuple<FunctionKey, std::string, uint64_t, uint32_t>>,
                             int32_t, uint32_t>; // stack, tid, part
using Samples = std::map<SampleKey, std::vector<int64_t>>;

Samples samples_of(const StackProfile &profile) {
  Samples out;
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    const Sample sample = profile.sample(row);
    SampleKey key;
    for (const Frame &frame : frames_of(profile, sample.stack))
      std::get<0>(key).emplace_back(frame.function, frame.file, frame.address, frame.line);
    std::get<1>(key) = sample.thread == none<ThreadId> ? -1 : profile.threads()[sample.thread].tid;
    std::get<2>(key) = sample.part == none<PartId> ? 0 : profile.parts()[sample.part].number;
    auto &values = out[key];
    values.resize(sample.values.size(), 0);
    for (size_t v = 0; v < values.size(); ++v)
      values[v] += sample.values[v];
  }
  return out;
}

template <class Keep> Samples kept(Samples samples, Keep keep) {
  std::erase_if(samples, [&](const auto &each) { return !keep(each.first); });
  return samples;
}

TEST(SampleFilter, PartitionsTheProfileByThread) {
  Random random(99);
  for (int round = 0; round < rounds(300); ++round) {
    SCOPED_TRACE(round);
    const StackProfile profile = random_profile(random, random_shape(random));
    const Samples all = samples_of(profile);
    EXPECT_EQ(samples_of(*filter_samples(profile, {})), all);
    Samples sum = kept(all, [](const SampleKey &key) { return std::get<1>(key) == -1; });
    for (const Thread &thread : profile.threads()) {
      const Samples own =
          kept(all, [&](const SampleKey &key) { return std::get<1>(key) == thread.tid; });
      const auto some = filter_samples(profile, {.thread = std::to_string(thread.tid)});
      if (own.empty()) {
        ASSERT_FALSE(some);
        EXPECT_EQ(some.error().code, ErrorCode::no_data);
        continue;
      }
      ASSERT_TRUE(some) << some.error().text();
      EXPECT_EQ(samples_of(*some), own);
      EXPECT_EQ(some->threads().size(), 1u);
      EXPECT_TRUE(validate(*some));
      sum.insert(own.begin(), own.end());
    }
    EXPECT_EQ(sum, all);
    // All threads have this name.
    if (const auto named = filter_samples(profile, {.thread = "thread"})) {
      EXPECT_EQ(samples_of(*named),
                kept(all, [](const SampleKey &key) { return std::get<1>(key) != -1; }));
    }
  }
}

TEST(SampleFilter, AgreesWithAggregatingAPart) {
  Random random(100);
  for (int round = 0; round < rounds(300); ++round) {
    SCOPED_TRACE(round);
    const StackProfile profile = random_profile(random, random_shape(random));
    for (uint32_t i = 0; i < profile.parts().size(); ++i) {
      const auto id = static_cast<PartId>(i);
      const auto some = filter_samples(profile, {.part = profile.parts()[id].number});
      if (!some)
        continue;
      ASSERT_EQ(some->parts().size(), 1u);
      EXPECT_EQ(count_samples(*some), count_samples(profile, id));
      // The order of the two selections does not matter.
      for (const Thread &thread : profile.threads()) {
        const std::string tid = std::to_string(thread.tid);
        const auto both =
            filter_samples(profile, {.thread = tid, .part = profile.parts()[id].number});
        const auto first = filter_samples(profile, {.thread = tid});
        if (!both || !first)
          continue;
        EXPECT_EQ(samples_of(*both), samples_of(*filter_samples(*some, {.thread = tid})));
        EXPECT_EQ(samples_of(*both),
                  samples_of(*filter_samples(*first, {.part = profile.parts()[id].number})));
      }
    }
  }
}

TEST(SampleFilter, PartitionsCostsByPart) {
  Random random(101);
  for (int round = 0; round < rounds(100); ++round) {
    SCOPED_TRACE(round);
    const CostProfile profile = random_costs(random, {.headers = true});
    Counted sum;
    uint64_t total = 0;
    for (uint32_t i = 0; i < profile.parts().size(); ++i) {
      const auto id = static_cast<CostPartId>(i);
      const auto some = filter_samples(profile, {.part = profile.parts()[id].number});
      ASSERT_TRUE(some) << some.error().text();
      ASSERT_EQ(some->parts().size(), 1u);
      EXPECT_EQ(some->strings[some->parts()[CostPartId{}].command],
                profile.strings[profile.parts()[id].command]);
      const auto own = profile.totals(id);
      EXPECT_EQ(some->totals()[0], own.empty() ? 0 : own[0]);
      total += some->totals()[0];
      const Counted rows = rows_of(*some);
      for (const auto &[location, costs] : rows.self)
        add_to(sum.self[location], costs);
      for (const auto &[arc, value] : rows.arcs) {
        sum.arcs[arc].first += value.first;
        add_to(sum.arcs[arc].second, value.second);
      }
    }
    EXPECT_EQ(total, profile.totals()[0]);
    const Counted whole = rows_of(profile);
    EXPECT_EQ(sum.self, whole.self);
    EXPECT_EQ(sum.arcs, whole.arcs);
  }
}

StackProfile threads_and_parts() {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  const StackId stack = builder.push(none<StackId>, builder.add_location(none<MappingId>, 1));
  Part part;
  for (part.number = 1; part.number < 13; ++part.number) {
    const PartId id = builder.add_part(part);
    const auto tid = static_cast<int32_t>(100 + part.number);
    builder.add_sample(stack,
                       builder.add_thread(7, tid,
                                          part.number == 1  ? ""
                                          : part.number % 2 ? "odd"
                                                            : "even"),
                       id, 1);
  }
  return std::move(*builder.finish());
}

TEST(SampleFilter, SelectsProcessesByNameAndNumber) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  const auto add = [&](int32_t pid, int32_t tid, const char *process, int64_t ticks) {
    const ThreadId thread = builder.add_thread(pid, tid, "worker");
    builder.set_process(thread, process);
    builder.add_sample(none<StackId>, thread, none<PartId>, ticks);
  };
  add(1, 1, "make", 1);
  add(2, 2, "cc1", 10);
  add(3, 3, "cc1", 100);
  add(3, 4, "cc1", 1000);
  const StackProfile profile = std::move(*builder.finish());
  const auto ticks = [&](const SampleFilter &wanted) {
    const auto some = filter_samples(profile, wanted);
    return some ? std::to_string(some->totals()[0]) : some.error().text();
  };
  EXPECT_EQ(ticks({.process = "cc1"}), "1110");
  EXPECT_EQ(ticks({.process = "3"}), "1100");
  EXPECT_EQ(ticks({.thread = "4", .process = "3"}), "1000");
  EXPECT_EQ(ticks({.thread = "4", .process = "make"}),
            "thread '4' of process 'make' has no samples");
  EXPECT_EQ(ticks({.process = "ld"}),
            "--process: there is no process 'ld' (there are: make, 1, cc1, 2, 3)");
  // The names stay.
  EXPECT_EQ(process_words(*filter_samples(profile, {.process = "2"})),
            (std::vector<std::string>{"cc1", "2"}));
}

TEST(SampleFilter, ReportsErrors) {
  const StackProfile profile = threads_and_parts();
  const auto refused = [&](const SampleFilter &wanted) {
    const auto some = filter_samples(profile, wanted);
    return some ? std::string("taken") : some.error().text();
  };
  EXPECT_EQ(refused({.thread = "main"}),
            "--thread: there is no thread 'main' (there are: 101, even, odd)");
  EXPECT_EQ(refused({.part = 13}),
            "--part: there is no part '13' (there are: 1, 2, 3, 4, 5, 6, 7, 8, …)");
  EXPECT_EQ(refused({.thread = "102", .part = 3}), "thread '102' has no samples in part 3");
  EXPECT_EQ(thread_words(profile).size(), 14u);
  StackProfileBuilder none;
  none.add_value_type("ticks", "count");
  const StackProfile empty = std::move(*none.finish());
  EXPECT_EQ(filter_samples(empty, {.thread = "1"}).error().text(),
            "--thread: the profile does not distinguish threads");
  EXPECT_EQ(filter_samples(empty, {.part = 1}).error().text(),
            "--part: the profile does not distinguish parts");
  EXPECT_EQ(filter_samples(empty, {.process = "1"}).error().text(),
            "--process: the profile does not distinguish processes");
}

// What patterns are compared with, and what identifies a frame.
struct PlainFrame {
  std::vector<std::string> names; // of the function, its file, its object, and the mapping
  std::string file;
  uint32_t line = 0;
  bool inlined = false;
  auto operator<=>(const PlainFrame &) const = default;
  bool matches(const std::string &pattern) const {
    const std::regex searched(pattern);
    return std::ranges::any_of(
        names, [&](const std::string &name) { return std::regex_search(name, searched); });
  }
};
// Stack (leaf first), tid, part, value; and the times of the value.
using PlainKey = std::tuple<std::vector<PlainFrame>, int32_t, uint32_t, size_t>;
struct PlainProfile {
  std::map<PlainKey, int64_t> values;
  std::map<PlainKey, std::multiset<std::pair<uint64_t, int64_t>>> times;
  bool operator==(const PlainProfile &) const = default;
};

// Applies the patterns in the simplest way, sample by sample.
PlainProfile plain(const StackProfile &profile, const SampleFilter &wanted) {
  PlainProfile out;
  const auto text = [&](StringId id) { return std::string(profile.strings[id]); };
  std::vector<std::optional<std::vector<PlainFrame>>> stacks;
  const auto key_of = [&](size_t row, size_t value) {
    const Sample sample = profile.sample(row);
    return PlainKey{*stacks[row],
                    sample.thread == none<ThreadId> ? -1 : profile.threads()[sample.thread].tid,
                    sample.part == none<PartId> ? 0 : profile.parts()[sample.part].number, value};
  };
  for (size_t row = 0; row < profile.sample_count(); ++row) {
    std::vector<PlainFrame> frames, kept;
    for (StackId at = profile.sample(row).stack; at != none<StackId>;
         at = profile.stack_caller(at)) {
      const Location location = profile.location(profile.stack_location(at));
      for (const SourceLine &line : location.lines) {
        const SourceFunction &f = profile.functions()[line.function];
        frames.push_back({{text(f.name), text(f.file), text(f.object)},
                          text(line.file),
                          line.line,
                          wanted.no_inlines && &line != &location.lines.back()});
        // The mapping may be lost, so it does not identify a frame, but an object does.
        if (location.mapping != none<MappingId>)
          frames.back().names.push_back(text(profile.mappings()[location.mapping].path));
      }
    }
    const auto any = [&](const std::string &pattern) {
      return std::ranges::any_of(frames,
                                 [&](const PlainFrame &frame) { return frame.matches(pattern); });
    };
    bool folds = false;
    for (size_t i = frames.size(); i-- > 0;) {
      PlainFrame frame = frames[i];
      if (frame.inlined || (!wanted.hide.empty() && frame.matches(wanted.hide)))
        continue;
      const bool before = std::exchange(folds, !wanted.fold.empty() && frame.matches(wanted.fold));
      frame.names.resize(3);
      if (!before || !folds)
        kept.insert(kept.begin(), frame);
    }
    stacks.emplace_back();
    if ((!wanted.focus.empty() && !any(wanted.focus)) ||
        (!wanted.ignore.empty() && any(wanted.ignore)) || kept.empty())
      continue;
    stacks.back() = kept;
    for (size_t v = 0; v < profile.value_types().size(); ++v)
      out.values[key_of(row, v)] += profile.sample(row).values[v];
  }
  for (const SampleTime &time : profile.times())
    if (stacks[time.row])
      out.times[key_of(time.row, time.value)].emplace(time.at_ns, time.amount);
  return out;
}

TEST(Patterns, AgreeWithAPlainSearch) {
  Random random(103);
  size_t checked = 0, empty = 0;
  const auto check = [&](const StackProfile &profile, const std::vector<std::string> &patterns) {
    SampleFilter wanted;
    for (std::string *each : {&wanted.focus, &wanted.ignore, &wanted.hide, &wanted.fold})
      if (pick(random, 2) == 0)
        *each = patterns[pick(random, patterns.size())];
    wanted.no_inlines = pick(random, 3) == 0;
    if (wanted.takes_all())
      return;
    const PlainProfile expected = plain(profile, wanted);
    const auto some = filter_samples(profile, wanted);
    if (expected.values.empty()) {
      ++empty;
      ASSERT_EQ(some ? ErrorCode::internal : some.error().code, ErrorCode::no_data);
      return;
    }
    ASSERT_TRUE(some) << some.error().text();
    EXPECT_TRUE(validate(*some));
    EXPECT_EQ(plain(*some, {}), expected);
    const auto program = [](const StackProfile &of) {
      return of.mappings().size() == 0 ? std::string_view()
                                       : of.strings[of.mappings()[MappingId{0}].path];
    };
    if (some->mappings().size() > 0) {
      EXPECT_EQ(program(*some), program(profile));
    }
    ++checked;
  };
  for (int round = 0; round < rounds(120); ++round) {
    SCOPED_TRACE(round);
    RandomShape shape = random_shape(random);
    shape.samples += 1;
    check(random_profile(random, shape),
          {"^[ab]$", "a", "^(c|/lib/1)$", "[0b]", "/lib/[12]", "d|e", "^$"});
    check(random_timed_profile(random, 60), {"^f[12]$", "f3", "/src/f1", "l1", "f[0-4]", "f5|f0"});
  }
  EXPECT_GT(checked, static_cast<size_t>(rounds(60)));
  EXPECT_GT(empty, 0u);
}

TEST(Patterns, GiveAFoldsCostToTheOutermost) {
  StackProfileBuilder out;
  out.add_value_type("ticks", "count");
  Mapping mapping;
  mapping.start = 0x1000;
  mapping.limit = 0x9000;
  mapping.path = out.intern("/bin/program");
  const MappingId program = out.add_mapping(mapping);
  const auto line = [&](std::string_view name) {
    return SourceLine{out.add_function({out.intern(name), {}, {}, {}, 0}), {}, 1};
  };
  const auto location = [&](uint64_t address, const std::vector<SourceLine> &lines) {
    return out.add_location(program, address, lines);
  };
  const StackId main = out.push(none<StackId>, location(0x1000, {line("main")}));
  const StackId sort = out.push(main, location(0x2000, {line("std::sort")}));
  // A function of the program is inlined into one of the library.
  const LocationId less = location(0x3000, {line("less"), line("std::less")});
  out.add_sample(out.push(sort, less), none<ThreadId>, none<PartId>, 5);
  out.add_sample(sort, none<ThreadId>, none<PartId>, 2);
  out.add_sample(out.push(main, less), none<ThreadId>, none<PartId>, 3);
  const auto some = filter_samples(*out.finish(), {.fold = "^std::"});
  ASSERT_TRUE(some) << some.error().text();
  std::map<std::string, int64_t> stacks;
  for (size_t row = 0; row < some->sample_count(); ++row) {
    std::string stack;
    for (const ShownFrame &frame : shown_stack(*some, some->sample(row).stack))
      stack += std::get<0>(frame) + ' ';
    stacks[stack] += some->sample(row).values[0];
  }
  EXPECT_EQ(stacks,
            (std::map<std::string, int64_t>{
                {"main std::sort less ", 5}, {"main std::sort ", 2}, {"main std::less less ", 3}}));
}

// The name of an instance of a template begins with its return type.
TEST(Patterns, MatchNamesWithoutReturnTypes) {
  StackProfileBuilder out;
  out.add_value_type("ticks", "count");
  const SourceLine line{
      out.add_function({out.intern("void std::sort<int*>(int*)"), {}, {}, {}, 0}), {}, 0};
  out.add_sample(out.push(none<StackId>, out.add_location(none<MappingId>, 1, std::span(&line, 1))),
                 none<ThreadId>, none<PartId>, 5);
  const StackProfile profile = *out.finish();
  for (const std::string pattern : {"^std::", "^void", "^std::sort<int\\*>\\(int\\*\\)$"}) {
    EXPECT_TRUE(filter_samples(profile, {.focus = pattern})) << pattern;
    EXPECT_FALSE(filter_samples(profile, {.ignore = pattern})) << pattern;
    EXPECT_FALSE(filter_samples(profile, {.hide = pattern})) << pattern;
  }
  EXPECT_FALSE(filter_samples(profile, {.focus = "^sort"}));
}

TEST(Patterns, ReportErrors) {
  Random random(104);
  RandomShape shape;
  shape.samples = 5;
  const StackProfile profile = random_profile(random, shape);
  const auto refused = [](const auto &from, const SampleFilter &wanted) {
    const auto some = filter_samples(from, wanted);
    return some ? std::string("taken") : some.error().text();
  };
  EXPECT_EQ(refused(profile, {.focus = "none"}),
            "--focus: no sample has a frame that matches 'none'");
  EXPECT_EQ(refused(profile, {.ignore = "."}),
            "--ignore: every sample has a frame that matches '.'");
  EXPECT_EQ(refused(profile, {.hide = "."}), "--hide: every frame of the samples matches '.'");
  EXPECT_TRUE(refused(profile, {.fold = "a("}).starts_with("--fold: 'a(' is not a pattern: "));
  const CostProfile costs = random_costs(random);
  for (const SampleFilter &wanted : {SampleFilter{.focus = "a"}, SampleFilter{.ignore = "a"},
                                     SampleFilter{.hide = "a"}, SampleFilter{.fold = "a"}})
    EXPECT_NE(refused(costs, wanted).find("needs stacks, but the profile holds costs"),
              std::string::npos);
  EXPECT_NE(refused(costs, {.no_inlines = true}).find("does not tell which of them are inlined"),
            std::string::npos);
}

TEST(UnderOwners, OnlyAddsAFrame) {
  Random random(102);
  for (int round = 0; round < rounds(200); ++round) {
    SCOPED_TRACE(round);
    const StackProfile profile = random_profile(random, random_shape(random));
    for (const SampleOwner owner : {SampleOwner::thread, SampleOwner::part}) {
      const auto rooted = under_owners(profile, owner);
      ASSERT_TRUE(rooted) << rooted.error().text();
      EXPECT_EQ(rooted->totals(), profile.totals());
      Samples without;
      for (const auto &[key, values] : samples_of(*rooted)) {
        SampleKey cut = key;
        const std::string name = std::get<2>(std::get<0>(std::get<0>(cut).back()));
        const std::string id = owner == SampleOwner::part ? std::to_string(std::get<2>(key))
                                                          : std::to_string(std::get<1>(key));
        EXPECT_TRUE(name.starts_with(id) || name.starts_with("[no ")) << name;
        std::get<0>(cut).pop_back();
        without[cut] = values;
      }
      EXPECT_EQ(without, samples_of(profile));
    }
  }
}

} // namespace
} // namespace tally::transform_sample_filter_test
