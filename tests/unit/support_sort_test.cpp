// sort_stably() does what std::ranges::stable_sort() does.
#include "support/sort.h"

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace tally::support_sort_test {
namespace {

using Row = std::pair<int, std::string>; // the text tells equal numbers apart

std::vector<Row> random_rows(std::minstd_rand &random, size_t count, int numbers) {
  std::vector<Row> rows;
  for (size_t row = 0; row < count; ++row)
    rows.emplace_back(static_cast<int>(random() % static_cast<unsigned>(numbers)),
                      std::to_string(row));
  return rows;
}

TEST(SortStably, EqualsTheStandardsStableSort) {
  std::minstd_rand random(1);
  for (const size_t count : {0UL, 1UL, 2UL, 3UL, 7UL, 8UL, 9UL, 31UL, 64UL, 100UL, 1000UL})
    for (const int numbers : {1, 2, 10, 1'000'000}) {
      const std::vector<Row> rows = random_rows(random, count, numbers);
      std::vector<Row> sorted = rows, expected = rows;
      sort_stably(sorted, std::greater(), &Row::first);
      std::ranges::stable_sort(expected, std::greater(), &Row::first);
      EXPECT_EQ(sorted, expected) << count << " rows of " << numbers << " numbers";
      sort_stably(sorted);
      std::ranges::stable_sort(expected);
      EXPECT_EQ(sorted, expected) << count << " rows of " << numbers << " numbers";
    }
}

TEST(SortStably, LeavesOrderAndReversesReverse) {
  std::vector<int> numbers(100);
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i] = static_cast<int>(i);
  const std::vector<int> in_order = numbers;
  sort_stably(numbers);
  EXPECT_EQ(numbers, in_order);
  std::ranges::reverse(numbers);
  sort_stably(numbers);
  EXPECT_EQ(numbers, in_order);
}

} // namespace
} // namespace tally::support_sort_test
