// Random profiles of addresses, each of which every GNU layout of gmon.out can hold.
#pragma once

#include <algorithm>
#include <random>

#include <gtest/gtest.h>

#include "model/pc_profile.h"

namespace tally {

inline PcProfile random_pcs(std::mt19937_64 &random, const PcLayout &layout = {}) {
  PcProfileBuilder out;
  out.set_layout(layout);
  const auto below = [&](uint64_t most) { return random() % most; };
  const uint64_t bytes = uint64_t{2} << below(4);
  uint64_t low = 0x1000 + below(1000);
  for (uint64_t ranges = below(4); ranges > 0; --ranges) {
    low += below(100);
    PcRange range{low, 0, {}, {}};
    for (uint64_t bins = 1 + below(40); bins > 0; --bins)
      range.counters.push_back(below(3) == 0 ? below(200'000) : below(4));
    // Now and then, a bin is not a whole number of bytes.
    range.high_pc = low + range.counters.size() * bytes + (below(4) == 0 ? below(8) : 0);
    range.bins = even_bins(low, range.high_pc, range.counters.size());
    low = range.high_pc;
    EXPECT_TRUE(out.add_range(std::move(range), 100, "seconds", 's'));
  }
  for (uint64_t arcs = below(6); arcs > 0; --arcs)
    EXPECT_TRUE(out.add_arc({0x1000 + below(64), 0x1000 + below(64),
                             below(2) ? below(1000) : below(uint64_t{1} << 34)}));
  for (uint64_t blocks = below(6); blocks > 0; --blocks)
    EXPECT_TRUE(out.add_block({0x1000 + below(64), below(uint64_t{1} << 33)}));
  auto profile = out.finish();
  EXPECT_TRUE(profile) << profile.error().text();
  return profile ? std::move(*profile) : PcProfile();
}

inline void expect_equal(const PcProfile &a, const PcProfile &b) {
  const PcHistogram &x = a.histogram(), &y = b.histogram();
  ASSERT_EQ(x.ranges().size(), y.ranges().size());
  for (size_t i = 0; i < x.ranges().size(); ++i) {
    EXPECT_EQ(x.ranges()[i].low_pc, y.ranges()[i].low_pc);
    EXPECT_EQ(x.ranges()[i].high_pc, y.ranges()[i].high_pc);
    EXPECT_EQ(x.ranges()[i].bins, y.ranges()[i].bins);
    EXPECT_EQ(x.ranges()[i].counters, y.ranges()[i].counters);
  }
  if (!x.ranges().empty()) {
    EXPECT_EQ(x.rate_hz(), y.rate_hz());
    EXPECT_EQ(x.dimension(), y.dimension());
    EXPECT_EQ(x.abbreviation(), y.abbreviation());
  }
  EXPECT_TRUE(std::ranges::equal(a.arcs(), b.arcs()));
  EXPECT_TRUE(std::ranges::equal(a.blocks(), b.blocks()));
  EXPECT_EQ(a.layout(), b.layout());
}

} // namespace tally
