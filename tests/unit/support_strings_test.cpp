#include <string>

#include <gtest/gtest.h>

#include <tally/strings.h>

namespace tally {
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

TEST(StringPool, ViewsStayWhileItGrowsAndACopyHasItsOwn) {
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

} // namespace
} // namespace tally
