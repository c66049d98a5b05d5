// Tests which samples are left out where a debugger stops the program.
#include <gtest/gtest.h>

#include <array>

#include "collect/stack_collector.h"
#include "collect/stop_addresses.h"

namespace tally::collect_stop_addresses_test {
namespace {

constexpr std::array<uint8_t, 16> no_calls = {};

TEST(StopAddresses, CoversTheInstructionAtTheBreakpoint) {
  StopAddresses stops;
  stops.add({"", 0x1000}, no_calls);
  EXPECT_FALSE(stops.is_stop(0xfff));
  EXPECT_TRUE(stops.is_stop(0x1000));
  EXPECT_TRUE(stops.is_stop(0x100f));
  EXPECT_FALSE(stops.is_stop(0x1010));
  EXPECT_FALSE(stops.has_files());
}

// The kernel's work after a system call counts, because the program requested it.
TEST(StopAddresses, ExcludesTheCodeAfterASystemCall) {
  StopAddresses stops;
  constexpr std::array<uint8_t, 16> code = {0xb8, 1, 0, 0, 0, 0x0f, 0x05}; // mov $1,%eax; syscall
  stops.add({"", 0x1000}, code);
  EXPECT_TRUE(stops.is_stop(0x1005));
  EXPECT_FALSE(stops.is_stop(0x1007));
}

#ifdef __x86_64__
TEST(StopAddresses, IncludesTheTargetOfAJump) {
  constexpr std::array<std::pair<std::array<uint8_t, 16>, uint64_t>, 5> cases = {{
      {{0xe8, 0x00, 0x01, 0, 0}, 0x1105},       // call
      {{0xe9, 0xfb, 0xfe, 0xff, 0xff}, 0xf00},  // jmp
      {{0xeb, 0x7e}, 0x1080},                   // jmp
      {{0x74, 0x80}, 0xf82},                    // je
      {{0x0f, 0x85, 0xfa, 0x0f, 0, 0}, 0x2000}, // jne
  }};
  for (const auto &[code, target] : cases) {
    StopAddresses stops;
    stops.add({"", 0x1000}, code);
    EXPECT_TRUE(stops.is_stop(target)) << std::hex << target;
    EXPECT_FALSE(stops.is_stop(target + 1)) << std::hex << target;
  }
}
#endif

TEST(StopAddresses, ReplacesAllStops) {
  StopAddresses stops, others;
  stops.add({"", 0x1000}, no_calls);
  stops.add({"/lib/libf.so", 0x3000}, no_calls);
  stops.set_step_area(0x4000, 0x4020);
  others.add({"", 0x2000}, no_calls);
  stops.replace(others);
  EXPECT_TRUE(stops.is_stop(0x2000));
  EXPECT_FALSE(stops.is_stop(0x1000));
  EXPECT_FALSE(stops.has_files());
  EXPECT_FALSE(stops.is_step(0x4000));
}

using Origin = StackCollector::TickOrigin;

TEST(StackCollector, OmitsTheKernelsTimeAtPassedStops) {
  const auto stops = std::make_shared<StopAddresses>();
  StackCollector collector(1, {1'000'000});
  collector.set_passed_stops(stops);
  collector.map({0x7000'0000, 0x7001'0000, 0x2000, 0, 0, "/lib/libf.so"});
  constexpr uint64_t in_file = 0x7000'1000; // offset 0x3000
  EXPECT_TRUE(collector.counts(1, 0, Origin::kernel, in_file));
  stops->add({"/lib/libf.so", 0x3000}, no_calls);
  stops->add({"", 0x5000}, no_calls);
  EXPECT_FALSE(collector.counts(1, 0, Origin::kernel, in_file));
  EXPECT_FALSE(collector.counts(1, 0, Origin::kernel, 0x5000));
  EXPECT_TRUE(collector.counts(1, 0, Origin::kernel, 0x6000));
  EXPECT_TRUE(collector.counts(1, 0, Origin::user, in_file)) << "the program's own time";
  EXPECT_TRUE(collector.counts(1, 0, Origin::delayed, in_file)) << "a signal stands everywhere";
  EXPECT_TRUE(collector.counts(1, 0, Origin::user, 0x4001));
  stops->set_step_area(0x4000, 0x4020);
  EXPECT_FALSE(collector.counts(1, 0, Origin::user, 0x4001)) << "a copied instruction";
}

TEST(StackCollector, OmitsTheKernelsTimeAtARegionsStops) {
  const auto region_filter = std::make_shared<RegionFilter>();
  StackCollector collector(1, {1'000'000});
  collector.set_region_filter(region_filter);
  region_filter->open(RegionFilter::all_threads, 1);
  region_filter->stops().add({"", 0x5000}, no_calls);
  EXPECT_FALSE(collector.counts(1, 2, Origin::kernel, 0x5000));
  EXPECT_FALSE(collector.counts(1, 2, Origin::delayed, 0x5000));
  EXPECT_TRUE(collector.counts(1, 2, Origin::user, 0x5000));
  collector.set_region_filter(nullptr);
  EXPECT_TRUE(collector.counts(1, 2, Origin::kernel, 0x5000)) << "they go with the region";
}

} // namespace
} // namespace tally::collect_stop_addresses_test
