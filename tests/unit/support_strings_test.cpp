#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "support/hash.h"
#include "support/strings.h"

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

// With the identity as its hash, a table would keep these numbers in one place.
TEST(SeededMap, SpreadsChosenNumbers) {
  constexpr size_t count = 20'000;
  SeededMap<uint64_t, int> table;
  table.reserve(count);
  const size_t buckets = table.bucket_count();
  for (uint64_t i = 0; i < count; ++i)
    table[i * buckets] = 1;
  ASSERT_EQ(table.bucket_count(), buckets);
  size_t largest = 0;
  for (size_t i = 0; i < buckets; ++i)
    largest = std::max(largest, table.bucket_size(i));
  EXPECT_LT(largest, 50u);
}

// One large record among many small ones: each clear() would go through all places of the largest.
TEST(SeededMap, IsNotLargerThanItsLastContent) {
  SeededSet<int> table;
  for (int i = 0; i < 100'000; ++i)
    table.insert(i);
  table.clear();
  EXPECT_TRUE(table.empty());
  table.insert(1);
  table.clear();
  EXPECT_LT(table.bucket_count(), 100u);
}

TEST(SeededMap, HashesEachByte) {
  std::set<uint64_t> hashes;
  std::string text(40, 'a');
  hashes.insert(hash_bytes(text));
  for (size_t size = 0; size < text.size(); ++size)
    hashes.insert(hash_bytes(std::string_view(text).substr(0, size)));
  for (char &c : text)
    for (const char other : {'\0', 'b', '\xff'}) {
      const char before = std::exchange(c, other);
      hashes.insert(hash_bytes(text));
      c = before;
    }
  EXPECT_EQ(hashes.size(), 41 + 3 * text.size());
}

} // namespace
} // namespace tally::support_strings_test
