#include <gtest/gtest.h>

#include <algorithm>
#include <csetjmp>
#include <random>
#include <vector>

#include <unistd.h>

#include "session/region.h"

namespace tally::session_region_test {

using Kind = RegionHit::Kind;

constexpr uint64_t look = Session::look;
constexpr pid_t remote = 0; // no process whose memory can be read

RegionHit call(pid_t tid, uint64_t sp, uint64_t return_address) {
  return {Kind::first, tid, false, sp, return_address, 0};
}
RegionHit come_back(pid_t tid, uint64_t sp, uint64_t at) {
  return {Kind::returned, tid, false, sp, at, 0};
}

TEST(PassTimes, AreExactForFewPasses) {
  PassTimes times;
  for (const uint64_t each : {5u, 1u, 9u, 7u})
    times.add(each);
  EXPECT_EQ(times.count(), 4u);
  EXPECT_EQ(times.least_ns(), 1u);
  EXPECT_EQ(times.median_ns(), 5u) << "the lower one of the middle two";
  EXPECT_EQ(times.most_ns(), 9u);
  EXPECT_EQ(times.total_ns(), 22u);
  EXPECT_EQ(times.stride(), 1u);
}

TEST(PassTimes, SampleEveryNthOfManyPasses) {
  PassTimes times;
  std::vector<uint64_t> all;
  std::mt19937_64 random(7);
  for (int i = 0; i < 1'000'000; ++i) {
    all.push_back(random() % 1'000'000);
    times.add(all.back());
  }
  std::vector<uint64_t> kept;
  for (size_t i = 0; i < all.size(); i += times.stride())
    kept.push_back(all[i]);
  EXPECT_GT(times.stride(), 1u);
  EXPECT_LE(kept.size(), 65'536u);
  std::ranges::sort(kept);
  EXPECT_EQ(times.median_ns(), kept[(kept.size() - 1) / 2]);
  EXPECT_EQ(times.most_ns(), *std::ranges::max_element(all));
}

// libc's names: longjmp.S, and debug/longjmp_chk.c for programs with _FORTIFY_SOURCE.
TEST(Region, IsLeftByEachLongjmpOfLibc) {
  for (const char *name : {"longjmp", "_longjmp", "siglongjmp", "__longjmp_chk"})
    EXPECT_TRUE(std::ranges::any_of(region_exits(), [&](const RegionExit &each) {
      return each.kind == Kind::jumped && each.function == name;
    })) << name;
}

TEST(Region, LastsFromTheCallToTheReturn) {
  Region region({"f"});
  EXPECT_EQ(region.hit(call(7, 1000, 0x40), remote, 10, 1), 0x40u);
  EXPECT_EQ(region.inside(), 1u);
  EXPECT_EQ(region.hit(come_back(7, 1000, 0x40), remote, 20, 6), 0u);
  EXPECT_EQ(region.inside(), 0u);
  EXPECT_EQ(region.passes().count(), 1u);
  EXPECT_EQ(region.passes().total_ns(), 5u) << "of the time for which the program ran";
  EXPECT_TRUE(region.region_filter()->holds(7, 15));
  EXPECT_FALSE(region.region_filter()->holds(7, 20));
  EXPECT_FALSE(region.region_filter()->holds(8, 15));
}

TEST(Region, AwaitsAReturnWhileAPassEndsThere) {
  Region region({"f"});
  region.hit(call(7, 1000, 0x40), remote, 10, 0);
  region.hit(call(8, 5000, 0x40), remote, 11, 1);
  region.hit(call(9, 9000, 0x50), remote, 12, 2);
  EXPECT_EQ(region.hit(come_back(10, 700, 0x40), remote, 13, 3), 0x40u) << "nobody's pass";
  EXPECT_EQ(region.hit(come_back(8, 5000, 0x40), remote, 14, 4), 0x40u) << "thread 7 is inside";
  EXPECT_EQ(region.hit(come_back(7, 1000, 0x40), remote, 15, 5), 0u);
  EXPECT_EQ(region.hit(come_back(9, 9000, 0x50), remote, 16, 6), 0u);
  EXPECT_EQ(region.passes().count(), 3u);
}

TEST(Region, CountsRecursionAsOnePass) {
  Region region({"f"});
  region.hit(call(7, 1000, 0x40), remote, 10, 0);
  EXPECT_EQ(region.hit(call(7, 900, 0x50), remote, 11, 1), 0u) << "needs no address";
  region.hit(call(7, 800, 0x40), remote, 12, 2);
  region.hit(come_back(7, 800, 0x40), remote, 13, 3); // the return of the inner call
  EXPECT_EQ(region.inside(), 1u);
  region.hit(come_back(7, 1000, 0x40), remote, 14, 4);
  EXPECT_EQ(region.passes().count(), 1u);
  EXPECT_EQ(region.unfinished(), 0u);
}

TEST(Region, CountsATailCallOfItselfAsTheSamePass) {
  Region region({"f"});
  region.hit(call(7, 1000, 0x40), remote, 10, 0);
  region.hit(call(7, 1000, 0x40), remote, 11, 1);
  region.hit(come_back(7, 1000, 0x40), remote, 12, 2);
  EXPECT_EQ(region.passes().count(), 1u);
}

TEST(Region, SeparatesThreads) {
  Region region({"f"});
  region.hit(call(7, 1000, 0x40), remote, 10, 0);
  region.hit(call(8, 5000, 0x40), remote, 11, 1);
  region.hit(come_back(7, 1000, 0x40), remote, 12, 2);
  EXPECT_EQ(region.inside(), 1u);
  EXPECT_FALSE(region.region_filter()->holds(7, 12));
  EXPECT_TRUE(region.region_filter()->holds(8, 12));
  region.hit(come_back(9, 9000, 0x40), remote, 13, 3); // this thread never entered it
  EXPECT_EQ(region.passes().count(), 1u);
}

TEST(Region, EndsAtAnExceptionThatIsCaughtOutside) {
  Region region({"f"});
  region.hit(call(7, 1000, 0x40), remote, 10, 0);
  region.hit({Kind::caught, 7, false, 960, 0, 0}, remote, 11, 1);
  EXPECT_EQ(region.inside(), 1u) << "caught by the function itself";
  region.hit({Kind::caught, 7, false, 1000, 0, 0}, remote, 12, 2);
  EXPECT_EQ(region.inside(), 0u) << "caught by the caller";
  EXPECT_EQ(region.passes().count(), 1u);
}

TEST(Region, NeedsNoExceptionsWhileNoThreadIsInside) {
  Region region({"f"});
  EXPECT_EQ(region.hit({Kind::caught, 7, false, 1000, 0, 0}, remote, 9, 0), Session::nobody);
  EXPECT_EQ(region.hit(call(7, 1000, 0x40), remote, 10, 0), 0x40u);
  EXPECT_EQ(region.hit({Kind::caught, 8, false, 5000, 0, 0}, remote, 11, 1), 0u);
  region.hit(come_back(7, 1000, 0x40), remote, 12, 2);
  EXPECT_EQ(region.hit({Kind::jumped, 7, false, 0, 0, 0}, remote, 13, 3), Session::nobody);
  EXPECT_EQ(region.stops().count(), 3u);
}

TEST(StopTimes, EstimateTheTimeThatAStopTakes) {
  StopTimes stops;
  EXPECT_EQ(stops.add(500, 100, 5, 1), 500u) << "it waited, and nothing is known yet";
  EXPECT_EQ(stops.add(500, 100, 2, 1), 100u);
  EXPECT_EQ(stops.add(900, 100, 4, 2), 100u) << "two stops";
  EXPECT_EQ(stops.mean_ns(), 400u);
  EXPECT_EQ(stops.add(9000, 100, 3, 1), 8600u) << "it waited";
  EXPECT_EQ(stops.add(450, 100, 3, 1), 100u) << "never less than it ran";
  EXPECT_EQ(stops.add(9000, 0, 0, 1), 8600u) << "nothing is known of the thread";
}

TEST(Region, CountsAnUnseenExitAtTheNextCall) {
  Region region({"f"});
  region.hit(call(7, 1000, 0x40), remote, 10, 0);
  EXPECT_EQ(region.hit(call(7, 2000, 0x60), remote, 20, 1), 0x60u);
  EXPECT_EQ(region.unfinished(), 1u);
  EXPECT_EQ(region.inside(), 1u);
}

TEST(Region, CountsUnfinishedPassesWhenTheProcessEnds) {
  Region region({"f"});
  region.hit(call(7, 1000, 0x40), remote, 10, 0);
  region.end_open(30, 30);
  EXPECT_EQ(region.unfinished(), 1u);
  EXPECT_EQ(region.inside(), 0u);
  EXPECT_FALSE(region.region_filter()->holds(7, 30));
  region.clear();
  EXPECT_EQ(region.unfinished(), 0u);
}

TEST(Region, DoesNotCountInlinedCopiesAsPasses) {
  Region region({"f"});
  EXPECT_EQ(region.hit(call(7, 0, 0), remote, 10, 0), 0u);
  EXPECT_EQ(region.inlined(), 1u);
  EXPECT_EQ(region.inside(), 0u);
}

TEST(Region, CoversAllThreadsBetweenTwoLocations) {
  Region region({"a.c:1", "a.c:9"});
  const RegionHit first{Kind::first, 7, false, 0, 0, 0}, second{Kind::second, 8, false, 0, 0, 0};
  region.hit(second, remote, 5, 0); // no thread is inside
  region.hit(first, remote, 10, 1);
  region.hit(first, remote, 11, 2); // already inside
  EXPECT_TRUE(region.region_filter()->holds(99, 11));
  region.hit(second, remote, 20, 4);
  EXPECT_FALSE(region.region_filter()->holds(99, 20));
  EXPECT_EQ(region.passes().count(), 1u);
  EXPECT_EQ(region.passes().total_ns(), 3u);
}

TEST(Region, AsksTheFrontWhatItCannotRead) {
  Region region({"f"});
  EXPECT_EQ(region.hit({Kind::first, 7, true, 0, 0, 0}, remote, 10, 0), look);
  // This process exists, but it has no such thread.
  EXPECT_EQ(region.hit({Kind::first, 1, true, 0, 0, 0}, ::getpid(), 10, 0), look);
  EXPECT_EQ(region.inside(), 0u);
}

__attribute__((noinline)) bool returns_to_its_caller() {
  return is_return_address(::getpid(), reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}

TEST(Region, DistinguishesReturnAddressesFromOtherWords) {
  const bool right = returns_to_its_caller();
  EXPECT_TRUE(right);
  const uint64_t word = 7;
  EXPECT_FALSE(is_return_address(::getpid(), word));
  EXPECT_FALSE(is_return_address(::getpid(), reinterpret_cast<uintptr_t>(&word)));
#if defined(__x86_64__)
  // Code, but not directly after a call.
  const auto function = reinterpret_cast<uintptr_t>(&returns_to_its_caller);
  EXPECT_FALSE(is_return_address(::getpid(), function + 1));
#endif
}

TEST(Region, FindsTheTargetOfALongjmp) {
#if defined(__x86_64__)
  std::jmp_buf buffer;
  if (setjmp(buffer) != 0)
    FAIL();
  const uint64_t sp = stack_pointer_of_jump(::getpid(), reinterpret_cast<uintptr_t>(&buffer));
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  EXPECT_LE(sp, here);
  EXPECT_GT(sp + 65'536, here);
#endif
  EXPECT_EQ(stack_pointer_of_jump(::getpid(), 8), 0u);
}

} // namespace tally::session_region_test
