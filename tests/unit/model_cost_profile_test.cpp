#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "model/cost_profile.h"

namespace tally::model_cost_profile_test {
namespace {

using Costs = std::vector<uint64_t>;
constexpr uint64_t wide = std::numeric_limits<uint32_t>::max(); // escaped in a CostTable

Costs row_of(const CostTable &table, uint32_t row, size_t width) {
  Costs out(width, 77);
  table.get(row, out);
  return out;
}

TEST(CostTable, KeepsItsRows) {
  std::mt19937_64 random(21);
  const Costs kinds{0, 0, 1, 1000, wide - 1, wide, wide + 1, ~uint64_t{0}, uint64_t{1} << 32};
  for (size_t width = 0; width < 6; ++width) {
    CostTable table;
    std::vector<Costs> rows;
    for (int i = 0; i < 500; ++i) {
      Costs row(width);
      for (uint64_t &cost : row)
        cost = kinds[random() % kinds.size()];
      ASSERT_TRUE(table.push(row));
      rows.push_back(std::move(row));
    }
    ASSERT_EQ(table.rows(), rows.size());
    for (uint32_t i = 0; i < rows.size(); ++i)
      ASSERT_EQ(row_of(table, i, width), rows[i]);
  }
}

TEST(CostTable, StoresSmallCostsInAByteAndOmitsTrailingZeros) {
  CostTable zeros, ones, wides;
  const Costs many_zeros(13, 0), one_then_zeros{1, 0, 0, 0}, wide_one{wide};
  constexpr uint32_t rows = 1 << 16;
  for (uint32_t i = 0; i < rows; ++i) {
    ASSERT_TRUE(zeros.push(many_zeros));
    ASSERT_TRUE(ones.push(one_then_zeros));
    ASSERT_TRUE(wides.push(wide_one));
  }
  constexpr size_t chunk = size_t{1} << 16; // the last chunk may hold a single row
  EXPECT_LE(zeros.memory_bytes(), rows * (4 + 1) + chunk);
  EXPECT_LE(ones.memory_bytes(), rows * (4 + 2) + chunk);
  EXPECT_LE(wides.memory_bytes(), rows * (4 + 6) + chunk);
  EXPECT_EQ(row_of(ones, rows - 1, 4), one_then_zeros);
  EXPECT_EQ(row_of(ones, 0, 6), (Costs{1, 0, 0, 0, 0, 0})); // more events than are stored
}

TEST(CostTable, CanBeReusedAfterAMove) {
  CostTable first;
  ASSERT_TRUE(first.push(Costs{1, 2}));
  CostTable second = std::move(first);
  ASSERT_TRUE(first.push(Costs{3})); // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(row_of(first, 0, 1), Costs{3});
  EXPECT_EQ(row_of(second, 0, 2), (Costs{1, 2}));
  second = std::move(first);
  EXPECT_EQ(row_of(second, 0, 1), Costs{3});
}

class CostProfileTest : public testing::Test {
protected:
  CostProfileTest() {
    builder.add_event("Ir");
    builder.add_event("Dr");
    part = builder.add_part({});
    file = builder.add_file("a.c");
    function = builder.add_function("f", file, builder.add_object("/bin/a"));
  }
  CostProfileBuilder builder;
  CostPartId part{};
  FileId file{};
  CostFunctionId function{};
};

TEST_F(CostProfileTest, UnifiesNamesAndUnknownNames) {
  EXPECT_EQ(builder.add_object("???"), builder.add_object(""));
  EXPECT_EQ(builder.add_file("???"), builder.add_file(""));
  EXPECT_EQ(builder.add_file("a.c"), file);
  EXPECT_EQ(builder.add_function("f", file, builder.add_object("/bin/a")), function);
  EXPECT_NE(builder.add_function("f", file, builder.add_object("/bin/b")), function);
  EXPECT_NE(builder.add_function("f", builder.add_file("b.c"), builder.add_object("/bin/a")),
            function);
}

TEST_F(CostProfileTest, ContinuesABlockOfTheSameFunction) {
  builder.begin_block(part, function, file);
  builder.add_cost({0, 1}, Costs{1, 2});
  builder.begin_block(part, function, file);
  builder.add_cost({0, 2}, Costs{3});
  builder.begin_block(part, function, builder.add_file("b.h"));
  builder.add_call({{0, 3}, function, {0, 1}, 4}, Costs{5});
  builder.set_inclusive(function, Costs{9});
  const auto profile = builder.finish();
  ASSERT_TRUE(profile) << profile.error().text();
  ASSERT_EQ(profile->blocks().size(), 2u);
  EXPECT_EQ(profile->blocks()[BlockId{0}].last_cost, 2u);
  EXPECT_EQ(profile->blocks()[BlockId{1}].first_call, 0u);
  EXPECT_EQ(profile->blocks()[BlockId{1}].last_call, 1u);
  EXPECT_EQ(Costs(profile->totals().begin(), profile->totals().end()), (Costs{4, 2}));
  ASSERT_TRUE(profile->has_inclusive());
  EXPECT_EQ(profile->inclusive(function)[0], 9u);
  EXPECT_EQ(profile->inclusive(function)[1], 0u);
}

TEST_F(CostProfileTest, RefusesATotalBeyond64Bits) {
  builder.begin_block(part, function, file);
  builder.add_cost({0, 1}, Costs{0, ~uint64_t{0}});
  builder.add_cost({0, 2}, Costs{0, 1});
  const auto profile = builder.finish();
  ASSERT_FALSE(profile);
  EXPECT_EQ(profile.error().code, ErrorCode::overflow);
  EXPECT_NE(profile.error().message.find("Dr"), std::string::npos);
}

TEST(ValidateCostProfile, ChecksEachRule) {
  using Break = void (*)(CostProfileBuilder &, CostPartId, CostFunctionId, FileId);
  const std::vector<std::pair<const char *, Break>> cases{
      {"has no file or object", [](CostProfileBuilder &b, CostPartId, CostFunctionId,
                                   FileId file) { b.add_function("g", file, ObjectId{7}); }},
      {"has no file or object", [](CostProfileBuilder &b, CostPartId, CostFunctionId,
                                   FileId) { b.add_function("g", FileId{7}, ObjectId{0}); }},
      {"a block has no part", [](CostProfileBuilder &b, CostPartId, CostFunctionId function,
                                 FileId file) { b.begin_block(CostPartId{3}, function, file); }},
      {"a block has no part", [](CostProfileBuilder &b, CostPartId part, CostFunctionId,
                                 FileId file) { b.begin_block(part, CostFunctionId{3}, file); }},
      {"a block has no part", [](CostProfileBuilder &b, CostPartId part, CostFunctionId function,
                                 FileId) { b.begin_block(part, function, FileId{9}); }},
      {"a call has a callee that does not exist",
       [](CostProfileBuilder &b, CostPartId part, CostFunctionId function, FileId file) {
         b.begin_block(part, function, file);
         b.add_call({{}, CostFunctionId{9}, {}, 1}, Costs{1});
       }},
      {"a jump has a target file or function that does not exist",
       [](CostProfileBuilder &b, CostPartId part, CostFunctionId function, FileId file) {
         b.begin_block(part, function, file);
         CostJump jump;
         jump.target_function = CostFunctionId{9};
         b.add_jump(jump);
       }},
  };
  for (const auto &[message, damage] : cases) {
    CostProfileBuilder builder;
    builder.add_event("Ir");
    const FileId file = builder.add_file("a.c");
    damage(builder, builder.add_part({}), builder.add_function("f", file, builder.add_object("o")),
           file);
    const auto profile = builder.finish();
    ASSERT_FALSE(profile) << message;
    EXPECT_NE(profile.error().message.find(message), std::string::npos) << profile.error().text();
  }
  CostProfileBuilder no_block;
  no_block.add_event("Ir");
  EXPECT_FALSE(no_block.add_cost({}, Costs{1}));
  no_block.add_call({}, Costs{1});
  no_block.add_jump({});
  EXPECT_FALSE(no_block.finish());

  CostProfileBuilder no_events;
  EXPECT_NE(no_events.finish().error().message.find("no events"), std::string::npos);
}

} // namespace
} // namespace tally::model_cost_profile_test
