// Tests how a waiting thread is looked at from outside.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/wait_look.h"
#include "collect/wait_polls.h"

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

// A thread that waits until this object is gone.
class Waiting {
public:
  Waiting() {
    EXPECT_EQ(pipe(ends_.data()), 0);
    thread_ = std::thread([this] {
      tid_ = static_cast<pid_t>(syscall(SYS_gettid));
      pollfd polled{ends_[0], POLLIN, 0};
      poll(&polled, 1, 60'000);
    });
    WaitLook look(getpid());
    for (int i = 0; i < 1000 && !(tid_ != 0 && look.at(tid_, false)); ++i)
      usleep(1000);
  }
  ~Waiting() { end(); }
  void end() {
    if (!thread_.joinable())
      return;
    close(ends_[1]);
    thread_.join();
    close(ends_[0]);
  }
  pid_t tid() const { return tid_; }

private:
  std::array<int, 2> ends_{};
  std::atomic<pid_t> tid_ = 0;
  std::thread thread_;
};

TEST(WaitLook, ReadsTheStackOfAThreadThatWaits) {
  Waiting waiting;
  WaitLook look(getpid());
  const auto seen = look.at(waiting.tid(), true);
  ASSERT_TRUE(seen);
  EXPECT_FALSE(seen->is_held);
  EXPECT_FALSE(seen->stack.empty());
  EXPECT_EQ(seen->stack.size() % 8, 0u);
  waiting.end();
  EXPECT_FALSE(look.at(waiting.tid(), false));
}

TEST(WaitPolls, DivideTheTimeByTheKernelsAccount) {
  Waiting waiting;
  RunDelay::Account account;
  uint64_t held_ns = 0;
  WaitPolls polls(
      getpid(), [&](uint64_t) { return held_ns; }, [&](pid_t) { return account; });
  int unwound = 0;
  WaitPolls::Spent last;
  std::vector<uint64_t> stack;
  const auto poll = [&](uint64_t at, uint64_t cpu, uint64_t queued, bool held = false) {
    account = {queued, cpu, at};
    last = {};
    polls.poll(
        std::array{waiting.tid()}, held,
        [&](pid_t, const WaitLook::Seen &) { return ++unwound, std::vector<uint64_t>{0x1000}; },
        [&](const WaitPolls::Spent &spent) {
          last = spent;
          stack.assign(spent.stack.begin(), spent.stack.end());
        });
    return std::pair(last.wait_ns, last.queued_ns);
  };
  using Times = std::pair<uint64_t, uint64_t>;
  EXPECT_EQ(poll(1000, 100, 10), Times(0, 0)); // what was before is not known
  EXPECT_EQ(last.tid, 0);
  EXPECT_EQ(poll(1100, 110, 15), Times(85, 5));
  EXPECT_EQ(last.tid, waiting.tid());
  EXPECT_EQ(last.at_ns, 1100u);
  EXPECT_EQ(stack, std::vector<uint64_t>{0x1000});
  EXPECT_EQ(poll(1200, 110, 15), Times(100, 0)); // the same wait
  EXPECT_EQ(unwound, 1);
  EXPECT_EQ(poll(1300, 240, 15), Times(0, 0)); // 30 ns of the CPU time belong to the poll before
  EXPECT_EQ(unwound, 2);
  EXPECT_EQ(poll(1400, 250, 15), Times(60, 0));
  EXPECT_EQ(poll(1500, 260, 15, true), Times(90, 0)); // at a stop, nothing shows where it waited
  EXPECT_TRUE(stack.empty());
  EXPECT_EQ(unwound, 3);
  account.at_ns = 9000;
  polls.restart();
  EXPECT_EQ(poll(9100, 260, 15), Times(100, 0));
  held_ns = 130; // which is learnt late
  EXPECT_EQ(poll(9200, 260, 15), Times(0, 0));
  EXPECT_EQ(poll(9300, 260, 15), Times(70, 0));
}

} // namespace
} // namespace tally::collect_wait_look_test
