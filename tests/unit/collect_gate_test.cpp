#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include <tally/sample_gate.h>

namespace tally::collect_gate_test {

constexpr uint64_t second = 1'000'000'000;

TEST(SampleGate, IsInitiallyClosed) {
  SampleGate gate;
  EXPECT_FALSE(gate.holds(7, 0));
  EXPECT_FALSE(gate.holds(SampleGate::all_threads, 5));
}

TEST(SampleGate, HoldsFromTheTimeOfASwitch) {
  SampleGate gate;
  gate.open(7, 100);
  gate.close(7, 200);
  EXPECT_FALSE(gate.holds(7, 99));
  EXPECT_TRUE(gate.holds(7, 100));
  EXPECT_TRUE(gate.holds(7, 199));
  EXPECT_FALSE(gate.holds(7, 200));
  EXPECT_FALSE(gate.holds(8, 150)) << "another thread";
}

TEST(SampleGate, AppliesTheSwitchOfTheProcessToEachThread) {
  SampleGate gate;
  gate.open(SampleGate::all_threads, 100);
  EXPECT_TRUE(gate.holds(7, 100));
  gate.close(SampleGate::all_threads, 300);
  gate.open(7, 200);
  EXPECT_TRUE(gate.holds(8, 250));
  EXPECT_FALSE(gate.holds(8, 300));
  EXPECT_TRUE(gate.holds(7, 300));
}

TEST(SampleGate, IgnoresRepeatedSwitches) {
  SampleGate gate;
  gate.close(7, 50);
  gate.open(7, 100);
  gate.open(7, 150);
  gate.close(7, 200);
  gate.close(7, 250);
  EXPECT_TRUE(gate.holds(7, 120));
  EXPECT_FALSE(gate.holds(7, 220));
}

// Compares with a list of all switches; the samples arrive in order, each a little late.
TEST(SampleGate, AgreesWithAListOfAllSwitches) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    std::mt19937 random(seed);
    SampleGate gate;
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
        gate.open(tid, now);
        switches[tid].emplace_back(now, true);
      } else {
        gate.close(tid, now);
        switches[tid].emplace_back(now, false);
      }
      const pid_t asked = 1 + static_cast<pid_t>(random() % 2);
      const uint64_t at = now - random() % (second / 2);
      ASSERT_EQ(gate.holds(asked, at), naive(asked, at) || naive(0, at)) << seed << " " << i;
    }
  }
}

TEST(SampleGate, ClosesWhenAnotherProgramStarts) {
  SampleGate gate;
  gate.open(7, 100);
  gate.open(SampleGate::all_threads, 100);
  gate.stops().add({"", 0x1000}, {});
  gate.close_all(200);
  EXPECT_TRUE(gate.holds(7, 199));
  EXPECT_FALSE(gate.holds(7, 200));
  EXPECT_FALSE(gate.is_open(7));
  EXPECT_FALSE(gate.stops().is_stop(0x1000)) << "its addresses mean nothing any more";
}

TEST(SampleGate, ForgetsOldSwitches) {
  SampleGate gate;
  uint64_t now = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    gate.open(7, now += second / 100);
    gate.close(7, now += second / 100);
  }
  EXPECT_LT(gate.memory_bytes(), 1u << 20);
  EXPECT_FALSE(gate.holds(7, now));
  gate.open(7, now + 1);
  EXPECT_TRUE(gate.holds(7, now + 1));
}

TEST(SampleGate, ForgetsOldThreads) {
  SampleGate gate;
  uint64_t now = 0;
  for (pid_t tid = 1; tid < 100'000; ++tid) {
    gate.open(tid, now += second / 100);
    gate.close(tid, now += second / 100);
  }
  EXPECT_LT(gate.memory_bytes(), 1u << 20);
}

} // namespace tally::collect_gate_test
