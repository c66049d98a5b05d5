#include <map>
#include <random>
#include <string>

#include <gtest/gtest.h>

#include <tally/strings.h>

namespace tally::support_strings_test {
namespace {

TEST(StringPool, InternsEachTextOnce) {
  StringPool pool;
  EXPECT_EQ(pool.intern(""), StringId{0});
  const StringId a = pool.intern("alpha");
  const StringId b = pool.intern(std::string("b\0c", 3));
  EXPECT_EQ(pool.intern("alpha"), a);
  EXPECT_NE(a, b);
  EXPECT_EQ(pool[b].size(), 3u);
}

TEST(StringPool, KeepsViewsValidWhileItGrows) {
  StringPool pool;
  const std::string_view first = pool[pool.intern("first")];
  for (int i = 0; i < 20000; ++i)
    pool.intern(std::to_string(i));
  EXPECT_EQ(first, "first");
  StringPool copy = pool;
  EXPECT_EQ(copy.intern("19999"), pool.intern("19999"));
  EXPECT_EQ(copy.size(), pool.size());
  EXPECT_NE(copy[copy.intern("first")].data(), first.data());
}

TEST(StringPool, NumbersTextsInOrder) {
  std::mt19937_64 random(51);
  StringPool pool;
  std::map<std::string, uint32_t> model{{"", 0}};
  for (int i = 0; i < 50'000; ++i) {
    std::string text(random() % (random() % 100 == 0 ? 9000 : 4), '\0');
    for (char &c : text)
      c = static_cast<char>(random() % 12);
    const auto next = static_cast<uint32_t>(model.size());
    ASSERT_EQ(index_of(pool.intern(text)), model.try_emplace(text, next).first->second);
  }
  const StringPool moved = std::move(pool);
  EXPECT_EQ(moved.size(), model.size());
  size_t bytes = 0;
  for (const auto &[text, id] : model) {
    ASSERT_EQ(moved[static_cast<StringId>(id)], text);
    bytes += text.size();
  }
  EXPECT_GE(moved.memory_bytes(), bytes);
}

} // namespace
} // namespace tally::support_strings_test
