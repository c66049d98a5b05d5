#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "collect/region_filter.h"

namespace tally::collect_region_filter_test {

constexpr uint64_t second = 1'000'000'000;

TEST(RegionFilter, IsInitiallyClosed) {
  RegionFilter region_filter;
  EXPECT_FALSE(region_filter.holds(7, 0));
  EXPECT_FALSE(region_filter.holds(RegionFilter::all_threads, 5));
}

TEST(RegionFilter, HoldsFromTheTimeOfASwitch) {
  RegionFilter region_filter;
  region_filter.open(7, 100);
  region_filter.close(7, 200);
  EXPECT_FALSE(region_filter.holds(7, 99));
  EXPECT_TRUE(region_filter.holds(7, 100));
  EXPECT_TRUE(region_filter.holds(7, 199));
  EXPECT_FALSE(region_filter.holds(7, 200));
  EXPECT_FALSE(region_filter.holds(8, 150)) << "another thread";
}

TEST(RegionFilter, AppliesTheSwitchOfTheProcessToEachThread) {
  RegionFilter region_filter;
  region_filter.open(RegionFilter::all_threads, 100);
  EXPECT_TRUE(region_filter.holds(7, 100));
  region_filter.close(RegionFilter::all_threads, 300);
  region_filter.open(7, 200);
  EXPECT_TRUE(region_filter.holds(8, 250));
  EXPECT_FALSE(region_filter.holds(8, 300));
  EXPECT_TRUE(region_filter.holds(7, 300));
}

TEST(RegionFilter, IgnoresRepeatedSwitches) {
  RegionFilter region_filter;
  region_filter.close(7, 50);
  region_filter.open(7, 100);
  region_filter.open(7, 150);
  region_filter.close(7, 200);
  region_filter.close(7, 250);
  EXPECT_TRUE(region_filter.holds(7, 120));
  EXPECT_FALSE(region_filter.holds(7, 220));
}

// Compares with a list of all switches; the samples arrive in order, each a little late.
TEST(RegionFilter, AgreesWithAListOfAllSwitches) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    RegionFilter region_filter;
    std::map<pid_t, std::vector<std::pair<uint64_t, bool>>> switches;
    uint64_t now = 20 * second;
    const auto naive = [&](pid_t tid, uint64_t at) {
      bool open = false;
      for (const auto &[when, opens] : switches[tid])
        if (when <= at)
          open = opens;
      return open;
    };
    for (int i = 0; i < 3000; ++i) {
      now += random() % (seed % 2 == 0 ? 1'000'000 : second / 10);
      const pid_t tid = static_cast<pid_t>(random() % 3); // 0 means the process
      if (const bool opens = random() % 2 == 0; opens) {
        region_filter.open(tid, now);
        switches[tid].emplace_back(now, true);
      } else {
        region_filter.close(tid, now);
        switches[tid].emplace_back(now, false);
      }
      const pid_t asked = 1 + static_cast<pid_t>(random() % 2);
      const uint64_t at = now - random() % (second / 2);
      ASSERT_EQ(region_filter.holds(asked, at), naive(asked, at) || naive(0, at))
          << seed << " " << i;
    }
  }
}

TEST(RegionFilter, ClosesWhenAnotherProgramStarts) {
  RegionFilter region_filter;
  region_filter.open(7, 100);
  region_filter.open(RegionFilter::all_threads, 100);
  region_filter.stops().add({"", 0x1000}, {});
  region_filter.close_all(200);
  EXPECT_TRUE(region_filter.holds(7, 199));
  EXPECT_FALSE(region_filter.holds(7, 200));
  EXPECT_FALSE(region_filter.is_open(7));
  EXPECT_FALSE(region_filter.stops().is_stop(0x1000)) << "its addresses mean nothing any more";
}

TEST(RegionFilter, ForgetsOldSwitches) {
  RegionFilter region_filter;
  uint64_t now = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    region_filter.open(7, now += second / 100);
    region_filter.close(7, now += second / 100);
  }
  EXPECT_LT(region_filter.memory_bytes(), 1u << 20);
  EXPECT_FALSE(region_filter.holds(7, now));
  region_filter.open(7, now + 1);
  EXPECT_TRUE(region_filter.holds(7, now + 1));
}

TEST(RegionFilter, ForgetsOldThreads) {
  RegionFilter region_filter;
  uint64_t now = 0;
  for (pid_t tid = 1; tid < 100'000; ++tid) {
    region_filter.open(tid, now += second / 100);
    region_filter.close(tid, now += second / 100);
  }
  EXPECT_LT(region_filter.memory_bytes(), 1u << 20);
}

TEST(RegionFilter, ForgetsNoThreadThatIsInside) {
  RegionFilter region_filter;
  constexpr pid_t threads = 3000;
  for (pid_t tid = 1; tid <= threads; ++tid)
    region_filter.open(tid, 100);
  // One that left a moment ago may still have samples in a queue.
  region_filter.close(1, 3600 * second);
  region_filter.open(threads + 1, 3600 * second + 1);
  EXPECT_TRUE(region_filter.holds(1, 3600 * second - 1));
  for (pid_t tid = 2; tid <= threads + 1; ++tid)
    ASSERT_TRUE(region_filter.is_open(tid)) << tid;
}

} // namespace tally::collect_region_filter_test
