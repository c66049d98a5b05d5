// Tests that packed stacks are unpacked unchanged. The oracle counts with maps.
#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "random_profile.h"
#include "stacks/address_table.h"
#include "stacks/packed_stacks.h"
#include "stacks/truncation_mark.h"

namespace tally::stacks_packed_stacks_test {
namespace {

using Frames = std::vector<uint32_t>; // outermost first
using Counts = std::map<std::tuple<Frames, uint32_t, uint32_t>, int64_t>;

// Returns a profile with threads and parts by number, so that their ids are valid.
StackProfileBuilder empty_profile(uint32_t threads, uint32_t parts, uint32_t frames) {
  StackProfileBuilder builder;
  builder.add_value_type("ticks", "count");
  for (uint32_t i = 0; i < threads; ++i)
    builder.add_thread(1, static_cast<int32_t>(i + 1), "");
  for (uint32_t i = 0; i < parts; ++i)
    builder.add_part({i + 1, {}, 0, 0});
  const MappingId mapping = builder.add_mapping({0, 1 << 20, 0, {}, {}, 0, 0, 0, false});
  for (uint32_t i = 0; i < frames; ++i)
    builder.add_location(mapping, i);
  return builder;
}

Counts counts_of(const PackedStacks &stacks, uint32_t threads, uint32_t parts, uint32_t frames) {
  StackProfileBuilder builder = empty_profile(threads, parts, frames);
  EXPECT_TRUE(stacks.pour(builder, [](uint32_t frame) { return static_cast<LocationId>(frame); }));
  const auto profile = builder.finish();
  EXPECT_TRUE(profile);
  Counts counts;
  for (size_t row = 0; row < profile->sample_count(); ++row) {
    const Sample sample = profile->sample(row);
    Frames path;
    for (StackId at = sample.stack; at != none<StackId>; at = profile->stack_caller(at))
      path.push_back(index_of(profile->stack_location(at)));
    std::ranges::reverse(path);
    counts[{path, index_of(sample.thread), index_of(sample.part)}] += sample.values[0];
  }
  return counts;
}

TEST(PackedStacks, AreUnpackedUnchanged) {
  Random random(7);
  for (int round = 0; round < rounds(100); ++round) {
    // A merge after every few nodes, so that every shape meets every other one.
    PackedStacks stacks(static_cast<uint32_t>(2 + pick(random, 40)));
    const auto threads = static_cast<uint32_t>(1 + pick(random, 3));
    const auto parts = static_cast<uint32_t>(1 + pick(random, 3));
    const auto frames = static_cast<uint32_t>(1 + pick(random, round % 2 ? 5 : 400));
    const uint64_t depth = 1 + pick(random, 12);
    Counts expected;
    Frames path;
    for (int i = 0; i < 600; ++i) {
      path.resize(pick(random, std::min<uint64_t>(depth, path.size() + 1)));
      for (uint64_t more = pick(random, depth); more > 0; --more)
        path.push_back(static_cast<uint32_t>(pick(random, frames)));
      const auto thread = static_cast<uint32_t>(pick(random, threads));
      const auto part = static_cast<uint32_t>(pick(random, parts));
      const auto ticks = static_cast<int64_t>(1 + pick(random, 300));
      stacks.add(path, static_cast<ThreadId>(thread), static_cast<PartId>(part), ticks);
      expected[{path, thread, part}] += ticks;
    }
    ASSERT_EQ(counts_of(stacks, threads, parts, frames), expected) << "round " << round;
    // Unpacking changes nothing.
    ASSERT_EQ(counts_of(stacks, threads, parts, frames), expected) << "round " << round;
  }
}

TEST(PackedStacks, KeepTheValuesApart) {
  Random random(5);
  PackedStacks stacks(6, {1, 1, 1});
  std::map<std::tuple<Frames, uint32_t, uint32_t>, std::vector<int64_t>> expected;
  for (int i = 0; i < 500; ++i) {
    const Frames path(1 + pick(random, 3), static_cast<uint32_t>(pick(random, 4)));
    const auto part = static_cast<uint32_t>(pick(random, 3));
    const auto value = static_cast<uint32_t>(pick(random, 3));
    stacks.add(path, ThreadId{0}, static_cast<PartId>(part), 1 + i, value);
    auto &values = expected[{path, 0, part}];
    values.resize(3);
    values[value] += 1 + i;
  }
  StackProfileBuilder builder = empty_profile(1, 3, 4);
  builder.add_value_type("second", "count");
  builder.add_value_type("third", "count");
  ASSERT_TRUE(stacks.pour(builder, [](uint32_t frame) { return static_cast<LocationId>(frame); }));
  const auto profile = builder.finish();
  ASSERT_TRUE(profile);
  ASSERT_EQ(profile->sample_count(), expected.size());
  for (size_t row = 0; row < profile->sample_count(); ++row) {
    const Sample sample = profile->sample(row);
    Frames path;
    for (StackId at = sample.stack; at != none<StackId>; at = profile->stack_caller(at))
      path.push_back(index_of(profile->stack_location(at)));
    EXPECT_EQ(std::vector(sample.values.begin(), sample.values.end()),
              (expected[{path, index_of(sample.thread), index_of(sample.part)}]));
  }
}

TEST(PackedStacks, UseMemoryForDistinctStacksOnly) {
  Random random(3);
  std::vector<Frames> paths(1000);
  for (Frames &path : paths)
    for (int i = 0; i < 20; ++i)
      path.push_back(static_cast<uint32_t>(pick(random, 20'000)));
  PackedStacks stacks;
  const auto add_all = [&] {
    for (const Frames &path : paths)
      stacks.add(path, ThreadId{0}, PartId{0}, 1);
  };
  add_all();
  const size_t once = stacks.memory_bytes();
  for (int i = 0; i < 9; ++i)
    add_all();
  EXPECT_LT(stacks.memory_bytes(), once * 3 / 2);
  const Counts counts = counts_of(stacks, 1, 1, 20'000);
  EXPECT_EQ(counts.size(), paths.size());
  for (const auto &[key, ticks] : counts)
    EXPECT_EQ(ticks, 10);
  // Twenty thousand nodes of random frames compress badly; hashing would take 16 bytes or more for
  // each.
  EXPECT_LT(once, 20'000u * 12);
}

// What a time belongs to: a stack, its thread, and the value's index.
using TimeKey = std::tuple<Frames, uint32_t, uint32_t>;

TEST(PackedStacks, KeepTimes) {
  Random random(11);
  for (int round = 0; round < rounds(80); ++round) {
    PackedStacks stacks(static_cast<uint32_t>(2 + pick(random, 40)), {5, 0});
    std::map<TimeKey, std::vector<StackTime>> expected;
    uint32_t now = 100;
    for (int i = 0; i < 500; ++i) {
      const Frames path(pick(random, 4), static_cast<uint32_t>(pick(random, 6)));
      const auto thread = static_cast<uint32_t>(pick(random, 3));
      const auto value = static_cast<uint32_t>(pick(random, 2));
      // Times of several threads are not quite in order, and some are far apart.
      now += static_cast<uint32_t>(pick(random, pick(random, 20) == 0 ? 1'000'000 : 40));
      const StackTime time{now - static_cast<uint32_t>(pick(random, 30)),
                           value == 1 ? static_cast<uint32_t>(pick(random, 500)) : 0};
      const bool known = pick(random, 10) != 0;
      stacks.add(path, static_cast<ThreadId>(thread), PartId{0}, 5, value,
                 known ? time : StackTime{});
      if (known)
        expected[{path, thread, value}].push_back(time);
    }
    StackProfileBuilder builder = empty_profile(3, 1, 6);
    builder.add_value_type("wait", "nanoseconds");
    ASSERT_TRUE(
        stacks.pour(builder, [](uint32_t frame) { return static_cast<LocationId>(frame); }));
    const StackProfile profile = *builder.finish();
    std::map<TimeKey, std::vector<StackTime>> got;
    for (const SampleTime &time : profile.times()) {
      const Sample sample = profile.sample(time.row);
      Frames path;
      for (StackId at = sample.stack; at != none<StackId>; at = profile.stack_caller(at))
        path.push_back(index_of(profile.stack_location(at)));
      const auto unit = static_cast<int64_t>(StackTime::unit_ns);
      ASSERT_EQ(time.value == 0 ? time.amount : 5, 5);
      got[{path, index_of(sample.thread), time.value}].push_back(
          {static_cast<uint32_t>(time.at_ns / StackTime::unit_ns),
           time.value == 1 ? static_cast<uint32_t>(time.amount / unit) : 0});
    }
    for (auto &[key, times] : expected)
      std::ranges::stable_sort(times, {}, &StackTime::at);
    ASSERT_EQ(got, expected) << "round " << round;
  }
}

// Eight seconds of a thread at 4 kHz.
TEST(PackedStacks, KeepTimesInLittleMemory) {
  constexpr uint32_t most_more = 100 << 10, samples = rounds(32'000);
  Random random(13);
  for (const uint64_t distinct : {UINT64_C(72), UINT64_C(1'000'000)}) {
    PackedStacks with, without;
    Frames path(20);
    for (uint32_t i = 0; i < samples; ++i) {
      uint64_t which = pick(random, distinct);
      for (uint32_t &frame : path) {
        frame = static_cast<uint32_t>(which % 97);
        which /= 2;
      }
      const auto jitter = static_cast<uint32_t>(pick(random, 3));
      with.add(path, ThreadId{0}, PartId{0}, 1, 0, {25 * i + jitter, 0});
      without.add(path, ThreadId{0}, PartId{0}, 1);
    }
    EXPECT_LT(with.memory_bytes(), without.memory_bytes() + most_more) << distinct;
  }
}

TEST(PackedStacks, DropTheEarliestTimesOnly) {
  constexpr uint32_t most = 100'000, count = 150'000;
  PackedStacks stacks(1000, {1}, most);
  const Frames path{1, 2, 3};
  for (uint32_t i = 0; i < count; ++i)
    stacks.add(path, ThreadId{0}, PartId{0}, 1, 0, {2 * i, 0});
  StackProfileBuilder builder = empty_profile(1, 1, 5);
  ASSERT_TRUE(stacks.pour(builder, [](uint32_t frame) { return static_cast<LocationId>(frame); }));
  const StackProfile profile = *builder.finish();
  EXPECT_EQ(profile.totals()[0], count);
  EXPECT_GT(profile.times().size(), most * 2 / 3);
  EXPECT_LT(profile.times().size(), most * 11 / 10);
  EXPECT_EQ(profile.times().front().at_ns,
            (2 * (count - profile.times().size())) * StackTime::unit_ns);
  EXPECT_LE(profile.times_from_ns, profile.times().front().at_ns);
  EXPECT_GT(profile.times_from_ns, profile.times().front().at_ns - 2 * StackTime::unit_ns);
}

TEST(PackedStacks, RefuseASumBeyond64Bits) {
  PackedStacks stacks(2);
  const Frames path{1, 2, 3};
  stacks.add(path, ThreadId{0}, PartId{0}, std::numeric_limits<int64_t>::max());
  stacks.add(path, ThreadId{0}, PartId{0}, 1);
  StackProfileBuilder builder = empty_profile(1, 1, 5);
  const auto poured =
      stacks.pour(builder, [](uint32_t frame) { return static_cast<LocationId>(frame); });
  ASSERT_FALSE(poured);
  EXPECT_EQ(poured.error().code, ErrorCode::overflow);
}

TEST(AddressTable, KeepTheRangeAtTheTimeOfTheSample) {
  AddressSpace space;
  space.map({0x1000, 0x3000, 0, 1, 1, "a"});
  AddressTable addresses;
  AddressTable::Process process(space);
  const std::vector<uint64_t> chain{0x1800, 0x2000, truncation_mark(StackEnd::damaged)};
  const auto numbers = [&] {
    const auto found = addresses.numbers_of(process, chain);
    return std::vector<uint32_t>(found.begin(), found.end());
  };
  const auto before = numbers();
  ASSERT_EQ(before.size(), 3u);
  EXPECT_EQ(numbers(), before);
  EXPECT_EQ(addresses.size(), 3u);
  EXPECT_EQ(addresses[before[0]].pc, truncation_mark(StackEnd::damaged));
  EXPECT_EQ(addresses[before[0]].range, AddressSpace::nowhere);
  EXPECT_EQ(addresses[before[1]].pc, 0x2000u);
  EXPECT_EQ(addresses[before[2]].pc, 0x1800u);
  space.map({0x1000, 0x2000, 0, 1, 2, "b"});
  const auto after = numbers();
  EXPECT_EQ(after[1], before[1]);
  EXPECT_NE(after[2], before[2]); // the address belongs to another file now
  EXPECT_EQ(addresses[after[2]].pc, 0x1800u);
  EXPECT_EQ(addresses.ranges()[addresses[after[2]].range].path, "b");
  EXPECT_EQ(addresses.ranges()[addresses[before[2]].range].path, "a");
}

TEST(AddressTable, SharesTheCodeOfFilesBetweenProcesses) {
  AddressSpace first, second, third;
  first.map({0x1000, 0x3000, 0x500, 1, 7, "/lib/a"});
  first.map({0x8000, 0x9000, 0, 0, 0, "//anon"});
  second.map({0x5000, 0x7000, 0x500, 1, 7, "/lib/a"}); // the same part elsewhere
  second.map({0x8000, 0x9000, 0, 0, 0, "//anon"});     // another content
  third.map({0x5000, 0x7000, 0x500, 1, 8, "/lib/a"});  // another file of this name
  AddressTable addresses;
  AddressTable::Process a(first), b(second), c(third);
  const auto number = [&](AddressTable::Process &process, uint64_t pc) {
    return addresses.numbers_of(process, std::span(&pc, 1))[0];
  };
  const uint32_t shared = number(a, 0x1234);
  EXPECT_EQ(number(b, 0x5234), shared);
  EXPECT_EQ(addresses[shared].pc, 0x1234u);
  EXPECT_NE(number(c, 0x5234), shared);
  EXPECT_NE(number(b, 0x8010), number(a, 0x8010));
  EXPECT_EQ(addresses.ranges().size(), 4u);
  addresses.clear();
  EXPECT_EQ(addresses[number(b, 0x5234)].pc, 0x1234u);
  EXPECT_EQ(addresses.size(), 1u);
}

// An offset in a mapping of terabytes leaves no room for the mapping's number beside it.
TEST(AddressTable, OmitTheNumberOfAHugeRange) {
  AddressSpace space;
  space.map({0, uint64_t{1} << 46, 0, 0, 0, "//anon"});
  AddressTable addresses;
  AddressTable::Process process(space);
  const std::vector<uint64_t> chain{uint64_t{1} << 45, 64};
  const auto found = addresses.numbers_of(process, chain);
  EXPECT_EQ(addresses[found[1]].pc, uint64_t{1} << 45);
  EXPECT_EQ(addresses[found[1]].range, AddressSpace::nowhere);
  EXPECT_EQ(addresses[found[0]].range, 0u);
}

} // namespace
} // namespace tally::stacks_packed_stacks_test
