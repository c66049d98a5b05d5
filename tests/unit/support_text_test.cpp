#include <string>

#include <gtest/gtest.h>

#include "support/json_text.h"
#include "support/text.h"

namespace tally::support_text_test {
namespace {

using namespace std::string_literals;

TEST(JsonText, HasTheNumbersOfWhatATerminalObeys) {
  EXPECT_EQ(json_text("a\x1b\x7f\xc2\x9b\xc2\xa0\xd8\x9c\xe2\x80\xae\xe2\x81\xa6\xe2\x82\xac"),
            "\"a\\u001b\\u007f\\u009b\xc2\xa0\\u061c\\u202e\\u2066\xe2\x82\xac\"");
  EXPECT_EQ(json_text("\xff"), "\"\xef\xbf\xbd\"");
}

TEST(Printable, KeepsTextThatTerminalsShow) {
  for (const std::string &text :
       {""s, "operator<=>(A const&, B) [clone .cold]"s, "größe → 𝄞 名前"s, "\xC2\xA0"s})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, ReplacesWhatTerminalsObey) {
  EXPECT_EQ(printable("a\x1b]0;t\x07\x1b[5n\tb\nc\x7f\0"s), "a?]0;t??[5n?b?c??");
  EXPECT_EQ(printable("\xC2\x9D"
                      "0;t\xC2\x9C\xC2\x9B"
                      "5n"),
            "?0;t??5n")
      << "C1 controls";
  EXPECT_EQ(printable("a\x9B"
                      "5n\xFF\xC0\x80\xED\xA0\x80\xF5"),
            "a\\x9b5n\\xff\\xc0\\x80\\xed\\xa0\\x80\\xf5")
      << "bytes that are not UTF-8";
  EXPECT_EQ(printable("a\xE2\x80\xAE"
                      "b\xE2\x81\xA6\xD8\x9C\xE2\x80\xA8"),
            "a?b???")
      << "directions, and ends of lines";
}

} // namespace
} // namespace tally::support_text_test
