#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <tally/sample_filter.h>

#include "random_profile.h"
#include "transform/owner_roots.h"

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
