#include <regex>
#include <sstream>

#include <gtest/gtest.h>

#include "random_profile.h"
#include "report/annotate.h"
#include "report/report.h"
#include "report/style.h"
#include "report/tree.h"

namespace tally::report_style_test {
namespace {

std::string without_escapes(const std::string &text) {
  static const std::regex sgr("\033\\[[0-9;]*m");
  return std::regex_replace(text, sgr, "");
}

TEST(Style, PaintsTheWordWithoutTheBlanksAround) {
  Style style;
  EXPECT_EQ(style.paint(Role::function, " main "), " main ");
  ASSERT_TRUE(style.set("function", "\033[38;2;1;2;3m"));
  EXPECT_EQ(style.paint(Role::function, "  main(int, char) "),
            "  \033[38;2;1;2;3mmain(int, char)\033[m ");
  EXPECT_EQ(style.paint(Role::function, "   "), "   ");
  EXPECT_EQ(style.paint(Role::function, ""), "");
  EXPECT_EQ(style.paint(Role::filename, "a.c"), "a.c");
  EXPECT_EQ(style.paint(Role::plain, "a"), "a");
  ASSERT_TRUE(style.set("function", ""));
  EXPECT_EQ(style.paint(Role::function, "main"), "main");
}

TEST(Style, AcceptsOnlyColours) {
  Style style;
  for (const char *sgr :
       {"\033[", "\033[31", "31m", "\033[31m\033[1m", "\033[2J", "\033[31mm", "m"})
    EXPECT_FALSE(style.set("function", sgr)) << sgr;
  EXPECT_FALSE(style.set("plain", "\033[1m"));
  EXPECT_FALSE(style.set("", "\033[1m"));
  EXPECT_EQ(style.paint(Role::function, "main"), "main");
}

TEST(Style, LeavesOnlyItsOwnSequences) {
  Style style;
  const std::string text = "a\tb \033[31mred\033[m \033[2J\r\n\xC2\x9B\xE9\033";
  EXPECT_EQ(style.without_foreign(text), "a\tb ?[31mred?[m ?[2J?\n?\\xe9?");
  ASSERT_TRUE(style.set("function", "\033[31m"));
  EXPECT_EQ(style.without_foreign(text), "a\tb \033[31mred\033[m ?[2J?\n?\\xe9?");
  EXPECT_EQ(style.without_foreign(""), "");
}

// For any names and width, escapes take no column, and each line ends those that it begins.
TEST(Style, EscapesDoNotChangeTheLayout) {
  Random random(71);
  for (int round = 0; round < rounds(60); ++round) {
    const StackProfile profile = random_profile(random, random_shape(random));
    const auto other = flat_table(random_profile(random), By::function);
    for (const uint32_t width : {0U, 30U, 80U, 200U}) {
      const TextOptions plain{.limit = 7, .width = width};
      TextOptions coloured = plain;
      coloured.style = Style::standard();
      const auto same = [&](const auto &table) {
        const std::string with = to_text(table, coloured);
        EXPECT_EQ(without_escapes(with), to_text(table, plain));
        std::istringstream lines(with);
        for (std::string line; std::getline(lines, line);) {
          const size_t last = line.rfind('\033');
          EXPECT_TRUE(last == line.npos || line.substr(last, 3) == "\033[m") << line;
        }
      };
      for (const By by : {By::function, By::line, By::object, By::thread, By::part})
        if (const auto table = flat_table(profile, by))
          same(*table);
      if (const auto tree = call_tree(profile, {.limit = 9}))
        same(*tree);
      const auto table = flat_table(profile, By::function);
      if (table && other)
        same(diff_tables(*table, *other));
    }
  }
}

TEST(Style, HighlightsHeavyPercentages) {
  FlatTable table;
  table.events = {"ticks"};
  table.totals = {1000};
  for (const uint64_t self : {951U, 49U})
    table.rows.push_back({.name = self > 50 ? "heavy" : "light",
                          .file = "",
                          .object = "",
                          .self = {self},
                          .inclusive = {self}});
  TextOptions options;
  ASSERT_TRUE(options.style.set("highlight", "\033[31m"));
  const std::string text = to_text(table, options);
  EXPECT_NE(text.find("\033[31m95.10%\033[m"), text.npos) << text;
  EXPECT_NE(text.find("\n2   4.90%"), text.npos) << text;
}

} // namespace
} // namespace tally::report_style_test
