// Tests the graph that Graphviz draws: its numbers are those of the call graph.
#include <csignal>
#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "formats/callgrind/read.h"
#include "formats/dot/dot.h"
#include "formats/dot/draw.h"
#include "formats/folded/folded.h"
#include "formats/formats.h"
#include "temporary.h"

namespace tally::formats_dot_test {
namespace {

CostProfile of_stacks(std::string_view folded) {
  Diagnostics diagnostics;
  auto read = folded::read(*ByteSource::of(folded, "a.folded"), diagnostics);
  EXPECT_TRUE(read);
  auto costs = aggregate(std::get<StackProfile>(*read), {});
  EXPECT_TRUE(costs);
  return std::move(*costs);
}

Written graph(const CostProfile &profile) {
  auto out = dot::write(profile, {});
  EXPECT_TRUE(out) << out.error().text();
  return std::move(*out);
}

bool has(const Written &graph, std::string_view line) {
  return graph.bytes.find(std::string(line) + "\n") != std::string::npos;
}

TEST(Dot, HasSharesOfFunctionsAndCalls) {
  const Written out =
      graph(of_stacks("main;a;b 500\nmain;a 100\nmain;b 200\nmain;tiny 1\nmain 199\n"));
  EXPECT_TRUE(has(out, "label=\"1000 ticks in total; functions from 0.5%\";")) << out.bytes;
  EXPECT_NE(out.bytes.find("[label=\"main\\n100.0% (self 19.9%)\", tooltip=\"main\""),
            std::string::npos)
      << out.bytes;
  EXPECT_NE(out.bytes.find("[label=\"b\\n70.0% (self 70.0%)\""), std::string::npos) << out.bytes;
  EXPECT_EQ(out.bytes.find("tiny"), std::string::npos);
  // Samples do not count calls.
  EXPECT_NE(out.bytes.find("[label=\"60.0%\", penwidth=3.50, weight=61];"), std::string::npos);
  EXPECT_NE(out.bytes.find("[label=\"50.0%\", penwidth=3.00, weight=51];"), std::string::npos);
  EXPECT_EQ(out.lost, (std::vector<std::string>{"1 function below 0.5% of the total", "lines"}));
}

// Two static functions differ in their files, and those of two modules in their objects.
TEST(Dot, TellsFunctionsOfOneNameApart) {
  Diagnostics diagnostics;
  const auto read = callgrind::read(
      *ByteSource::of(
          "events: Ir\nob=/lib/a.so\nfl=x/a.c\nfn=main\n1 1\nfn=s\n1 1\nfn=A::f(int)\n1 1"
          "\nfn=g(int)\n1 1\nfn=g(char)\n1 1\nfn=void t<int>(int)\n1 1\n"
          "fl=x/b.c\nfn=s\n1 1\nfn=B::f(int)\n1 1\nob=/lib/b.so\nfl=x/b.c\nfn=s\n1 1\n",
          "callgrind.out.1"),
      diagnostics);
  ASSERT_TRUE(read);
  const Written out = graph(std::get<CostProfile>(*read));
  for (const std::string label : {"main", "s (a.c)", "A::f", "B::f", "g(int)", "g(char)", "t",
                                  "s (b.c, a.so)", "s (b.c, b.so)"})
    EXPECT_NE(out.bytes.find("[label=\"" + label + "\\n"), std::string::npos) << label << out.bytes;
}

TEST(Dot, DrawsCyclesWithoutShares) {
  const Written out = graph(of_stacks("main;a;b;a;b 10\n"));
  size_t dashed = 0;
  for (size_t at = 0; (at = out.bytes.find("style=dashed", at)) != std::string::npos; ++at)
    ++dashed;
  EXPECT_EQ(dashed, 2u) << out.bytes;
}

TEST(Dot, CountsCallsThatWereCounted) {
  Diagnostics diagnostics;
  const auto read =
      callgrind::read(*ByteSource::of("events: Ir\nfn=main\n1 10\ncfn=f\ncalls=7 2\n1 90\n"
                                      "fn=f\n2 90\n",
                                      "callgrind.out.1"),
                      diagnostics);
  ASSERT_TRUE(read);
  const Written out = graph(std::get<CostProfile>(*read));
  EXPECT_NE(out.bytes.find("[label=\"90.0%\\n7×\""), std::string::npos) << out.bytes;
}

TEST(Dot, EscapesNames) {
  const Written out = graph(of_stacks("a\"];b\\ 5\nx\xFF\x01 5\n"));
  EXPECT_NE(out.bytes.find("tooltip=\"a\\\"]\""), std::string::npos) << out.bytes;
  EXPECT_NE(out.bytes.find("tooltip=\"b\\\\\""), std::string::npos) << out.bytes;
  EXPECT_NE(out.bytes.find("tooltip=\"x??\""), std::string::npos) << out.bytes;
}

// A program that ignores SIGCHLD, as it may have inherited it, cannot learn how its children ended.
TEST(Dot, JudgesAPictureByItsBytesIfTheStatusIsUnknown) {
  const TemporaryFolder folder;
  const std::string path = std::getenv("PATH");
  const auto drawn_by = [&](const std::string &script) {
    const std::string dot = folder.put("dot", "#!/bin/sh\n" + script + "\n");
    std::filesystem::permissions(dot, std::filesystem::perms::owner_all);
    return dot::png_of("digraph {}");
  };
  ::setenv("PATH", (folder / "" + ":" + path).c_str(), 1);
  const std::string picture = R"(cat > /dev/null; printf '\211PNG\r\n\032\nrest')";
  for (const auto handler : {SIG_DFL, SIG_IGN}) {
    std::signal(SIGCHLD, handler);
    const auto good = drawn_by(picture);
    EXPECT_TRUE(good && good->ends_with("\nrest")) << (good ? *good : good.error().text());
    EXPECT_EQ(drawn_by("exit 0").error().code, ErrorCode::unsupported);
    EXPECT_EQ(drawn_by("echo no picture").error().code, ErrorCode::unsupported);
  }
  std::signal(SIGCHLD, SIG_DFL);
  EXPECT_EQ(drawn_by(picture + "; exit 3").error().code, ErrorCode::unsupported);
  ::setenv("PATH", path.c_str(), 1);
}

TEST(Dot, DrawsOnlyItsOwnFormat) {
  EXPECT_TRUE(dot::is_drawn(**format_by_name("dot"), "a.png"));
  EXPECT_FALSE(dot::is_drawn(**format_by_name("dot"), "a.dot"));
  EXPECT_FALSE(dot::is_drawn(**format_by_name("folded"), "a.png"));
}

} // namespace
} // namespace tally::formats_dot_test
