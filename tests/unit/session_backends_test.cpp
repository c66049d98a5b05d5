// Tests the requests that backends make to a front end, and the effects of its answers.
#include <array>
#include <chrono>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "collect_child.h"
#include "fake_debugger.h"
#include "session/session.h"
#include "support/clock.h"

namespace tally::session_backends_test {
namespace {

using Call = FakeDebugger::Call;

class SessionRequests : public testing::Test {
protected:
  SessionRequests() {
    ::setenv("TALLY_CACHE_DIR", "", 1);
    debugger.name_of = [](uint64_t address) -> std::vector<Symbolization::Named> {
      if (address % 2 != 0)
        return {{"inner", "in.h", 3}, {"outer", "out.c", 0}};
      return {{"plain", "out.c", 9}};
    };
  }

  DebugEvent event_of(EventKind kind, pid_t pid = 0) const {
    DebugEvent event;
    event.kind = kind;
    event.target = target;
    event.pid = pid;
    return event;
  }
  static std::string text_of(const Result<std::string> &reply) {
    return reply ? *reply : "error: " + reply.error().text();
  }
  void tick(std::span<const ThreadStack> stacks) { EXPECT_TRUE(session.tick(stacks)); }
  std::vector<Call> taken() { return debugger.taken(); }
  std::string status(std::string_view name) {
    const std::string text = text_of(session.command("status"));
    const size_t at = text.find("\n" + std::string(name) + " ");
    const size_t begin = at + name.size() + 2;
    return at == text.npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
  }

  TargetKind target = TargetKind::native;
  FakeDebugger debugger;
  std::vector<FakeDebugger::Asked> &asked = debugger.asked;
  Session session{debugger};
};

using Kinds = std::vector<Call>;

TEST_F(SessionRequests, InterruptsARemoteProcess) {
  target = TargetKind::remote;
  text_of(session.event(event_of(EventKind::target, 42)));
  const std::string said = text_of(session.command("start"));
  EXPECT_TRUE(said.starts_with("Sampling process 42: interrupt (auto; perf: ")) << said;
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].signals, std::vector<int32_t>{0}); // interrupts as Ctrl-C does
  EXPECT_EQ(asked[0].words, std::vector<std::string>{"stacks"});
  EXPECT_EQ(taken(), Kinds{Call::interrupt});
  EXPECT_EQ(session.tick_interrupt(), 0u); // it is not running

  const uint64_t before = now_ns();
  text_of(session.event(event_of(EventKind::resumed, 42)));
  const uint64_t left = session.tick_wait_ns();
  EXPECT_GE(left + (now_ns() - before), 5'000'000u); // 100 Hz, less the jitter
  EXPECT_EQ(session.tick_interrupt(), 1u);
  EXPECT_EQ(session.tick_interrupt(), 0u); // the stop has not arrived yet
  EXPECT_EQ(session.tick_take(0), InterruptClock::Stop::ours);
  EXPECT_EQ(session.tick_take(0), InterruptClock::Stop::theirs); // the user's Ctrl-C
  const std::array<uint64_t, 2> first{0x1000, 0x2001}, second{0x3000, 0x2001};
  const std::array seen{ThreadStack{1, "main", first}, ThreadStack{2, "worker", second}};
  tick(seen);
  text_of(session.event(event_of(EventKind::breakpoint, 42)));
  EXPECT_EQ(session.tick_interrupt(), 0u);

  EXPECT_EQ(status("samples"), "2");
  EXPECT_EQ(status("threads"), "2");
  EXPECT_TRUE(status("clock").starts_with("wall "));
  EXPECT_EQ(status("cpu"), ""); // no clock has counted it
  const auto table = session.table(By::function, SortBy::inclusive);
  ASSERT_TRUE(table) << table.error().text();
  std::map<std::string, uint64_t> inclusive;
  for (const FlatRow &row : table->rows)
    inclusive[row.name] = row.inclusive[0];
  EXPECT_EQ(inclusive, (std::map<std::string, uint64_t>{{"inner", 2}, {"outer", 2}, {"plain", 2}}));

  // Interrupts that were sent before a stop by the user do not count.
  text_of(session.event(event_of(EventKind::resumed, 42)));
  EXPECT_EQ(session.tick_interrupt(), 1u);
  text_of(session.event(event_of(EventKind::breakpoint, 42)));
  EXPECT_EQ(session.tick_take(0), InterruptClock::Stop::stale);
  text_of(session.command("stop"));
  EXPECT_EQ(taken(), Kinds{Call::end_interrupt});
  text_of(session.event(event_of(EventKind::exited)));
  EXPECT_EQ(taken(), Kinds{Call::restore_signals});
}

