// Tests what is shown of a loaded profile, without sampling a program.
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "fake_debugger.h"
#include "formats/formats.h"
#include "random_pcs.h"
#include "session/session.h"
#include "temporary.h"

namespace tally::session_loaded_test {
namespace {

class Loaded : public testing::Test {
protected:
  std::string text(std::string_view line) {
    const auto reply = session.command(line);
    EXPECT_TRUE(reply) << line << ": " << reply.error().text();
    return reply ? reply.value() : std::string();
  }
  std::string refusal(std::string_view line) {
    const auto reply = session.command(line);
    EXPECT_FALSE(reply) << line << ": " << reply.value();
    return reply ? std::string() : reply.error().text();
  }
  void load(const std::string &name, const std::string &bytes) {
    text("load " + folder.put(name, bytes));
  }

  TemporaryFolder folder;
  FakeDebugger debugger;
  Session session{debugger};
};

TEST_F(Loaded, SelectsOneThreadOrPart) {
  load("a.callgrind",
       "events: Ir\npart: 1\nthread: 1\nfl=f.c\nfn=main\n3 7\n"
       "part: 1\nthread: 2\nfl=f.c\nfn=main\n3 30\npart: 2\nthread: 1\nfl=f.c\nfn=main\n4 100\n");
  const auto total = [&](const std::string &line) {
    return nlohmann::json::parse(text(line))["totals"][0].get<uint64_t>();
  };
  for (const char *command : {"report --json", "tree --json"}) {
    EXPECT_EQ(total(command), 137u);
    EXPECT_EQ(total(std::string(command) + " --thread 1"), 107u);
    EXPECT_EQ(total(std::string(command) + " --part 1"), 37u);
    EXPECT_EQ(total(std::string(command) + " --part 1 --thread 2"), 30u);
  }
  EXPECT_NE(text("annotate f.c --part 2").find("100"), std::string::npos);
  EXPECT_EQ(refusal("report --thread 3"), "--thread: there is no thread '3' (there are: 1, 2)");
  EXPECT_EQ(refusal("tree --part 9"), "--part: there is no part '9' (there are: 1, 2)");
  EXPECT_EQ(refusal("report --part x"),
            "--part: expected a whole number from 0 to 4294967295, found 'x'");
  using Texts = std::vector<std::string>;
  EXPECT_EQ(session.complete("report --thread "), (Texts{"1", "2"}));
  EXPECT_EQ(session.complete("dump x --part "), (Texts{"1", "2"}));

  text("dump " + folder / "one.callgrind" + " --thread 2");
  text("load " + folder / "one.callgrind");
  EXPECT_EQ(total("report --json"), 30u);
}

TEST_F(Loaded, NoNameControlsTheTerminal) {
  const std::string name = "\033[31m\033]0;x\007",
                    path = folder.put("a.callgrind", "events: I" + name + "\nob=" + name + "\nfl=" +
                                                         name + "\nfn=" + name + "\n3 7\n");
  std::string all = text("load " + path);
  for (const char *line : {"report", "tree", "report --by object", "status", "report --json"})
    all += text(line);
  EXPECT_NE(all.find("I?[31m?]0;x?"), std::string::npos) << all;
  EXPECT_EQ(all.find('\033'), std::string::npos) << all;
  EXPECT_EQ(all.find('\007'), std::string::npos) << all;
}

TEST_F(Loaded, ComparesLinesAndObjects) {
  load("a.callgrind", "events: Ir\nob=o\nfl=f.c\nfn=main\n3 10\n4 30\n");
  const std::string before =
      folder.put("b.callgrind", "events: Ir\nob=o\nfl=f.c\nfn=main\n3 30\n4 10\n");
  EXPECT_NE(text("diff " + before).find("nothing changed"), std::string::npos);
  EXPECT_NE(text("diff --by line " + before).find("f.c:4"), std::string::npos);
  EXPECT_NE(text("diff --by object --sort inclusive " + before).find("nothing changed"),
            std::string::npos);
}

TEST_F(Loaded, WritesDifferencesOfStacks) {
  load("a.folded", "main;f 4\nmain;g 1\n");
  const std::string before = folder.put("b.folded", "main;f 2\n"), out = folder / "d.folded";
  EXPECT_EQ(text("diff " + before + " -o " + out),
            "Wrote the difference to " + out + " (folded).\n");
  EXPECT_EQ(text("load " + out), "Loaded 2 before from " + out + " (folded).\n");
  load("a.folded", "main;f 4\nmain;g 1\n");
  text("diff " + before + " -o " + out + " --hide main");
  text("load " + out);
  EXPECT_TRUE(text("report --event after").starts_with("5 after in total"));
  EXPECT_EQ(text("tree --inverted --event after --json").find("main"), std::string::npos);
  const std::string costs = folder.put("b.callgrind", "events: ticks\nfl=f.c\nfn=main\n3 30\n");
  load("a.folded", "main;f 4\nmain;g 1\n");
  EXPECT_TRUE(refusal("diff " + costs + " -o " + out).starts_with(costs + ": needs stacks"));
  EXPECT_TRUE(refusal("diff " + before + " -o " + folder / "x").find("name a FILE.svg") !=
              std::string::npos);
}

// Profiles with addresses are shown by address; profiles of lines or functions alone are refused.
TEST_F(Loaded, ShowsHistogramsOfAddresses) {
  load("a.callgrind",
       "positions: instr line\nevents: Ir\nob=o\nfl=f.c\nfn=main\n0x10 3 10\n0x14 4 30\n");
  EXPECT_NE(text("histogram").find("40 Ir in total"), std::string::npos);
  EXPECT_NE(text("histogram main --scale 0xFFFF").find("0x14"), std::string::npos);
  load("b.callgrind", "events: Ir\nfl=f.c\nfn=main\n3 10\n");
  EXPECT_TRUE(refusal("histogram").starts_with(folder / "b.callgrind: "));
  load("c.folded", "main;f 3\n");
  EXPECT_TRUE(refusal("histogram").starts_with(folder / "c.folded: "));

  std::mt19937_64 random(5);
  PcProfile pcs = random_pcs(random);
  uint64_t ticks = 0;
  while (ticks == 0) { // one with a histogram
    pcs = random_pcs(random);
    for (const PcRange &range : pcs.histogram().ranges())
      for (const uint64_t count : range.counters)
        ticks += count;
  }
  const auto format = format_by_name("gmon");
  ASSERT_TRUE(format);
  const auto written = (*format)->write_pcs(pcs, {});
  ASSERT_TRUE(written) << written.error().text();
  load("gmon.out", written->bytes);
  EXPECT_TRUE(text("histogram").starts_with(std::to_string(ticks) + " ticks in total"));
}

} // namespace
} // namespace tally::session_loaded_test
