// JSON as a flat tree, and the offsets of its values.
#include <array>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "support/json_tree.h"

namespace tally::support_json_tree_test {
namespace {

TEST(JsonTree, HoldsValuesOfAllKinds) {
  constexpr std::string_view text =
      R"({"a": [1, -2, 1.5, "x\"é", null, true], "b": {"c": {}, "d": [[], [3]]}, "e": 7})";
  const auto tree = JsonTree::parse(text, "x");
  ASSERT_TRUE(tree) << tree.error().text();
  const JsonValue root = tree->root();
  const auto column = root["a"].column();
  ASSERT_TRUE(column);
  ASSERT_EQ(column->size(), 6u);
  EXPECT_EQ((*column)[0].integer(), 1);
  EXPECT_EQ((*column)[1].integer(), -2);
  EXPECT_EQ((*column)[2].integer(), std::nullopt);
  EXPECT_EQ((*column)[2].number(), 1.5);
  EXPECT_EQ((*column)[3].text(), "x\"\xC3\xA9");
  EXPECT_TRUE((*column)[4].is_null());
  EXPECT_FALSE((*column)[5].number());
  EXPECT_TRUE(root["b"]["c"].is_object());
  EXPECT_TRUE(root["b"]["c"].first().is_absent());
  EXPECT_FALSE(root["b"]["d"].column()); // holds lists
  EXPECT_EQ(root["b"]["d"].first().next().first().integer(), 3);
  EXPECT_TRUE(root["b"]["d"].first().next().next().is_absent());
  EXPECT_EQ(root["e"].integer(), 7);
  EXPECT_TRUE(root["c"].is_absent());
  EXPECT_TRUE(root["e"]["c"].is_absent());
}

TEST(JsonTree, KnowsOffsets) {
  constexpr std::string_view text = R"({"a": [12, "x\"", null], "b": {"c": -1.5e3}})";
  const auto tree = JsonTree::parse(text, "file");
  ASSERT_TRUE(tree);
  const JsonValue root = tree->root();
  const JsonValue first = root["a"].first();
  EXPECT_EQ(root.offset(), 0u);
  EXPECT_EQ(root["a"].offset(), text.find('['));
  EXPECT_EQ(first.offset(), text.find("12"));
  EXPECT_EQ(first.next().offset(), text.find("\"x"));
  EXPECT_EQ(first.next().next().offset(), text.find("null"));
  EXPECT_EQ(root["b"]["c"].offset(), text.find("-1.5"));
  EXPECT_EQ(root["b"].error("bad").value().text(), "file:0x1e: bad");
}

TEST(JsonTree, LeavesOutIgnoredKeys) {
  constexpr std::array<std::string_view, 1> ignored{"big"};
  const auto tree = JsonTree::parse(
      R"({"big": 1, "a": {"big": [{"big": [2, "x"]}, {}], "b": 3}, "c": [{"big": {}}, 4]})", "x",
      ignored);
  ASSERT_TRUE(tree) << tree.error().text();
  const JsonValue root = tree->root();
  EXPECT_TRUE(root["big"].is_null());
  EXPECT_TRUE(root["a"]["big"].is_null());
  EXPECT_FALSE(root["a"]["big"].is_absent());
  EXPECT_EQ(root["a"]["b"].integer(), 3);
  EXPECT_EQ(root["c"].first().next().integer(), 4);
}

TEST(JsonTree, SaysWhereTextIsNotJson) {
  const auto error_of = [](std::string_view text) {
    const auto tree = JsonTree::parse(text, "x");
    return tree ? std::string() : tree.error().text();
  };
  EXPECT_EQ(error_of(R"({"a": ])"), "x:0x6: is not JSON here: found ']'");
  EXPECT_EQ(error_of(R"({"a": [1, 2)"), "x:0xb: truncated: the JSON does not end");
  EXPECT_EQ(error_of("[1e999]"), "x:0x1: the number is too large");
  EXPECT_EQ(error_of(""), "x:0x0: truncated: the JSON does not end");
  EXPECT_EQ(error_of(std::string(300, '[')), "x:0x100: is more than 256 levels deep");
}

} // namespace
} // namespace tally::support_json_tree_test
