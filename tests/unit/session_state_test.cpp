#include <array>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <tuple>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "collect/proc_info.h"
#include "collect_child.h"
#include "fake_debugger.h"
#include "session/session.h"
#include "support/clock.h"
#include "temporary.h"

namespace tally::session_state_test {
namespace {

std::string refusal(Session &session, std::string_view line) {
  const auto reply = session.command(line);
  EXPECT_FALSE(reply) << line << ": " << reply.value();
  return reply ? std::string() : reply.error().text();
}

DebugEvent event_of(EventKind kind, pid_t pid = 0) {
  DebugEvent event;
  event.kind = kind;
  event.target = TargetKind::native;
  event.pid = pid;
  return event;
}

TEST(Session, RefusesCommandsThatNeedSamples) {
  FakeDebugger debugger;
  Session session{debugger};
  EXPECT_EQ(refusal(session, "stop"), "profile stop: sampling has not begun");
  for (const char *line : {"report", "dump x.folded", "report --json"})
    EXPECT_TRUE(refusal(session, line).starts_with("nothing was collected yet")) << line;
  EXPECT_EQ(refusal(session, "diff previous"), "previous: there is no run before this one");
  for (const char *line : {"dump - --format folded", "dump - --parts", "diff -"})
    EXPECT_EQ(refusal(session, line),
              "-: standard input and output are the debugger's own: name a file");
  EXPECT_TRUE(refusal(session, "diff /no/such.folded").starts_with("/no/such.folded: cannot open"));
  EXPECT_TRUE(refusal(session, "dump x").starts_with("x: the file's name does not imply a format"));
  EXPECT_EQ(session.command("clear").value(), "");
  const auto status = session.command("status");
  ASSERT_TRUE(status);
  EXPECT_TRUE(status->starts_with("state idle\n")) << status.value();
}

TEST(Session, RefusesTargetsThatCannotBeSampled) {
  FakeDebugger debugger;
  Session session{debugger};
  DebugEvent event = event_of(EventKind::target, 1);
  event.target = TargetKind::core;
  ASSERT_TRUE(session.event(event));
  for (const char *line : {"start", "start --backend interrupt", "start --clock wall"})
    EXPECT_TRUE(refusal(session, line).starts_with("profile start: a core file")) << line;
  event.target = TargetKind::remote;
  ASSERT_TRUE(session.event(event));
  for (const char *name : {"perf", "agent"})
    EXPECT_TRUE(refusal(session, std::string("start --backend ") + name)
                    .starts_with(std::string("--backend ") + name + ": a remote target cannot be"));
  event.target = TargetKind::native;
  ASSERT_TRUE(session.event(event));
  EXPECT_TRUE(session.command("status")->starts_with("state idle\n"));
}

TEST(Session, ChecksAndKeepsSettings) {
  FakeDebugger debugger;
  Session session{debugger};
  EXPECT_EQ(session.setting("frequency"), "1000");
  EXPECT_EQ(session.setting("nonsense"), "");
  EXPECT_TRUE(session.command("config frequency 250"));
  EXPECT_EQ(session.command("config frequency").value(), "frequency 250\n");
  EXPECT_EQ(session.setting("frequency"), "250");
  EXPECT_TRUE(session.set("stacks", "none"));
  EXPECT_EQ(session.command("config stacks").value(), "stacks none\n");
  EXPECT_TRUE(refusal(session, "config frequency 0").starts_with("frequency: expected a whole"));
  EXPECT_TRUE(
      refusal(session, "config speed 1").starts_with("profile config: there is no setting"));
  EXPECT_EQ(session.set("speed", "1").error().text(),
            "profile config: there is no setting 'speed' (there are: backend, frequency, clock, "
            "stacks, stop-times, debuginfod)");
  EXPECT_EQ(session.set("clock", "sun").error().text(),
            "clock: expected one of cpu, wall, found 'sun'");
  EXPECT_EQ(session.setting("stacks"), "none");
  EXPECT_EQ(session.setting("frequency"), "250");
}

// Runs of children that spin, reported as a debugger would report them.
class SessionRun : public testing::Test {
protected:
  SessionRun() { ::setenv("TALLY_CACHE_DIR", "", 1); }
  bool start(std::string_view line = "start") {
    const auto reply = session.command(line);
    if (reply)
      return true;
    EXPECT_TRUE(reply.error().code == ErrorCode::permission ||
                reply.error().code == ErrorCode::unsupported)
        << reply.error().text();
    return false;
  }
  void push(const DebugEvent &event) {
    const auto reply = session.event(event);
    ASSERT_TRUE(reply) << reply.error().text();
  }
  uint64_t ticks() {
    const auto table = session.table(By::function, SortBy::self);
    EXPECT_TRUE(table) << table.error().text();
    return table ? table->totals[0] : 0;
  }
  // Runs a child, which spins for `seconds`, from its start to a stop. A sanitizer makes the end of
  // a child take additional time, so the tests compare runs whose ticks differ by much more than
  // that.
  std::unique_ptr<Child> run_to_stop(double seconds) {
    auto child = std::make_unique<Child>([seconds] { spin_for(seconds); });
    push(event_of(EventKind::resumed, child->pid()));
    child->go();
    child->wait_end();
    push(event_of(EventKind::breakpoint, child->pid()));
    return child;
  }
  FakeDebugger debugger;
  Session session{debugger};
};

// The events are reported late, as by a front end that polls only now and then.
TEST_F(SessionRun, UsesTheTimeAtWhichEventsHappened) {
  if (!start())
    GTEST_SKIP() << "sampling is refused here";
  const auto child = std::make_unique<Child>([] { spin_for(0.05); });
  const auto at = [&](EventKind kind, uint64_t at_ns) {
    DebugEvent event = event_of(kind, child->pid());
    event.at_ns = at_ns;
    push(event);
  };
  const auto seconds = [&](std::string_view name) {
    const std::string text = session.command("status").value();
    const size_t begin = text.find(fmt::format("\n{} ", name));
    return begin == text.npos ? -1 : std::stod(text.substr(begin + name.size() + 2));
  };
  const uint64_t before = now_ns();
  at(EventKind::resumed, 0);
  const uint64_t begin = now_ns(); // the run began between the two
  child->go();
  child->wait_end();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  at(EventKind::breakpoint, begin + 100'000'000);
  EXPECT_GT(seconds("running"), 0.08);
  EXPECT_LT(seconds("running"), 0.12 + static_cast<double>(begin - before) * 1e-9);
  EXPECT_GT(seconds("stopped"), 0.15);
  // A time before the last event and a time in the future: neither makes a duration negative.
  at(EventKind::resumed, 1);
  at(EventKind::breakpoint, UINT64_MAX);
  EXPECT_LE(seconds("running"), static_cast<double>(now_ns() - before) * 1e-9 + 0.01);
  EXPECT_GE(seconds("stopped"), 0);
}

TEST_F(SessionRun, SaysWhatTheSamplerHasMissed) {
  if (!start())
    GTEST_SKIP() << "sampling is refused here";
  for (const bool is_late : {false, true}) {
    const auto child = std::make_unique<Child>([] { spin_for(0.1); });
    DebugEvent run = event_of(EventKind::resumed, child->pid());
    run.at_ns = is_late ? now_ns() : 0;
    child->go();
    while (process_cpu_ns(child->pid()).value_or(UINT64_MAX) < 30'000'000)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    push(run);
    child->wait_end();
    push(event_of(EventKind::breakpoint, child->pid()));
    const std::string text = session.command("report").value();
    EXPECT_EQ(text.find(" of CPU time at the beginning are not sampled") != text.npos, is_late)
        << text;
    push(event_of(EventKind::killed));
  }
}

// Opens when one process calls open(), for another that waits.
class Gate {
public:
  Gate() { EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0); }
  Gate(const Gate &) = delete;
  Gate &operator=(const Gate &) = delete;
  ~Gate() {
    for (const int end : ends_)
      ::close(end);
  }
  void open() { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  // Returns whether it opened within a minute.
  bool wait() {
    pollfd end{ends_[0], POLLIN, 0};
    char byte;
    return ::poll(&end, 1, 60'000) == 1 && ::read(ends_[0], &byte, 1) == 1;
  }

private:
  std::array<int, 2> ends_{-1, -1};
};

// The named copy of a report while the program ran once hid what was counted until the stop. The
// child waits for the report, which takes seconds with a sanitizer.
TEST_F(SessionRun, CountsWhatCameAfterAReportWhileItRan) {
  if (!start())
    GTEST_SKIP() << "sampling is refused here";
  Gate spent, reported;
  const auto child = std::make_unique<Child>([&] {
    spin_for(0.1);
    spent.open();
    if (reported.wait())
      spin_for(0.3);
  });
  push(event_of(EventKind::resumed, child->pid()));
  child->go();
  ASSERT_TRUE(spent.wait());
  const uint64_t early = ticks();
  EXPECT_GT(early, 0u);
  reported.open();
  child->wait_end();
  push(event_of(EventKind::breakpoint, child->pid()));
  EXPECT_GT(ticks(), early + 100);
}

// The named copy for the report once hid the profile that had to be kept.
TEST_F(SessionRun, KeepsAProfileThatWasReportedBeforeTheEnd) {
  if (!start())
    GTEST_SKIP() << "sampling is refused here";
  const auto first = run_to_stop(0.3);
  const uint64_t before = ticks();
  EXPECT_GT(before, 100u);
  push(event_of(EventKind::killed, first->pid()));
  EXPECT_EQ(ticks(), before);
  const auto second = run_to_stop(0.05);
  const uint64_t after = ticks();
  EXPECT_LT(after, before);
  push(event_of(EventKind::exited, second->pid()));
  EXPECT_EQ(ticks(), after);
  auto diff = session.command("diff previous --json");
  ASSERT_TRUE(diff) << diff.error().text();
  const auto json = nlohmann::json::parse(diff.value());
  EXPECT_EQ(json["totals"]["before"], before);
  EXPECT_EQ(json["totals"]["after"], after);
}

TEST_F(SessionRun, ANewProcessReplacesOneWhoseEndWasNotReported) {
  if (!start())
    GTEST_SKIP() << "sampling is refused here";
  const auto first = run_to_stop(0.3);
  const uint64_t before = ticks();
  const auto second = run_to_stop(0.05); // `resumed` with another pid
  EXPECT_LT(ticks(), before);
  EXPECT_TRUE(session.command("diff previous"));
}

// Users would not notice these ends if the session did not report them.
TEST_F(SessionRun, ReportsEndsThatTheDebuggerDoesNotShow) {
  for (const auto &[kind, pid, why] :
       {std::tuple{EventKind::detached, 0, "detached"}, std::tuple{EventKind::target, 1, "gone"},
        std::tuple{EventKind::killed, 0, ""}}) {
    if (!start())
      GTEST_SKIP() << "sampling is refused here";
    const auto child = run_to_stop(0.05);
    EXPECT_EQ(session.sampled_pid(), child->pid());
    const std::string kept = std::to_string(ticks());
    const auto reply = session.event(event_of(kind, pid));
    ASSERT_TRUE(reply) << reply.error().text();
    EXPECT_EQ(reply.value(), *why == 0 ? ""
                                       : "Sampling of process " + std::to_string(child->pid()) +
                                             " ended: " + why + "; " + kept + " ticks are kept.\n");
    EXPECT_EQ(session.sampled_pid(), 0);
    if (kind != EventKind::detached) { // a detach cancels `start`
      ASSERT_TRUE(session.command("stop"));
    }
    push(event_of(EventKind::target));
  }
}

TEST_F(SessionRun, SamplesUntilTheTimeOfForIsOver) {
  if (!start("start --for 1h --continue"))
    GTEST_SKIP() << "sampling is refused here";
  const std::string row = "\nends_after 3600 s of running time (the program runs on)\n";
  EXPECT_NE(session.command("status")->find(row), std::string::npos);
  const auto child = std::make_unique<Child>([] { spin_for(0.05); });
  EXPECT_EQ(session.limit_left_ns(), UINT64_MAX);
  push(event_of(EventKind::resumed, child->pid()));
  const uint64_t left = session.limit_left_ns();
  EXPECT_LE(left, 3'600'000'000'000u);
  EXPECT_EQ(session.limit_reached().value(), "");
  child->go();
  child->wait_end();
  EXPECT_LT(session.limit_left_ns(), left - 50'000'000);
  push(event_of(EventKind::breakpoint, child->pid()));
  EXPECT_EQ(session.limit_left_ns(), UINT64_MAX);
  EXPECT_EQ(session.sampled_pid(), child->pid());
  push(event_of(EventKind::resumed, child->pid()));
  EXPECT_LT(session.limit_left_ns(), left - 50'000'000);
  ASSERT_TRUE(session.command("stop"));
  EXPECT_EQ(session.limit_left_ns(), UINT64_MAX);
  EXPECT_EQ(session.command("status")->find("ends_after"), std::string::npos);
}

TEST_F(SessionRun, EndsWhenTheTimeOfForIsOver) {
  enum class How : uint8_t { stops, runs_on, cannot_stop };
  for (const How how : {How::stops, How::runs_on, How::cannot_stop}) {
    if (!start(how == How::runs_on ? "start --for 50ms --continue" : "start --for 50ms"))
      GTEST_SKIP() << "sampling is refused here";
    debugger.taken();
    debugger.errors.clear();
    if (how != How::stops)
      debugger.refuse(FakeDebugger::Call::halt, "it is busy");
    const auto text_of = [&](const Result<std::string> &text) {
      return text ? *text : text.error().text();
    };
    const auto child = std::make_unique<Child>([] { spin_for(0.1); });
    push(event_of(EventKind::resumed, child->pid()));
    child->go();
    child->wait_end();
    EXPECT_EQ(session.limit_left_ns(), 0u);
    std::string said = text_of(session.limit_reached());
    if (how == How::stops) {
      EXPECT_EQ(said, "");
      EXPECT_EQ(session.limit_left_ns(), UINT64_MAX); // the process is about to stop
      EXPECT_EQ(session.sampled_pid(), child->pid());
      said = text_of(session.event(event_of(EventKind::signal, child->pid())));
    }
    EXPECT_EQ(debugger.taken().size(), how == How::runs_on ? 0u : 1u);
    const std::string why = how == How::cannot_stop ? "The program runs on: it is busy.\n" : "";
    EXPECT_TRUE(said.starts_with(why + "Sampling ended after 50.0 ms of running time.\n")) << said;
    EXPECT_NE(said.find(" ticks in total\n"), std::string::npos) << said;
    EXPECT_EQ(session.sampled_pid(), 0);
    EXPECT_FALSE(session.is_armed());
    push(event_of(EventKind::target));
  }
}

TEST_F(SessionRun, ContinuesCountsPartsAndClears) {
  if (!start("start --frequency 2000"))
    GTEST_SKIP() << "sampling is refused here";
  const auto child = run_to_stop(0.1);
  const std::string again =
      "profile start: process " + std::to_string(child->pid()) + " is already being sampled";
  EXPECT_EQ(refusal(session, "start"), again);
  EXPECT_EQ(refusal(session, "start --frequency 4000"),
            again + " at 2000 Hz; `profile stop` first to change options");
  const auto parts = session.table(By::part, SortBy::self);
  ASSERT_TRUE(parts);
  ASSERT_EQ(parts->rows.size(), 1u);
  EXPECT_EQ(parts->rows[0].name, "breakpoint 0");
  const TemporaryFolder folder;
  for (const char *name : {"a.callgrind", "a.folded"}) {
    const auto dumped = session.command("dump " + folder / name);
    ASSERT_TRUE(dumped) << dumped.error().text();
    EXPECT_TRUE(dumped->starts_with("Wrote " + std::to_string(ticks()) + " ticks to "));
  }
  const std::string out = folder / "p.callgrind";
  const std::string wrote =
      "Wrote " + std::to_string(ticks()) + " ticks in 1 part to " + out + ".1 (callgrind).\n";
  EXPECT_EQ(session.command("dump --parts " + out)->substr(0, wrote.size()), wrote);
  EXPECT_TRUE(std::filesystem::exists(out + ".1"));
  EXPECT_EQ(session.command("dump --parts " + out)->find("earlier"), std::string::npos);
  folder.put("p.callgrind.2", "old");
  EXPECT_NE(
      session.command("dump --parts " + out)->find("\n" + out + ".2 is of an earlier dump.\n"),
      std::string::npos);
  folder.put("p.callgrind.3", "old");
  EXPECT_NE(session.command("dump --parts " + out)
                ->find("\n" + out + ".2 … " + out + ".3 are of an earlier dump.\n"),
            std::string::npos);
  const auto diff = session.command("diff --json " + folder / "a.folded"); // with itself
  ASSERT_TRUE(diff) << diff.error().text();
  const auto same = nlohmann::json::parse(diff.value());
  for (const auto &row : same["functions"])
    EXPECT_EQ(row["before"], row["after"]) << row;
  EXPECT_TRUE(refusal(session, "dump /dev/full --format folded").find("ENOSPC") !=
              std::string::npos);
  ASSERT_TRUE(session.command("clear"));
  EXPECT_EQ(refusal(session, "report"),
            "profile report: no samples yet: the program has not run while it was sampled");
  ASSERT_TRUE(session.command("stop"));
  EXPECT_TRUE(session.command("status")->starts_with("state stopped\n"));
}

// The message states the reason why there are no samples.
TEST_F(SessionRun, ReportsWhyThereAreNoSamples) {
  if (!start("start --frequency 1"))
    GTEST_SKIP() << "sampling is refused here";
  EXPECT_EQ(refusal(session, "report"),
            "nothing was collected yet: since `profile start` no process has run");
  const auto child = run_to_stop(0.05);
  EXPECT_NE(refusal(session, "dump x.folded").find("a clock of 1 Hz ticks 0 times"),
            std::string::npos);
  ASSERT_TRUE(session.command("stop"));

  Child sleeper([] { ::sleep(30); });
  while (process_status(std::to_string(sleeper.pid()))->state != 'S') // it does some work first
    ::usleep(1000);
  push(event_of(EventKind::target, sleeper.pid()));
  ASSERT_TRUE(start("start --frequency 1000"));
  push(event_of(EventKind::resumed, sleeper.pid()));
  ::usleep(50'000);
  push(event_of(EventKind::signal, sleeper.pid()));
  EXPECT_NE(refusal(session, "report").find("used only 0.00 s of CPU time"), std::string::npos);
}

TEST_F(SessionRun, ReportsItsState) {
  const auto state = [&] {
    const std::string text = session.command("status").value();
    return text.substr(0, text.find('\n'));
  };
  if (!start())
    GTEST_SKIP() << "sampling is refused here";
  EXPECT_EQ(state(), "state armed (begins with the next process)");
  Child child([] { spin_for(0.01); });
  const std::string pid = std::to_string(child.pid());
  push(event_of(EventKind::target, child.pid())); // attached, but not resumed yet
  EXPECT_EQ(state(), "state armed (begins when process " + pid + " runs on)");
  push(event_of(EventKind::resumed, child.pid()));
  EXPECT_EQ(state(), "state sampling");
  child.go();
  child.wait_end();
  for (int i = 0; i < 1000 && state() == "state sampling"; ++i)
    ::usleep(10'000);
  EXPECT_EQ(state(), "state ended (the process is gone)");
  push(event_of(EventKind::exited));
  EXPECT_EQ(state(), "state armed (begins with the next process)");
  ASSERT_TRUE(session.command("stop"));
  EXPECT_EQ(state(), "state stopped");
}

} // namespace
} // namespace tally::session_state_test
