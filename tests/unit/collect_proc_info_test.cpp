#include <gtest/gtest.h>

#include "collect/proc_info.h"

namespace tally::collect_proc_info_test {
namespace {

TEST(ProcInfo, ParsesListsAndStatus) {
  EXPECT_EQ(parse_cpu_list("0-3,8\n"), (std::vector<int>{0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_cpu_list("0"), (std::vector<int>{0}));
  EXPECT_TRUE(parse_cpu_list("").empty());
  EXPECT_TRUE(parse_cpu_list("x,-1,0-99999999999").empty());
  const ProcessStatus status =
      parse_status("Name:\tState: x\nState:\tZ (zombie)\nTgid:\t12\nTracerPid:\t34\n"
                   "Uid:\t1000\t0\t0\t0\nThreads:\t3\nCapEff:\t000001ffffffffff\nSeccomp:\t2\n");
  EXPECT_EQ(status.tgid, 12);
  EXPECT_EQ(status.tracer, 34);
  EXPECT_EQ(status.real_uid, 1000u);
  EXPECT_EQ(status.threads, 3);
  EXPECT_EQ(status.cap_effective, 0x1ffffffffffu);
  EXPECT_EQ(status.seccomp, 2);
  EXPECT_EQ(status.state, 'Z');
  EXPECT_FALSE(online_cpus().empty());
  const auto times = parse_cpu_times("12 (a) b) S 1 2 3 4 5 6 7 8 9 10 1234 56 0 0 20 0 1\n");
  ASSERT_TRUE(times);
  EXPECT_EQ(times->user, 1234u);
  EXPECT_EQ(times->system, 56u);
  EXPECT_FALSE(parse_cpu_times("12 (a) S 1 2 3 4 5 6 7 8 9 10 1234"));
  EXPECT_FALSE(parse_cpu_times("12"));
}

} // namespace
} // namespace tally::collect_proc_info_test
