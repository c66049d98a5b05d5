// Tests DWARF expressions against values that were computed by hand.
#include <map>

#include <dwarf.h>
#include <gtest/gtest.h>

#include "symbolize/unwind/expression.h"

namespace tally::symbolize {
namespace {

Dwarf_Op op(int atom, uint64_t number = 0, uint64_t number2 = 0, uint64_t offset = 0) {
  return {static_cast<uint8_t>(atom), number, number2, offset};
}

ExpressionInput input() {
  ExpressionInput out;
  out.register_value = [](uint64_t number) {
    return number == 7 ? std::optional<uint64_t>(0x1000) : std::nullopt;
  };
  out.word_at = [](uint64_t address) {
    return address == 0x1010 ? std::optional<uint64_t>(42) : std::nullopt;
  };
  out.cfa = 0x2000;
  return out;
}

std::optional<uint64_t> value(std::vector<Dwarf_Op> ops) { return evaluate(ops, input()); }

TEST(SymbolizeExpression, EvaluatesEachOperation) {
  const std::vector<Dwarf_Op> nine_and_four = {op(DW_OP_lit9), op(DW_OP_lit4)};
  const std::map<int, uint64_t> two_operands = {
      {DW_OP_plus, 13},   {DW_OP_minus, 5},  {DW_OP_mul, 36}, {DW_OP_and, 0}, {DW_OP_or, 13},
      {DW_OP_xor, 13},    {DW_OP_shl, 144},  {DW_OP_shr, 0},  {DW_OP_eq, 0},  {DW_OP_ne, 1},
      {DW_OP_lt, 0},      {DW_OP_le, 0},     {DW_OP_gt, 1},   {DW_OP_ge, 1},  {DW_OP_shra, 0},
      {DW_OP_swap, 9},    {DW_OP_over, 9},   {DW_OP_drop, 9}, {DW_OP_dup, 4}, {DW_OP_nop, 4},
      {DW_OP_not, ~4ULL}, {DW_OP_neg, -4ULL}};
  for (const auto &[atom, expected] : two_operands) {
    auto ops = nine_and_four;
    ops.push_back(op(atom));
    EXPECT_EQ(value(ops), expected) << atom;
  }
  const std::map<int, uint64_t> of_equals = {{DW_OP_eq, 1}, {DW_OP_ne, 0}, {DW_OP_lt, 0},
                                             {DW_OP_le, 1}, {DW_OP_gt, 0}, {DW_OP_ge, 1}};
  for (const auto &[atom, expected] : of_equals)
    EXPECT_EQ(value({op(DW_OP_lit4), op(DW_OP_lit4), op(atom)}), expected) << atom;
  EXPECT_EQ(value({op(DW_OP_const8s, -16ULL), op(DW_OP_lit2), op(DW_OP_shra)}), -4ULL);
  EXPECT_EQ(value({op(DW_OP_const8s, -16ULL), op(DW_OP_abs)}), 16u);
  EXPECT_EQ(value({op(DW_OP_const8s, -1ULL), op(DW_OP_lit0), op(DW_OP_lt)}), 1u);
  EXPECT_EQ(value({op(DW_OP_lit1), op(DW_OP_const1u, 64), op(DW_OP_shl)}), 0u);
  EXPECT_EQ(value({op(DW_OP_lit1), op(DW_OP_lit2), op(DW_OP_lit3), op(DW_OP_rot)}), 2u);
  EXPECT_EQ(value({op(DW_OP_lit1), op(DW_OP_lit2), op(DW_OP_lit3), op(DW_OP_pick, 2)}), 1u);
  EXPECT_EQ(value({op(DW_OP_breg7, 16), op(DW_OP_deref)}), 42u);
  EXPECT_EQ(value({op(DW_OP_bregx, 7, 16), op(DW_OP_deref), op(DW_OP_plus_uconst, 1)}), 43u);
  EXPECT_EQ(value({op(DW_OP_call_frame_cfa), op(DW_OP_plus_uconst, -8ULL)}), 0x1ff8u);
}

TEST(SymbolizeExpression, FollowsJumps) {
  // 0: lit1; 1: bra +1 (to 5); 4: lit7; 5: lit3
  EXPECT_EQ(value({op(DW_OP_lit1, 0, 0, 0), op(DW_OP_bra, 1, 0, 1), op(DW_OP_lit7, 0, 0, 4),
                   op(DW_OP_lit3, 0, 0, 5), op(DW_OP_nop, 0, 0, 6)}),
            3u);
  EXPECT_EQ(value({op(DW_OP_lit5, 0, 0, 0), op(DW_OP_skip, 1, 0, 1), op(DW_OP_lit7, 0, 0, 4)}), 5u);
  // An infinite loop.
  EXPECT_EQ(value({op(DW_OP_lit1, 0, 0, 0), op(DW_OP_skip, static_cast<uint16_t>(-3), 0, 1)}),
            std::nullopt);
}

TEST(SymbolizeExpression, ReturnsNothingForUnknownValues) {
  EXPECT_EQ(value({}), std::nullopt);
  EXPECT_EQ(value({op(DW_OP_plus)}), std::nullopt);
  EXPECT_EQ(value({op(DW_OP_breg3)}), std::nullopt);
  EXPECT_EQ(value({op(DW_OP_lit8), op(DW_OP_deref)}), std::nullopt);
  EXPECT_EQ(value({op(DW_OP_lit1), op(DW_OP_lit1), op(DW_OP_div)}), std::nullopt);
  EXPECT_EQ(value(std::vector(200, op(DW_OP_lit1))), std::nullopt);
}

} // namespace
} // namespace tally::symbolize
