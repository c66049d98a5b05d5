// Tests the requests that backends make to a front end, and the effects of its answers.
#include <array>
#include <chrono>
#include <thread>

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "collect_child.h"
#include "session/session.h"
#include "support/clock.h"

namespace tally::session_backends_test {
namespace {

class SessionRequests : public testing::Test {
protected:
  SessionRequests() { ::setenv("TALLY_CACHE_DIR", "", 1); }

  DebugEvent event_of(EventKind kind, pid_t pid = 0) const {
    DebugEvent event;
    event.kind = kind;
    event.target = target;
    event.pid = pid;
    return event;
  }
  // Answers each request with its text in `refusals`, or with ""; symbols get invented names.
  Result<Reply> perform(Result<Reply> reply) {
    while (reply && reply->request.kind != RequestKind::none) {
      std::vector<std::string> answer;
      if (reply->request.kind != RequestKind::progress &&
          reply->request.kind != RequestKind::symbols) {
        asked.push_back(reply->request);
        const auto at = refusals.find(reply->request.kind);
        answer.push_back(at == refusals.end() ? "" : at->second);
      } else if (reply->request.kind == RequestKind::symbols) {
        for (const uint64_t address : reply->request.addresses)
          answer.push_back(address % 2 != 0 ? "inner\tin.h\t3\nouter\tout.c\t0"
                                            : "plain\tout.c\t9");
      }
      reply = session.answer(answer);
    }
    return reply;
  }
  std::string text_of(Result<Reply> reply) {
    reply = perform(std::move(reply));
    return reply ? reply->text : "error: " + reply.error().text();
  }
  std::vector<RequestKind> taken() {
    std::vector<RequestKind> kinds;
    for (const Request &request : std::exchange(asked, {}))
      kinds.push_back(request.kind);
    return kinds;
  }
  std::string status(std::string_view name) {
    const std::string text = text_of(session.command("status"));
    const size_t at = text.find("\n" + std::string(name) + " ");
    const size_t begin = at + name.size() + 2;
    return at == text.npos ? "" : text.substr(begin, text.find('\n', begin) - begin);
  }

  TargetKind target = TargetKind::native;
  std::map<RequestKind, std::string> refusals;
  std::vector<Request> asked;
  Session session;
};

using Kinds = std::vector<RequestKind>;

TEST_F(SessionRequests, InterruptsARemoteProcess) {
  target = TargetKind::remote;
  text_of(session.event(event_of(EventKind::target, 42)));
  const std::string said = text_of(session.command("start"));
  EXPECT_TRUE(said.starts_with("Sampling process 42: interrupt (auto; perf: ")) << said;
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_TRUE(asked[0].signals.empty()); // interrupts as Ctrl-C does
  EXPECT_EQ(asked[0].words, std::vector<std::string>{"stacks"});
  EXPECT_EQ(taken(), Kinds{RequestKind::interrupt});
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
  text_of(session.tick(seen));
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
  EXPECT_EQ(taken(), Kinds{RequestKind::interrupt_end});
  text_of(session.event(event_of(EventKind::exited)));
  EXPECT_EQ(taken(), Kinds{RequestKind::signals_restore});
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
    text_of(session.tick(seen));
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
  auto reply = session.tick(seen);
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->request.kind, RequestKind::symbols);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_EQ(session.tick_interrupt(), 0u); // the debugger still looks up names
  text_of(std::move(reply));
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
  refusals[RequestKind::interrupt] = "not in non-stop mode";
  text_of(session.event(event_of(EventKind::target, 42)));
  EXPECT_EQ(text_of(session.command("start --backend interrupt")),
            "error: --backend interrupt: not in non-stop mode");
  EXPECT_TRUE(text_of(session.command("start"))
                  .starts_with("error: profile start: no backend works here: "));
  EXPECT_EQ(session.sampled_pid(), 0);
  EXPECT_TRUE(text_of(session.command("status")).starts_with("state idle\n"));
}

// A `start` that was abandoned must neither continue in a later command nor keep a later `start`
// from asking again.
TEST_F(SessionRequests, UndoesAStartThatWasAbandoned) {
  target = TargetKind::remote;
  text_of(session.event(event_of(EventKind::target, 42)));
  for (const bool by_user : {true, false}) {
    const auto reply = session.command("start --backend interrupt");
    ASSERT_TRUE(reply);
    EXPECT_EQ(reply->request.kind, RequestKind::interrupt);
    if (by_user) {
      EXPECT_EQ(session.cancel().error().code, ErrorCode::cancelled);
    }
    EXPECT_TRUE(text_of(session.command("status")).starts_with("state idle\n"));
    EXPECT_EQ(taken(), Kinds{RequestKind::interrupt_end});
    EXPECT_EQ(session.sampled_pid(), 0);
  }
  text_of(session.command("start --backend interrupt"));
  EXPECT_EQ(taken(), Kinds{RequestKind::interrupt});
  EXPECT_EQ(session.sampled_pid(), 42);
  text_of(session.command("stop"));
}

TEST_F(SessionRequests, EndsARegionThatWasAbandoned) {
  target = TargetKind::remote;
  text_of(session.event(event_of(EventKind::target, 42)));
  const auto reply = session.command("region parse");
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->request.kind, RequestKind::region);
  EXPECT_EQ(session.cancel().error().code, ErrorCode::cancelled);
  text_of(session.command("status"));
  EXPECT_EQ(taken(), Kinds{RequestKind::region_end});
  refusals[RequestKind::region] = "1 parse";
  EXPECT_EQ(text_of(session.command("region parse")),
            "error: profile region: there is no function or location 'parse'");
  EXPECT_EQ(taken(), Kinds{RequestKind::region});
}

