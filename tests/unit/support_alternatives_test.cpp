// Tests how the words of a choice are separated.
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "support/alternatives.h"

namespace tally::support_alternatives_test {
namespace {

using Words = std::vector<std::string_view>;

TEST(Alternatives, AreSeparatedByBars) {
  EXPECT_EQ(alternatives("a"), Words{"a"});
  EXPECT_EQ(alternatives("a|bc|d"), (Words{"a", "bc", "d"}));
  EXPECT_EQ(alternatives(""), Words{""});
  EXPECT_EQ(alternatives("|a|"), (Words{"", "a", ""}));
}

} // namespace
} // namespace tally::support_alternatives_test
