// Tests how a waiting thread is looked at from outside.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/wait_look.h"

namespace tally::collect_wait_look_test {
namespace {

TEST(WaitLook, ParsesTheKernelsText) {
  const auto waits = WaitLook::parse("230 0x0 0x0 0x7ffd 0x0 0x0 0x0 0x7ffd1000 0x7f0012\n");
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->sp, 0x7ffd1000u);
  EXPECT_EQ(waits->pc, 0x7f0012u);
  EXPECT_EQ(WaitLook::parse("-1 0x7ffd1000 0x7f0012")->pc, 0x7f0012u);
  for (const char *text : {"", "running\n", "1", "-1 7ffd 7f00", "-1 0x 0x1", "-1 0x1 0xg", "0x1"})
    EXPECT_FALSE(WaitLook::parse(text)) << text;
}

TEST(WaitLook, ReadsTheStackOfAThreadThatWaits) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  std::atomic<pid_t> tid = 0;
  std::thread thread([&] {
    tid = static_cast<pid_t>(syscall(SYS_gettid));
    pollfd polled{ends[0], POLLIN, 0};
    poll(&polled, 1, 60'000);
  });
  WaitLook look(getpid());
  std::optional<WaitLook::Seen> seen;
  for (int i = 0; i < 1000 && !seen; ++i) {
    usleep(1000);
    if (tid != 0)
      seen = look.at(tid, true);
  }
  if (seen) {
    EXPECT_FALSE(seen->is_held);
    EXPECT_FALSE(seen->stack.empty());
    EXPECT_EQ(seen->stack.size() % 8, 0u);
  }
  close(ends[1]);
  thread.join();
  close(ends[0]);
  EXPECT_TRUE(seen);
  EXPECT_FALSE(look.at(tid, false)); // it has ended
}

} // namespace
} // namespace tally::collect_wait_look_test
