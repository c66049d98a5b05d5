// Tests work by several threads, whose results do not depend on the number of threads.
#include <numeric>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/in_order.h"

namespace tally::support_in_order_test {
namespace {

struct Square {
  std::vector<size_t> &squares;
  size_t &finished;
  void operator()(size_t i) { squares[i] = i * i; }
  void finish() { ++finished; }
};

TEST(InOrder, DeliversEachResultOnceAndInOrder) {
  for (const size_t count : {0u, 1u, 2u, 1000u})
    for (const unsigned threads : {1u, 2u, 7u}) {
      std::vector<size_t> squares(count), taken;
      size_t finished = 0, reported = 0;
      InOrder(count, threads)
          .run<Square>(
              [&] {
                return Square{squares, finished};
              },
              [&](size_t i) {
                EXPECT_EQ(squares[i], i * i);
                taken.push_back(i);
                return true;
              },
              [&](size_t done) { reported = done; });
      std::vector<size_t> wanted(count);
      std::iota(wanted.begin(), wanted.end(), size_t{0});
      EXPECT_EQ(taken, wanted);
      EXPECT_LE(reported, count);
      EXPECT_EQ(finished, std::max<size_t>(1, std::min<size_t>(threads, count)));
    }
}

struct Throws {
  void operator()(size_t i) {
    if (i == 5)
      throw std::runtime_error("five");
  }
  void finish() {}
};

TEST(InOrder, PassesExceptionsToTheCaller) {
  for (const unsigned threads : {1u, 4u}) {
    size_t taken = 0;
    EXPECT_THROW(InOrder(100, threads)
                     .run<Throws>([] { return Throws(); }, [&](size_t) { return ++taken > 0; },
                                  [](size_t) {}),
                 std::runtime_error);
    EXPECT_LE(taken, 5u);
  }
}

TEST(InOrder, EndsWhenAResultIsRefused) {
  for (const unsigned threads : {1u, 4u}) {
    std::vector<size_t> squares(1000), taken;
    size_t finished = 0;
    const auto make = [&] { return Square{squares, finished}; };
    const auto take = [&](size_t i) {
      taken.push_back(i);
      return i < 10;
    };
    InOrder(squares.size(), threads).run<Square>(make, take, [](size_t) {});
    EXPECT_EQ(taken.size(), 11u);
    EXPECT_EQ(finished, threads);
  }
}

} // namespace
} // namespace tally::support_in_order_test
