// Tests that sums of profiles are equal in everything that Callgrind's format can hold.
#include <gtest/gtest.h>

#include "formats/callgrind/write.h"
#include "random_profile.h"
#include "transform/merge.h"

namespace tally::formats_merge_test {
namespace {

std::string bytes_of(const CostProfile &profile) {
  const auto out = callgrind::write(profile, {});
  EXPECT_TRUE(out) << out.error().text();
  return out ? out->bytes : std::string();
}

CostProfile sum_of(std::initializer_list<const CostProfile *> profiles) {
  auto sum = merge_costs(std::vector(profiles));
  EXPECT_TRUE(sum) << sum.error().text();
  return std::move(*sum);
}

TEST(Merge, IsCommutativeAndAssociative) {
  Random random(92);
  int different = 0;
  for (int round = 0; round < rounds(500); ++round) {
    CostShape shape = random_cost_shape(random);
    std::vector<CostProfile> p;
    for (int i = 0; i < 3; ++i) {
      if (i == 0 || pick(random, 2) == 0)
        shape.events = random_events(random);
      p.push_back(random_costs(random, shape));
    }
    const CostProfile &a = p[0], &b = p[1], &c = p[2];
    const std::string all = bytes_of(sum_of({&a, &b, &c}));
    ASSERT_EQ(bytes_of(sum_of({&c, &a, &b})), all);
    ASSERT_EQ(bytes_of(sum_of({&b, &a, &c})), all);
    const CostProfile ab = sum_of({&a, &b}), bc = sum_of({&b, &c}), ca = sum_of({&c, &a});
    ASSERT_EQ(bytes_of(ab), bytes_of(sum_of({&b, &a})));
    ASSERT_EQ(bytes_of(sum_of({&ab, &c})), all);
    ASSERT_EQ(bytes_of(sum_of({&a, &bc})), all);
    ASSERT_EQ(bytes_of(sum_of({&b, &ca})), all);
    different += bytes_of(ab) != bytes_of(bc);
  }
  EXPECT_GT(different, rounds(400));
}

TEST(Merge, MakesOnePartOfOneProfile) {
  Random random(93);
  for (int round = 0; round < rounds(100); ++round) {
    const CostProfile a = random_costs(random, {.events = {"A", "B"}});
    const CostProfile one = sum_of({&a});
    ASSERT_EQ(one.parts().size(), 1u);
    ASSERT_EQ(rows_of(one), rows_of(a));
    ASSERT_EQ(bytes_of(sum_of({&one})), bytes_of(one));
  }
}

} // namespace
} // namespace tally::formats_merge_test