// Each process of an emulator may have the same id, and so has firmware that is written again.
TEST_F(SessionRequests, CountsEachRemoteProcessForItself) {
  const std::array<uint64_t, 1> pcs{0x1000};
  const std::array seen{ThreadStack{1, "main", pcs}};
  target = TargetKind::remote;
  text_of(session.event(event_of(EventKind::target, 42)));
  text_of(session.command("start"));
  for (const EventKind ending : {EventKind::exited, EventKind::target, EventKind::detached}) {
    text_of(session.event(event_of(EventKind::target, 42)));
    text_of(session.event(event_of(EventKind::resumed, 42)));
    EXPECT_EQ(session.tick_interrupt(), 1u);
    EXPECT_EQ(session.tick_take(0), InterruptClock::Stop::ours);
    tick(seen);
    EXPECT_EQ(status("samples"), "1");
    text_of(session.event(event_of(ending)));
    EXPECT_EQ(session.sampled_pid(), 0);
  }
}

// A look-up of symbols belongs to the round in which it is requested. One slow round does not delay
// the next run.
TEST_F(SessionRequests, CountsARoundWithALookUpOnce) {
  target = TargetKind::remote;
  text_of(session.event(event_of(EventKind::target, 42)));
  text_of(session.command("start"));
  text_of(session.event(event_of(EventKind::resumed, 42)));
  EXPECT_EQ(session.tick_interrupt(), 1u);
  EXPECT_EQ(session.tick_take(0), InterruptClock::Stop::ours);
  const std::array<uint64_t, 1> pcs{0x1000};
  const std::array seen{ThreadStack{1, "main", pcs}};
  debugger.during = [&](Call call) {
    EXPECT_EQ(call, Call::symbols);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    EXPECT_EQ(session.tick_interrupt(), 0u); // the debugger still looks up names
  };
  tick(seen);
  debugger.during = [](Call) {};
  EXPECT_GT(session.tick_wait_ns(), 100'000'000u); // four times the round
  text_of(session.event(event_of(EventKind::breakpoint, 42)));
  text_of(session.event(event_of(EventKind::resumed, 42)));
  EXPECT_LE(session.tick_wait_ns(), 15'000'000u);
}

TEST_F(SessionRequests, SignalsEachThreadOfALocalProcess) {
  Child child([] { ::sleep(30); });
  text_of(session.event(event_of(EventKind::target, child.pid())));
  EXPECT_TRUE(text_of(session.command("start --backend interrupt --stacks none"))
                  .starts_with("Sampling process "));
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].signals, std::vector<int32_t>{InterruptClock::free_signal(child.pid())});
  EXPECT_EQ(asked[0].words, std::vector<std::string>{"pcs"});
  EXPECT_EQ(session.tick_take(child.pid()), InterruptClock::Stop::theirs);
  text_of(session.event(event_of(EventKind::resumed, child.pid())));
  child.go();
  // fork() may delay signals for a while.
  size_t sent = 0;
  for (int i = 0; i < 5000 && sent == 0; ++i) {
    sent = session.tick_interrupt();
    ::usleep(1000);
  }
  EXPECT_EQ(sent, 1u);
  EXPECT_EQ(session.tick_take(child.pid()), InterruptClock::Stop::ours);
  text_of(session.event(event_of(EventKind::signalled)));
}

TEST_F(SessionRequests, ReportsAFrontThatCannotInterrupt) {
  target = TargetKind::remote;
  debugger.refuse(Call::interrupt, "not in non-stop mode");
  text_of(session.event(event_of(EventKind::target, 42)));
  EXPECT_EQ(text_of(session.command("start --backend interrupt")),
            "error: --backend interrupt: not in non-stop mode");
  EXPECT_TRUE(text_of(session.command("start"))
                  .starts_with("error: profile start: no backend works here: "));
  EXPECT_EQ(session.sampled_pid(), 0);
  EXPECT_TRUE(text_of(session.command("status")).starts_with("state idle\n"));
}

