#include <gtest/gtest.h>

#include "support/xml_text.h"

namespace tally::support_xml_text_test {
namespace {

void expect_text(std::string_view text, std::string_view expected) {
  bool changed = false;
  EXPECT_EQ(xml_text(text, changed), expected);
  EXPECT_EQ(changed, text != expected) << expected;
}

TEST(XmlText, KeepsUtf8) {
  expect_text("", "");
  expect_text("a <b> & \"c\"", "a <b> & \"c\"");
  for (const std::string_view text : {"\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf",
                                      "\xef\xbf\xbd", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    expect_text(text, text);
}

TEST(XmlText, ReplacesEachOtherByteWithAQuestionMark) {
  expect_text("a\tb\nc\x7f", "a?b?c?");
  expect_text(std::string_view("\0x", 2), "?x");
  expect_text("\xc1\xbf", "??");      // an overlong form
  expect_text("\xe0\x9f\xbf", "???"); // likewise
  expect_text("\xf0\x8f\xbf\xbf", "????");
  expect_text("\xed\xa0\x80", "???");      // a surrogate
  expect_text("\xf4\x90\x80\x80", "????"); // beyond U+10FFFF
  expect_text("\xef\xbf\xbe", "???");      // not a character
  expect_text("\xe2\x82", "??");           // truncated
  expect_text("\xe2\x82z\x80", "??z?");
}

TEST(XmlText, EscapesMarkup) {
  EXPECT_EQ(xml_escaped("f<a&&>(\"]]>\")"), "f&lt;a&amp;&amp;&gt;(&quot;]]&gt;&quot;)");
  EXPECT_EQ(xml_escaped("na\xc3\xafve 'x'"), "na\xc3\xafve 'x'");
}

} // namespace
} // namespace tally::support_xml_text_test
