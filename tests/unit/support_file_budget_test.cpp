#include "support/file_budget.h"

#include <string>

#include <gtest/gtest.h>

namespace tally {
namespace {

constexpr uint64_t always = 1 << 20;

TEST(FileBudget, IsUsedUpByNamesThatShareTheirBytes) {
  const std::string name(10'000, 'n');
  FileBudget budget(name.size());
  uint64_t taken = 0, count = 0;
  for (; budget.take_name(name.c_str() + count % 100); ++count)
    taken += name.size() - count % 100;
  EXPECT_LE(taken, always + 32 * name.size());
  EXPECT_GT(taken, 32 * name.size());
  EXPECT_FALSE(budget.take_name("n")) << "what exceeds it once ends it";
  EXPECT_FALSE(budget.take(1));
}

TEST(FileBudget, GivesWhatThereIs) {
  FileBudget budget(0);
  EXPECT_EQ(budget.take_name(""), "");
  EXPECT_EQ(budget.take_name("main"), "main");
  EXPECT_TRUE(budget.take(always - 4));
  EXPECT_FALSE(budget.take(1));
}

} // namespace
} // namespace tally
