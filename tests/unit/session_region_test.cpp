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

TEST(StopCost, IsTheMedianOfTheNewestMeasurements) {
  StopCost cost;
  EXPECT_FALSE(cost.is_known());
  for (uint64_t i = 0; i < 100; ++i)
    cost.measured({900, 90});
  for (uint64_t i = 0; i < StopCost::kept; ++i)
    cost.measured(i % 4 == 3 ? Spent{100'000, 50'000} : Spent{200 + i % 2, 20}); // preempted
  EXPECT_TRUE(cost.is_known());
  EXPECT_EQ(cost.median().cpu_ns, 20u);
  EXPECT_EQ(cost.error(1000).cpu_ns, 0u);
  EXPECT_EQ(cost.median().wall_ns, 200u);
  for (const uint64_t off : {70u, 70u, 80u, 90u, 90u}) // the debugger's part, by the passes
    cost.in_pass({1000 + off, 1000});
  EXPECT_EQ(cost.median().wall_ns, 80u + 20u);
  EXPECT_EQ(cost.error(100'000).wall_ns, 10u); // 5 values may all lie on one side of the median
}

TEST(StopCost, HasTheErrorOfAMedianOfSeveralLikelyCosts) {
  StopCost cost;
  for (uint64_t i = 0; i < StopCost::kept; ++i)
    cost.measured({0, i % 9 < 4 ? 40u : i % 9 < 6 ? 60u : 80u});
  EXPECT_EQ(cost.median().cpu_ns, 60u);
  EXPECT_EQ(cost.error(1'000'000).cpu_ns, 20u);
  EXPECT_EQ(cost.error(StopCost::kept).cpu_ns, 28u); // as many passes err as much
}

TEST(StopCost, IsMeasuredInGroupsOfPasses) {
  StopCost cost;
  std::vector<size_t> measured;
  for (size_t i = 0; i < 2000; ++i) {
    cost.begins(7, {});
    if (cost.measures())
      measured.push_back(i);
    cost.hit(7, Kind::measured, {});
  }
  ASSERT_EQ(measured.size(), 2 * StopCost::kept);
  EXPECT_EQ(measured[StopCost::kept - 1], StopCost::kept - 1);
  EXPECT_EQ(measured[StopCost::kept], 1024u);
}

TEST(StopCost, IsMeasuredAgainWhereThreadsThwartIt) {
  StopCost cost;
  size_t asked = 0;
  for (size_t i = 0; i < 1000; ++i) {
    cost.begins(7, {});
    asked += cost.measures();
    cost.hit(8, Kind::measured, {});
    if (i % 3 == 0)
      cost.hit(7, Kind::measured, {});
  }
  EXPECT_EQ(asked, 3 * StopCost::kept - 2);
  EXPECT_TRUE(cost.is_known());
  StopCost never;
  asked = 0;
  for (size_t i = 0; i < 1000; ++i) {
    never.begins(7, {});
    asked += never.measures();
  }
  EXPECT_EQ(asked, 4 * StopCost::kept);
}

TEST(Region, MeasuresOnlyWhereInstructionsAreKnown) {
  for (const char *each : {"mov    %rsp,%rbp", "endbr64", "pushq", "xorl", "sub\tsp, sp, #16"})
    EXPECT_TRUE(leads_on(each)) << each;
  // LLDB shows a prefix as an instruction. A breakpoint behind it would destroy the instruction.
  for (const char *each :
       {"lock", "lock incl (%rdi)", "rep", "addr32", "data16", "jle", "callq", "ret", "b.eq", "bl",
        "cbz", "syscall", "", "(bad)", "mov\tpc, lr", "addls pc, pc, r3"})
    EXPECT_FALSE(leads_on(each)) << each;
}

TEST(Region, SubtractsWhatItsStopsCost) {
  Region region({"f"});
  const RegionHit measured{Kind::measured, 7, false, 0, 0, 0};
  region.hit(come_back(7, 1000, 0x40), remote, 1, 0);
  EXPECT_EQ(region.hit(call(7, 1000, 0x40), remote, 10, 100), 0x40u);
  EXPECT_TRUE(region.stops().measures());
  EXPECT_EQ(region.hit(measured, remote, 20, 130), 0u);  // a stop costs 30
  region.hit(come_back(7, 1000, 0x40), remote, 90, 200); // two stops
  EXPECT_FALSE(region.stops().measures());
  EXPECT_EQ(region.passes().total_ns(), 40u);
  EXPECT_EQ(region.cpu_of_passes().count(), 0u) << "nothing is known of a remote thread";
}

TEST(Region, MeasuresBehindThePassIfItCannotAtTheBegin) {
  Region region({"f"});
  region.hit(call(7, 1000, 0x40), remote, 10, 100);
  region.hit(come_back(7, 1000, 0x40), remote, 20, 200);
  EXPECT_TRUE(region.stops().measures());
  EXPECT_FALSE(region.stops().is_known());
  region.hit({Kind::measured, 8, false, 0, 0, 0}, remote, 21, 210); // another thread
  EXPECT_FALSE(region.stops().is_known());
  region.hit(call(7, 1000, 0x40), remote, 30, 300);
  region.hit(come_back(7, 1000, 0x40), remote, 40, 400);
  region.hit({Kind::measured, 7, false, 0, 0, 0}, remote, 50, 425);
  EXPECT_EQ(region.stops().median().wall_ns, 25u);
}

TEST(Region, SaysWhichPassesEndedBeforeAStopsCostWasKnown) {
  Region region({"f"});
  region.hit(call(7, 1000, 0x40), remote, 10, 100);
  region.hit(come_back(7, 1000, 0x40), remote, 20, 200);
  EXPECT_EQ(region.stops().uncorrected(), 1u);
  region.hit({Kind::measured, 7, false, 0, 0, 0}, remote, 21, 225);
  region.hit(call(7, 1000, 0x40), remote, 30, 300);
  region.hit(come_back(7, 1000, 0x40), remote, 40, 400);
  EXPECT_EQ(region.stops().uncorrected(), 1u);
  EXPECT_EQ(region.passes().total_ns(), 100u + 75u);
}

TEST(Region, MeasuresNothingOverAHitThatIsNotHandled) {
  Region region({"f"});
  region.hit(call(7, 1000, 0x40), remote, 10, 100);
  ASSERT_TRUE(region.stops().measures());
  region.pass_over_hit(7);
  EXPECT_FALSE(region.stops().measures());
  region.hit({Kind::measured, 7, false, 0, 0, 0}, remote, 20, 200);
  EXPECT_FALSE(region.stops().is_known());
}

TEST(Region, SubtractsTheStopsOfOtherThreads) {
  Region region({"a.c:1", "a.c:9"});
  const auto at = [](Kind kind, int32_t tid) {
    RegionHit hit{kind, tid, false, 0, 0, 0};
    hit.holds_all = true;
    return hit;
  };
  region.hit(at(Kind::first, 7), remote, 10, 1000);
  region.hit(at(Kind::measured, 7), remote, 20, 1010); // a stop costs 10
  region.hit(at(Kind::first, 8), remote, 30, 1100);    // which holds thread 7
  region.hit(at(Kind::second, 9), remote, 40, 1200);
  EXPECT_EQ(region.passes().total_ns(), 200u - 3 * 10u);
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
