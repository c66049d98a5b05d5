#include <algorithm>
#include <array>
#include <random>

#include <gtest/gtest.h>

#include "model/pc_histogram.h"
#include "mon/profil_index.h"

namespace {

__extension__ typedef unsigned __int128 Wide;

constexpr uint64_t plenty = uint64_t{1} << 62; // so many bytes that no index lies beyond the buffer
constexpr uint64_t outside = TALLY_PROFIL_OUTSIDE;

uint64_t index_of(uint8_t abi, uint64_t distance, uint32_t scale, bool strict = false,
                  uint64_t bytes = plenty) {
  const tally_profil_map map{0x1000, 0, bytes, scale, abi, strict, 0};
  return tally_profil_index(&map, 0x1000 + distance);
}

// Computes the index as the manual pages and glibc's source specify it, in 128 bits.
uint64_t model(uint8_t abi, Wide distance, Wide scale, bool strict, Wide bytes) {
  Wide index = 0;
  switch (abi) {
  case TALLY_PROFIL_AIX:
    scale &= 0xFFFF;
    if (scale < 2)
      return outside;
    index = scale == 2 && !strict ? 0 : ((((distance * scale) >> 16) + 1) & ~Wide{1}) / 2;
    break;
  case TALLY_PROFIL_BSD:
    if (scale == 0 || scale > 0x10000)
      return outside;
    index = (((distance * scale) >> 16) & ~Wide{1}) / 2;
    break;
  default:
    index = distance / 2;
    index = index / 65536 * scale + index % 65536 * scale / 65536;
    break;
  }
  return index < bytes / 2 ? static_cast<uint64_t>(index) : outside;
}

TEST(ProfilIndex, FollowsTheTableOfTheThreeSystems) {
  struct Row {
    uint64_t distance;
    std::array<uint64_t, 9> index;
  };
  const std::array<Row, 14> table{{
      {0, {0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {1, {0, 0, 0, 0, 0, 0, 0, 0, 0}},
      {2, {1, 0, 0, 0, 0, 0, 0, 1, 1}},
      {3, {1, 1, 0, 1, 0, 0, 0, 1, 1}},
      {4, {2, 1, 1, 1, 0, 0, 0, 2, 2}},
      {5, {2, 2, 1, 1, 1, 0, 0, 2, 2}},
      {7, {3, 3, 2, 2, 1, 1, 0, 3, 3}},
      {8, {4, 3, 3, 2, 1, 1, 0, 4, 4}},
      {100, {50, 49, 49, 25, 24, 24, 0, 50, 50}},
      {32766, {16383, 16382, 16382, 8191, 8191, 8191, 0, 16383, 16383}},
      {32768, {16384, 16383, 16383, 8192, 8191, 8191, 1, 16384, 16384}},
      {65536, {32768, 32767, 32767, 16384, 16383, 16383, 1, 32768, 32768}},
      {131072, {65535, 65535, 65535, 32767, 32767, 32767, 2, 65536, 65536}},
      {1048576, {524280, 524280, 524280, 262136, 262136, 262136, 16, 524288, 524288}},
  }};
  struct Kind {
    uint8_t abi;
    uint32_t scale;
    bool strict;
  };
  const std::array<Kind, 9> columns{{{TALLY_PROFIL_AIX, 0xFFFF, false},
                                     {TALLY_PROFIL_BSD, 0xFFFF, false},
                                     {TALLY_PROFIL_GLIBC, 0xFFFF, false},
                                     {TALLY_PROFIL_AIX, 0x7FFF, false},
                                     {TALLY_PROFIL_BSD, 0x7FFF, false},
                                     {TALLY_PROFIL_GLIBC, 0x7FFF, false},
                                     {TALLY_PROFIL_AIX, 2, true},
                                     {TALLY_PROFIL_BSD, 0x10000, false},
                                     {TALLY_PROFIL_GLIBC, 0x10000, false}}};
  for (const Row &row : table)
    for (size_t c = 0; c < columns.size(); ++c)
      EXPECT_EQ(index_of(columns[c].abi, row.distance, columns[c].scale, columns[c].strict),
                row.index[c])
          << "pc - off " << row.distance << ", column " << c;
}

TEST(ProfilIndex, AgreesWithExactArithmetic) {
  std::mt19937_64 random(31);
  const std::array<uint32_t, 12> scales{0,      1,       2,       3,       0x7FFF,  0x8000,
                                        0xFFFF, 0x10000, 0x10001, 0x1FFFF, 0x20001, 0xFFFFFFFF};
  for (int round = 0; round < 3'000'000; ++round) {
    const auto abi = static_cast<uint8_t>(random() % 3);
    const bool strict = random() % 2;
    const uint64_t distance = random() >> (random() % 64);
    const uint64_t bytes = random() >> (random() % 64);
    const uint32_t scale = random() % 2 ? scales[random() % scales.size()]
                                        : static_cast<uint32_t>(random() >> (random() % 32 + 32));
    const uint64_t low = random() >> (random() % 64);
    if (low > UINT64_MAX - distance)
      continue;
    const tally_profil_map map{low, 0, bytes, scale, abi, strict, 0};
    ASSERT_EQ(tally_profil_index(&map, low + distance), model(abi, distance, scale, strict, bytes))
        << "abi " << int{abi} << " distance " << distance << " scale " << scale << " bytes "
        << bytes;
    if (low > 0) {
      ASSERT_EQ(tally_profil_index(&map, low - 1), outside); // does not wrap around
    }
  }
}

// The same with the histogram's own type and with real buffers.
TEST(ProfilIndex, TheHistogramAgreesWithExactArithmetic) {
  std::mt19937_64 random(34);
  tally::PcRange range;
  for (int round = 0; round < 3'000'000; ++round) {
    if (round % 10'000 == 0)
      range.counters.resize(random() % 100'000);
    const auto abi = static_cast<uint8_t>(random() % 3);
    const uint64_t distance = random() >> (random() % 64);
    const uint64_t low = random() >> (random() % 64);
    if (low > UINT64_MAX - 1 - distance)
      continue;
    range.low_pc = low;
    range.high_pc = UINT64_MAX;
    range.bins = {.scale = static_cast<uint32_t>(random() >> (random() % 32 + 32)),
                  .abi = static_cast<tally::ProfilAbi>(abi),
                  .strict = random() % 2 == 0};
    const uint64_t expected =
        model(abi, distance, range.bins.scale, range.bins.strict, Wide{range.counters.size()} * 2);
    ASSERT_EQ(range.bin_of(low + distance),
              expected == outside ? range.counters.size() : static_cast<size_t>(expected))
        << "abi " << int{abi} << " distance " << distance << " scale " << range.bins.scale;
  }
}

TEST(ProfilIndex, RecognizesScalesThatDisableProfiling) {
  for (const uint32_t scale : {0u, 1u, 0x10000u, 0x10001u, 0x20001u, 0xFFFF0000u})
    EXPECT_EQ(index_of(TALLY_PROFIL_AIX, 0, scale), outside) << scale;
  EXPECT_EQ(index_of(TALLY_PROFIL_AIX, 6, 0x1FFFF), index_of(TALLY_PROFIL_AIX, 6, 0xFFFF));
  EXPECT_EQ(index_of(TALLY_PROFIL_BSD, 0, 0), outside);
  EXPECT_EQ(index_of(TALLY_PROFIL_BSD, 0, 1), 0u);
  EXPECT_EQ(index_of(TALLY_PROFIL_BSD, 0, 0x10001), outside);
  EXPECT_EQ(index_of(TALLY_PROFIL_GLIBC, 1'000'000, 0), 0u);
}

TEST(ProfilIndex, ScaleTwoCountsEverythingInTheFirstShort) {
  for (const uint64_t distance : {uint64_t{0}, uint64_t{32767}, uint64_t{32768}, uint64_t{1} << 60})
    EXPECT_EQ(index_of(TALLY_PROFIL_AIX, distance, 2, false, 2), 0u);
  EXPECT_EQ(index_of(TALLY_PROFIL_AIX, 32767, 2, true, 2), 0u);
  EXPECT_EQ(index_of(TALLY_PROFIL_AIX, 32768, 2, true, 2), outside);
}

TEST(ProfilIndex, ABufferHoldsWholeShorts) {
  EXPECT_EQ(index_of(TALLY_PROFIL_AIX, 0, 0xFFFF, false, 0), outside);
  EXPECT_EQ(index_of(TALLY_PROFIL_AIX, 0, 0xFFFF, false, 1), outside);
  EXPECT_EQ(index_of(TALLY_PROFIL_AIX, 0, 0xFFFF, false, 3), 0u);
  EXPECT_EQ(index_of(TALLY_PROFIL_AIX, 2, 0xFFFF, false, 3), outside);
  EXPECT_EQ(index_of(TALLY_PROFIL_AIX, 2, 0xFFFF, false, 4), 1u);
}

TEST(ProfilIndex, AFittedScaleCoversTheRangeToItsTop) {
  std::mt19937_64 random(32);
  EXPECT_EQ(tally_profil_fit(0, 100, 100), 0xFFFFu);
  EXPECT_EQ(tally_profil_fit(0, 100, 50), 0x8000u);
  EXPECT_EQ(tally_profil_fit(0, UINT64_MAX, 2), 2u);
  for (int round = 0; round < 100'000; ++round) {
    const uint64_t low = random() >> (1 + random() % 63);
    const uint64_t span = 1 + (random() >> (2 + random() % 62));
    const uint64_t bytes = 2 + (random() >> (2 + random() % 62));
    const uint32_t scale = tally_profil_fit(low, low + span, bytes);
    const Wide exact = (Wide{bytes} << 16) / span;
    ASSERT_EQ(scale, static_cast<uint32_t>(std::clamp<Wide>(exact, 2, 0xFFFF)));
    const tally_profil_map map{low, low + span, bytes, scale, TALLY_PROFIL_AIX, 0, 1};
    ASSERT_LT(tally_profil_index(&map, low + span - 1), bytes / 2);
    ASSERT_EQ(tally_profil_index(&map, low + span), outside);
  }
}

TEST(ProfilIndex, BinsAreContiguousAndBeginAtTheirFirstPc) {
  std::mt19937_64 random(33);
  for (int round = 0; round < 20'000; ++round) {
    tally_profil_map map{random() % 1000,
                         0,
                         random() % 40,
                         static_cast<uint32_t>(random() % 0x10003),
                         static_cast<uint8_t>(random() % 3),
                         random() % 2 == 0,
                         random() % 4 == 0};
    map.high = map.low + 1 + random() % 80;
    for (uint64_t index = 0; index < 24; ++index) {
      uint64_t first = UINT64_MAX;
      for (uint64_t pc = map.low; pc < map.high && first == UINT64_MAX; ++pc)
        if (tally_profil_index(&map, pc) >= index)
          first = pc;
      ASSERT_EQ(tally_profil_first_pc(&map, index), first);
    }
    for (uint64_t pc = map.low + 1; pc < map.high; ++pc)
      ASSERT_LE(tally_profil_index(&map, pc - 1), tally_profil_index(&map, pc));
  }
}

} // namespace
