#include <gtest/gtest.h>

#include "support/roff_text.h"

namespace tally::support_roff_text_test {
namespace {

TEST(RoffText, KeepsPlainText) {
  EXPECT_EQ(roff_text(""), "");
  EXPECT_EQ(roff_text("FORMAT[:FILE] (default 20); a.b, 5%"),
            "FORMAT[:FILE] (default 20); a.b, 5%");
}

TEST(RoffText, EscapesWhatRoffInterprets) {
  EXPECT_EQ(roff_text("--fail-under"), "\\-\\-fail\\-under");
  EXPECT_EQ(roff_text("\\fBx\\n"), "\\(rsfBx\\(rsn");
  EXPECT_EQ(roff_text("it's `x` ^~ \"y\""), "it\\(aqs \\(gax\\(ga \\(ha\\(ti \\(dqy\\(dq");
}

TEST(RoffText, BeginsNoLineWithAControlCharacter) {
  EXPECT_EQ(roff_text(".gcda"), "\\&.gcda");
  EXPECT_EQ(roff_text("a\n.gcno.\n'x"), "a\n\\&.gcno.\n\\(aqx");
  for (const char *text : {".", "'", "..", "\n.", "\n'"})
    for (const char *control : {".", "'"}) {
      EXPECT_FALSE(roff_text(text).starts_with(control)) << text;
      EXPECT_EQ(roff_text(text).find(std::string("\n") + control), std::string::npos) << text;
    }
}

TEST(RoffText, IsAscii) {
  EXPECT_EQ(roff_text("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80"), "\\[u00E4]\\[u20AC]\\[u1F600]");
  EXPECT_EQ(roff_text("\xe2\x80\xa6]"), "\\&...]");
  EXPECT_EQ(roff_text("\xff-\xe2\x80"), "?\\-??");
}

} // namespace
} // namespace tally::support_roff_text_test