// A `start` that the user interrupts must neither go on in a later command nor keep a later `start`
// from asking again.
TEST_F(SessionRequests, UndoesAStartThatIsInterrupted) {
  target = TargetKind::remote;
  text_of(session.event(event_of(EventKind::target, 42)));
  debugger.interrupt_call(Call::interrupt);
  EXPECT_EQ(text_of(session.command("start --backend interrupt")),
            "error: interrupted; what was collected is kept");
  EXPECT_EQ(taken(), (Kinds{Call::interrupt, Call::end_interrupt}));
  EXPECT_TRUE(text_of(session.command("status")).starts_with("state idle\n"));
  EXPECT_EQ(session.sampled_pid(), 0);
  debugger.errors.clear();
  text_of(session.command("start --backend interrupt"));
  EXPECT_EQ(taken(), Kinds{Call::interrupt});
  EXPECT_EQ(session.sampled_pid(), 42);
  text_of(session.command("stop"));
}

TEST_F(SessionRequests, EndsARegionThatIsInterrupted) {
  target = TargetKind::remote;
  text_of(session.event(event_of(EventKind::target, 42)));
  debugger.interrupt_call(Call::watch_region);
  EXPECT_EQ(session.command("region parse").error().code, ErrorCode::cancelled);
  EXPECT_EQ(taken(), (Kinds{Call::watch_region, Call::end_region}));
  debugger.refuse(Call::watch_region, "there is no function or location 'parse'");
  EXPECT_EQ(text_of(session.command("region parse")),
            "error: profile region: there is no function or location 'parse'");
  EXPECT_EQ(taken(), Kinds{Call::watch_region});
}

// Nobody can repeat an event: what it asks for is asked once more, and is undone if that is in
// vain, too.
TEST_F(SessionRequests, AsksOnceMoreInAnEventThatIsInterrupted) {
  target = TargetKind::remote;
  text_of(session.command("start --backend interrupt"));
  text_of(session.event(event_of(EventKind::target)));
  text_of(session.command("stop"));
  for (const bool twice : {false, true}) {
    target = TargetKind::native;
    text_of(session.event(event_of(EventKind::target)));
    text_of(session.command("start --backend interrupt"));
    target = TargetKind::remote;
    taken();
    size_t calls = 0;
    debugger.interrupt_call(Call::interrupt);
    debugger.during = [&](Call call) {
      if (call == Call::interrupt && ++calls == 2 && !twice)
        debugger.errors.clear();
    };
    const std::string said = text_of(session.event(event_of(EventKind::resumed, 42)));
    debugger.during = [](Call) {};
    debugger.errors.clear();
    Kinds kinds{Call::end_interrupt, Call::interrupt, Call::interrupt};
    if (twice)
      kinds.push_back(Call::end_interrupt);
    EXPECT_EQ(taken(), kinds);
    EXPECT_EQ(session.sampled_pid(), twice ? 0 : 42);
    // The target is another one than at `start`.
    EXPECT_TRUE(said.starts_with(twice ? "error: interrupted; what was collected is kept"
                                       : "Sampling process 42: interrupt, "))
        << said;
    text_of(session.event(event_of(EventKind::exited)));
    text_of(session.command("stop"));
  }
}

// What the debugger reports while it does something waits until that is done.
TEST_F(SessionRequests, HandlesEventsAfterTheCallInWhichTheyCome) {
  target = TargetKind::remote;
  text_of(session.event(event_of(EventKind::target, 42)));
  bool reported = false;
  debugger.during = [&](Call call) {
    if (std::exchange(reported, true))
      return;
    EXPECT_EQ(call, Call::interrupt);
    EXPECT_EQ(session.command("status").error().code, ErrorCode::bad_state);
    EXPECT_EQ(session.table(By::function, SortBy::self).error().code, ErrorCode::bad_state);
    EXPECT_EQ(text_of(session.limit_reached()), "");
    EXPECT_EQ(text_of(session.event(event_of(EventKind::exited))), "");
    EXPECT_EQ(session.sampled_pid(), 0);
  };
  const std::string said = text_of(session.command("start --backend interrupt"));
  EXPECT_TRUE(said.starts_with("Sampling process 42: interrupt")) << said;
  EXPECT_TRUE(reported);
  EXPECT_EQ(session.sampled_pid(), 0); // the process ended
  EXPECT_TRUE(session.is_armed());
  EXPECT_EQ(taken(), Kinds{Call::interrupt});
  text_of(session.command("stop"));
  EXPECT_EQ(taken(), (Kinds{Call::end_interrupt, Call::restore_signals}));
}

