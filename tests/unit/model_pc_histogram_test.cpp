#include <limits>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

#include "model/pc_histogram.h"

namespace tally::model_pc_histogram_test {
namespace {

constexpr uint64_t most = std::numeric_limits<uint64_t>::max();

PcHistogram finished(PcHistogramBuilder &builder) {
  auto histogram = builder.finish();
  EXPECT_TRUE(histogram) << histogram.error().text();
  return histogram ? std::move(*histogram) : PcHistogram();
}

PcHistogram one_range(uint64_t low, uint64_t high, uint64_t bytes, uint64_t pc, uint64_t ticks,
                      uint32_t rate = 100) {
  PcHistogramBuilder builder;
  builder.set_rate_hz(rate);
  builder.add_range(low, high, bytes);
  builder.count(pc, ticks);
  return finished(builder);
}

TEST(PcHistogram, CountsInBinsAndOutside) {
  PcHistogramBuilder builder;
  builder.set_rate_hz(250);
  builder.set_dimension("ticks", 't');
  builder.add_range(0x1000, 0x100A, 4); // the last bin has only two bytes
  builder.add_range(0x2000, 0x2010, {.scale = 0x7FFF}, 4);
  for (const uint64_t pc :
       {0x1000u, 0x1003u, 0x1004u, 0x1009u, 0x100Au, 0xFFFu, 0x2000u, 0x2004u, 0x200Fu})
    builder.count(pc);
  const PcHistogram histogram = finished(builder);
  EXPECT_EQ(histogram.ranges()[0].counters, (std::vector<uint64_t>{2, 1, 1}));
  EXPECT_EQ(histogram.ranges()[1].counters, (std::vector<uint64_t>{1, 1, 0, 0})); // 0x200F: bin 4
  EXPECT_EQ(histogram.outside(), 3u);
  EXPECT_EQ(histogram.ticks(), 6u);
  EXPECT_EQ(histogram.rate_hz(), 250u);
  EXPECT_EQ(histogram.dimension(), "ticks");
  EXPECT_EQ(histogram.ranges()[0].extent(2), (std::pair<uint64_t, uint64_t>{0x1008, 0x100A}));
}

TEST(PcHistogram, ExtentsMatchTheAddressesThatBinsCount) {
  std::mt19937_64 random(41);
  for (int round = 0; round < 2500; ++round) {
    PcRange range;
    range.low_pc = random() % 2 ? random() % 100 : most - 300;
    range.high_pc = range.low_pc + 1 + random() % 200;
    const bool scaled = random() % 2;
    if (scaled) {
      range.bins = {.scale = static_cast<uint32_t>(random() % 0x10002),
                    .abi = static_cast<ProfilAbi>(random() % 3),
                    .strict = random() % 2 == 0,
                    .fitted = random() % 3 == 0};
      range.counters.resize(random() % 40);
    } else {
      range.bins.bytes = 1 + random() % 20;
      range.counters.resize((range.high_pc - range.low_pc + range.bins.bytes - 1) /
                            range.bins.bytes);
    }
    for (size_t bin = 0; bin < range.counters.size(); ++bin) {
      const auto [begin, end] = range.extent(bin);
      for (uint64_t pc = range.low_pc; pc < range.high_pc; ++pc)
        ASSERT_EQ(range.bin_of(pc) == bin, pc >= begin && pc < end);
    }
    ASSERT_EQ(range.bin_of(range.high_pc), range.counters.size());
  }
}

TEST(PcHistogramBuilder, RefusesInvalidHistograms) {
  const auto refusal = [](auto fill) {
    PcHistogramBuilder builder;
    fill(builder);
    auto histogram = builder.finish();
    EXPECT_FALSE(histogram);
    return histogram ? std::string() : histogram.error().message;
  };
  using Builder = PcHistogramBuilder;
  const auto has = [](const std::string &text, std::string_view part) {
    return text.find(part) != text.npos;
  };
  EXPECT_TRUE(has(refusal([](Builder &b) { b.add_range(2, 2, 1); }), "is empty"));
  EXPECT_TRUE(has(refusal([](Builder &b) { b.add_range(3, 2, 1); }), "is empty"));
  EXPECT_TRUE(has(refusal([](Builder &b) { b.add_range(2, 4, 0); }), "0 bytes"));
  EXPECT_TRUE(has(refusal([](Builder &b) { b.add_range(0, most, 1); }), "are too many"));
  EXPECT_TRUE(
      has(refusal([](Builder &b) { b.add_range(4, 8, 1), b.add_range(0, 4, 1); }), "comes after"));
  EXPECT_TRUE(
      has(refusal([](Builder &b) { b.add_range(0, 5, 1), b.add_range(4, 8, 1); }), "overlap"));
  EXPECT_TRUE(has(refusal([](Builder &b) {
                    b.add_range({0, 9, {.bytes = 4}, {1, 2}});
                  }),
                  "has 2 counters, and needs 3"));
  EXPECT_TRUE(has(refusal([](Builder &b) {
                    b.add_range(0, 4, 4);
                    b.count(0, most);
                    b.count(1, 1);
                  }),
                  "the sum of the ticks of a bin exceeds 64 bits"));
  EXPECT_TRUE(has(refusal([](Builder &b) {
                    b.add_range(0, 4, 4);
                    b.count(0, most);
                    b.count(9, 1);
                  }),
                  "the sum of the ticks exceeds 64 bits"));
}

TEST(Attribute, SharesABinByBytesAsGprofDoes) {
  const PcHistogram histogram = one_range(0x1000, 0x1040, 64, 0x1000, 1000);
  const std::vector<PcExtent> functions{{0x1000, 0x1006, 1}, {0x1006, 0x1040, 2}};
  const auto shares = attribute(histogram, functions);
  ASSERT_TRUE(shares) << shares.error().text();
  EXPECT_DOUBLE_EQ(shares->shares[0].exact, 93.75); // 9.38 %
  EXPECT_DOUBLE_EQ(shares->shares[1].exact, 906.25);
  EXPECT_EQ(shares->shares[0].ticks, 94u);
  EXPECT_EQ(shares->shares[1].ticks, 906u);
  EXPECT_EQ(shares->unattributed.ticks, 0u);
}

TEST(Attribute, RoundsOnceAtTheEnd) {
  PcHistogramBuilder builder;
  builder.add_range(0, 3000, 3);
  for (uint64_t pc = 0; pc < 3000; pc += 3)
    builder.count(pc); // 1/3 of each bin's tick is of function 5, 2/3 of none
  const PcHistogram histogram = finished(builder);
  std::vector<PcExtent> functions;
  for (uint64_t pc = 0; pc < 3000; pc += 3)
    functions.push_back({pc, pc + 1, 5});
  const auto shares = attribute(histogram, functions);
  ASSERT_TRUE(shares);
  ASSERT_EQ(shares->shares.size(), 1u);
  EXPECT_EQ(shares->shares[0].ticks, 333u);
  EXPECT_EQ(shares->unattributed.ticks, 667u);
}

TEST(Attribute, PreservesTheSum) {
  std::mt19937_64 random(42);
  for (int round = 0; round < 3000; ++round) {
    PcHistogramBuilder builder;
    const bool huge = random() % 5 == 0;
    PcRange range{100, 100 + 1 + random() % 300, {}, {}};
    if (random() % 2) {
      range.bins.bytes = 1 + random() % 30;
      range.counters.resize((range.high_pc - range.low_pc + range.bins.bytes - 1) /
                            range.bins.bytes);
    } else {
      range.bins.scale = static_cast<uint32_t>(random() % 0x10000);
      range.counters.resize(random() % 60);
    }
    for (uint64_t &counter : range.counters)
      counter = random() % (huge ? most / 400 : 6);
    builder.add_range(std::move(range));
    const PcHistogram histogram = finished(builder);
    std::vector<PcExtent> functions;
    for (uint64_t pc = random() % 120; pc < 450; pc += random() % 60) {
      const uint64_t end = pc + random() % 30;
      functions.push_back({pc, end, static_cast<uint32_t>(random() % 5)});
      pc = end;
    }
    const auto shares = attribute(histogram, functions);
    ASSERT_TRUE(shares) << shares.error().text();
    uint64_t sum = shares->unattributed.ticks;
    for (const PcShare &share : shares->shares) {
      sum += share.ticks;
      ASSERT_NEAR(static_cast<double>(share.ticks), share.exact, 1 + share.exact * 1e-12);
    }
    ASSERT_EQ(sum, histogram.ticks());
  }
}

TEST(Attribute, RefusesFunctionsThatOverlap) {
  const PcHistogram histogram = one_range(0, 8, 8, 0, 1);
  const std::vector<PcExtent> overlap{{0, 4, 1}, {3, 8, 2}}, turned{{4, 2, 1}};
  EXPECT_EQ(attribute(histogram, overlap).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(attribute(histogram, turned).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(attribute(histogram, {})->unattributed.ticks, 1u);
}

} // namespace
} // namespace tally::model_pc_histogram_test
