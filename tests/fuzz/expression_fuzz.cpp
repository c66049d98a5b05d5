// Evaluates arbitrary operations as DWARF expressions. Each evaluation ends, and stays within its
// budget of operations.
#include <cstring>
#include <vector>

#include "fuzz_target.h"
#include "require.h"
#include "symbolize/unwind/expression.h"

namespace tally::expression_fuzz {

namespace {

uint64_t take_word(const uint8_t *&data, size_t &size) {
  uint64_t word = 0;
  const size_t some = std::min(size, sizeof word);
  std::memcpy(&word, data, some);
  data += some;
  size -= some;
  return word;
}

} // namespace

// An operation is one byte, one that says which operands follow, and these. Its offset is its
// number or, if the second byte says so, a word of the input.
FUZZ_TARGET(expression) {
  std::vector<Dwarf_Op> ops;
  while (size >= 2 && ops.size() < 64) {
    Dwarf_Op op{};
    op.atom = data[0];
    const uint8_t has = data[1];
    data += 2;
    size -= 2;
    if (has & 1)
      op.number = take_word(data, size);
    if (has & 2)
      op.number2 = take_word(data, size);
    op.offset = has & 4 ? take_word(data, size) : ops.size();
    ops.push_back(op);
  }
  symbolize::ExpressionInput input;
  input.register_value = [](uint64_t number) {
    return number < 17 ? std::optional(number * 0x1000) : std::nullopt;
  };
  input.word_at = [](uint64_t address) {
    return address % 3 == 0 ? std::nullopt : std::optional(address ^ 0x55);
  };
  for (const bool knows_cfa : {false, true}) {
    input.cfa = knows_cfa ? std::optional<uint64_t>(0x2000) : std::nullopt;
    constexpr uint32_t most = 10'000;
    uint32_t budget = most;
    input.budget = &budget;
    const auto first = symbolize::evaluate(ops, input);
    require(budget <= most, "the budget does not grow");
    uint32_t again = most;
    input.budget = &again;
    require(symbolize::evaluate(ops, input) == first && again == budget, "the same result");
    uint32_t none = 0;
    input.budget = &none;
    require(ops.empty() || !symbolize::evaluate(ops, input), "nothing without a budget");
  }
  return 0;
}

} // namespace tally::expression_fuzz