TEST_F(SessionRequests, KeepsSamplesWhenALookUpIsInterrupted) {
  target = TargetKind::remote;
  text_of(session.event(event_of(EventKind::target, 42)));
  text_of(session.command("start --backend interrupt"));
  text_of(session.event(event_of(EventKind::resumed, 42)));
  EXPECT_EQ(session.tick_interrupt(), 1u);
  EXPECT_EQ(session.tick_take(0), InterruptClock::Stop::ours);
  const std::array<uint64_t, 1> pcs{0x1000};
  const std::array seen{ThreadStack{1, "main", pcs}};
  debugger.interrupt_call(Call::symbols);
  EXPECT_EQ(session.tick(seen).error().code, ErrorCode::cancelled);
  text_of(session.event(event_of(EventKind::breakpoint, 42)));
  EXPECT_EQ(session.command("report").error().code, ErrorCode::cancelled);
  debugger.errors.clear();
  const std::string report = text_of(session.command("report"));
  EXPECT_NE(report.find("plain"), std::string::npos) << report;
  EXPECT_EQ(status("samples"), "1");
  text_of(session.event(event_of(EventKind::exited)));
}

// What a command undoes is undone although the user interrupts that.
TEST_F(SessionRequests, UndoesOnceMoreIfItIsInterrupted) {
  target = TargetKind::remote;
  text_of(session.event(event_of(EventKind::target, 42)));
  text_of(session.command("start --backend interrupt"));
  text_of(session.event(event_of(EventKind::resumed, 42)));
  EXPECT_EQ(session.tick_interrupt(), 1u);
  EXPECT_EQ(session.tick_take(0), InterruptClock::Stop::ours);
  const std::array<uint64_t, 1> pcs{0x1000};
  const std::array seen{ThreadStack{1, "main", pcs}};
  tick(seen);
  text_of(session.event(event_of(EventKind::breakpoint, 42)));
  taken();
  debugger.interrupt_call(Call::end_interrupt);
  EXPECT_EQ(text_of(session.command("stop")), "");
  EXPECT_EQ(taken(), (Kinds{Call::end_interrupt, Call::end_interrupt}));
  EXPECT_FALSE(session.is_armed());
}

TEST_F(SessionRequests, PreloadsTheAgentForTheNextRun) {
  const std::string said = text_of(session.command("start --backend agent"));
  if (said.starts_with("error: "))
    GTEST_SKIP() << said;
  EXPECT_TRUE(said.starts_with("Sampling begins with the next process: agent, ")) << said;
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].words.size(), 2u);
  EXPECT_TRUE(asked[0].words[1].starts_with("TALLY_AGENT="));
  EXPECT_FALSE(asked[0].signals.empty());
  EXPECT_EQ(taken(), Kinds{Call::preload});

  // A process that did not load the agent is reported, and the next run tries again.
  Child child([] {});
  text_of(session.event(event_of(EventKind::resumed, child.pid())));
  EXPECT_EQ(taken(), Kinds{Call::end_preload});
  child.go();
  child.wait_end();
  const std::string ended = text_of(session.event(event_of(EventKind::exited)));
  EXPECT_TRUE(ended.starts_with("Nothing was sampled: ")) << ended;
  EXPECT_EQ(taken(), Kinds{Call::preload});
  text_of(session.command("stop"));
  EXPECT_EQ(taken(), (Kinds{Call::end_preload, Call::restore_signals}));
}

TEST_F(SessionRequests, ReportsThatTheAgentIsRefused) {
  debugger.refuse(Call::preload, "no wrapper fits");
  const std::string said = text_of(session.command("start --backend agent"));
  EXPECT_TRUE(said.starts_with("error: --backend agent: ")) << said;
  EXPECT_TRUE(text_of(session.command("status")).starts_with("state idle\n"));

  debugger.refuse(Call::load, "it stands inside of malloc()");
  Child child([] { ::sleep(30); });
  text_of(session.event(event_of(EventKind::target, child.pid())));
  const std::string standing = text_of(session.command("start --backend agent"));
  EXPECT_TRUE(standing.starts_with("error: --backend agent: ")) << standing;
  EXPECT_EQ(session.sampled_pid(), 0);
  // `auto` does not even request it, because that would load it into a process that already exists.
  asked.clear();
  text_of(session.command("start"));
  for (const Call kind : taken())
    EXPECT_NE(kind, Call::load);
  text_of(session.command("stop"));
}

} // namespace
} // namespace tally::session_backends_test