TEST_F(SessionRequests, WordsTheReasonsWhyARegionIsNotWatched) {
  target = TargetKind::remote;
  text_of(session.event(event_of(EventKind::target, 42)));
  for (const auto &[answer, message] : std::vector<std::pair<std::string, std::string>>{
           {"1 parse", "there is no function or location 'parse'"},
           {"2 parse", "all copies of parse are inlined and do not return: name two locations"},
           {"3 *0x10", "*0x10 is not the entry of a function: name a function or two locations"},
           {"4 1 parse", "1 parse"},
           {"4 no memory", "no memory"},
           {"its own words", "its own words"},
       }) {
    refusals[RequestKind::region] = answer;
    EXPECT_EQ(text_of(session.command("region parse")), "error: profile region: " + message);
  }
}

// What is still to be undone after an event is undone although the look-up of names is cancelled.
TEST_F(SessionRequests, UndoesWhatACancelledEventLeaves) {
  target = TargetKind::remote;
  text_of(session.event(event_of(EventKind::target, 42)));
  text_of(session.command("start --backend interrupt"));
  text_of(session.event(event_of(EventKind::resumed, 42)));
  EXPECT_EQ(session.tick_interrupt(), 1u);
  EXPECT_EQ(session.tick_take(0), InterruptClock::Stop::ours);
  const std::array<uint64_t, 1> pcs{0x1000};
  const std::array seen{ThreadStack{1, "main", pcs}};
  text_of(session.tick(seen));
  text_of(session.event(event_of(EventKind::breakpoint, 42)));
  taken();
  auto stopped = session.command("stop");
  ASSERT_TRUE(stopped);
  EXPECT_NE(stopped->request.kind, RequestKind::none);
  EXPECT_EQ(session.cancel().error().code, ErrorCode::cancelled);
  text_of(session.command("status"));
  EXPECT_EQ(taken(), Kinds{RequestKind::interrupt_end});
}

TEST_F(SessionRequests, WordsTheReasonsWhyTheAgentIsNotLoaded) {
  Child child([] { ::sleep(30); });
  text_of(session.event(event_of(EventKind::target, child.pid())));
  if (const auto tried = session.command("start --backend agent"); !tried)
    GTEST_SKIP() << tried.error().text();
  const std::array<std::pair<std::string, std::string>, 7> messages{{
      {"1 ", "the process is running: stop it first"},
      {"2", "the program has no dlopen: it is static, or its libraries are not loaded yet"},
      {"3 7 the dynamic loader",
       "thread 7 is stopped inside the dynamic loader: a call from there could hang; let it run to "
       "another location first"},
      {"4 no memory", "cannot be loaded: no memory"},
      {"6 -3", "the agent refused to start (-3)"},
      {"7 is unknown", "7 is unknown"},
      {"its own words", "its own words"},
  }};
  for (const auto &[answer, message] : messages) {
    refusals[RequestKind::load] = answer;
    EXPECT_EQ(text_of(session.command("start --backend agent")),
              "error: --backend agent: " + message);
  }
  refusals[RequestKind::load] = "5 ";
  asked.clear();
  const std::string said = text_of(session.command("start --backend agent"));
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(said, "error: --backend agent: cannot be loaded: " + asked[0].words[0] +
                      " has no tally_agent_start");
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
  EXPECT_EQ(taken(), Kinds{RequestKind::preload});

  // A process that did not load the agent is reported, and the next run tries again.
  Child child([] {});
  text_of(session.event(event_of(EventKind::resumed, child.pid())));
  EXPECT_EQ(taken(), Kinds{RequestKind::preload_end});
  child.go();
  child.wait_end();
  const std::string ended = text_of(session.event(event_of(EventKind::exited)));
  EXPECT_TRUE(ended.starts_with("Nothing was sampled: ")) << ended;
  EXPECT_EQ(taken(), Kinds{RequestKind::preload});
  text_of(session.command("stop"));
  EXPECT_EQ(taken(), (Kinds{RequestKind::preload_end, RequestKind::signals_restore}));
}

TEST_F(SessionRequests, ReportsThatTheAgentIsRefused) {
  refusals[RequestKind::preload] = "no wrapper fits";
  const std::string said = text_of(session.command("start --backend agent"));
  EXPECT_TRUE(said.starts_with("error: --backend agent: ")) << said;
  EXPECT_TRUE(text_of(session.command("status")).starts_with("state idle\n"));

  refusals[RequestKind::load] = "it stands inside of malloc()";
  Child child([] { ::sleep(30); });
  text_of(session.event(event_of(EventKind::target, child.pid())));
  const std::string standing = text_of(session.command("start --backend agent"));
  EXPECT_TRUE(standing.starts_with("error: --backend agent: ")) << standing;
  EXPECT_EQ(session.sampled_pid(), 0);
  // `auto` does not even request it, because that would load it into a process that already exists.
  asked.clear();
  text_of(session.command("start"));
  for (const RequestKind kind : taken())
    EXPECT_NE(kind, RequestKind::load);
  text_of(session.command("stop"));
}

} // namespace
} // namespace tally::session_backends_test
