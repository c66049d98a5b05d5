#include <gtest/gtest.h>

#include "fake_debugger.h"
#include "session/session.h"
#include "temporary.h"

namespace tally::session_break_and_list_test {
namespace {

class BreakAndList : public testing::Test {
protected:
  BreakAndList() {
    folder.put("a.callgrind", "events: ticks\nob=p\nfl=/src/a.c\nfn=hot\n3 10\n5 20\nfn=cold\n9 4\n"
                              "fn=nowhere\n0 1\n");
    folder.put("b.callgrind", "events: ticks\nob=p\nfl=/src/b.c\nfn=other\n7 10\n");
    load("a");
  }
  void load(const std::string &name) {
    const auto reply = session.command("load " + (folder / (name + ".callgrind")));
    ASSERT_TRUE(reply) << reply.error().text();
  }
  // Returns "KIND FILE LINE" of what the debugger is asked for; else the error.
  std::string asked(const std::string &line) {
    debugger.asked.clear();
    const auto reply = session.command(line);
    if (!reply)
      return reply.error().text();
    EXPECT_EQ(*reply, "");
    EXPECT_EQ(debugger.asked.size(), 1u);
    const FakeDebugger::Asked &one = debugger.asked.front();
    const std::string kind = one.call == FakeDebugger::Call::set_breakpoint ? "break"
                             : one.call == FakeDebugger::Call::list_source  ? "list"
                                                                            : "?";
    return kind + " " + one.words.at(0) + " " + one.words.at(1);
  }

  TemporaryFolder folder;
  FakeDebugger debugger;
  Session session{debugger};
};

TEST_F(BreakAndList, GoToTheHottestLineOfARow) {
  EXPECT_EQ(asked("break 1"),
            "profile break: no report was shown yet: `profile report` numbers its rows");
  ASSERT_TRUE(session.command("report"));
  EXPECT_EQ(asked("break 1"), "break /src/a.c 5");
  EXPECT_EQ(asked("list 1"), "list /src/a.c 5");
  EXPECT_EQ(asked("list 2"), "list /src/a.c 9");
  EXPECT_EQ(asked("list 3"), "profile list: no source line is known for row 3 (nowhere)");
  ASSERT_TRUE(session.command("report --by line --sort inclusive"));
  EXPECT_EQ(asked("break 2"), "break /src/a.c 3");
}

TEST_F(BreakAndList, KeepRowNumbersUntilAnotherTableIsShown) {
  ASSERT_TRUE(session.command("report --limit 1"));
  EXPECT_EQ(asked("break 2"), "profile break: there is no row 2: the last report showed 1 to 1");
  load("b"); // not shown yet
  ASSERT_TRUE(session.command("report --json"));
  EXPECT_EQ(asked("break 1"), "break /src/a.c 5");
  ASSERT_TRUE(session.command("report"));
  EXPECT_EQ(asked("break 1"), "break /src/b.c 7");
  ASSERT_TRUE(session.command("clear"));
  EXPECT_EQ(asked("list 1"),
            "profile list: no report was shown yet: `profile report` numbers its rows");
}

TEST_F(BreakAndList, RequireAddressesForInstructions) {
  EXPECT_TRUE(asked("annotate hot --asm").starts_with("hot: has no addresses"));
  EXPECT_TRUE(asked("annotate a.c:5 --asm").starts_with("a.c:5: the profile has no such function"));
  EXPECT_EQ(session.complete("annotate --a"), std::vector<std::string>{"--asm"});
}

TEST_F(BreakAndList, RefuseRowsAndNumbersWithoutALocation) {
  ASSERT_TRUE(session.command("report --by object"));
  EXPECT_EQ(asked("break 1"),
            "profile break: row 1 is an object: only rows of functions and lines have a source "
            "location");
  ASSERT_TRUE(session.command("report"));
  for (const char *number : {"0", "-1", "x", "1x", "4294967296"})
    EXPECT_FALSE(session.command(std::string("break ") + number)) << number;
  EXPECT_TRUE(asked("break").starts_with("profile break: expected N"));
  debugger.refuse(FakeDebugger::Call::list_source, "No source file named a.c.");
  EXPECT_EQ(asked("list 1"), "/src/a.c:5: No source file named a.c.");
}

} // namespace
} // namespace tally::session_break_and_list_test
