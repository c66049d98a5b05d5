#include "symbolize/unwind/expression.h"

#include <array>

#include <dwarf.h>

namespace tally::symbolize {

namespace {

// Limits the number of steps, because an expression of a damaged file may loop.
constexpr size_t most_steps = 1000;

class Machine {
public:
  explicit Machine(const ExpressionInput &input) : input_(input) {}

  std::optional<uint64_t> run(std::span<const Dwarf_Op> ops) {
    size_t at = 0;
    for (size_t step = 0; at < ops.size(); ++step) {
      if (step == most_steps || bad_ || !take(1))
        return std::nullopt;
      const Dwarf_Op &op = ops[at];
      if (op.atom == DW_OP_skip || op.atom == DW_OP_bra) {
        const bool jumps = op.atom == DW_OP_skip || pop() != 0;
        at = jumps ? target(ops, op) : at + 1;
        continue;
      }
      execute(op);
      ++at;
    }
    if (bad_ || depth_ == 0)
      return std::nullopt;
    return pop();
  }

private:
  bool take(size_t operations) {
    if (!input_.budget)
      return true;
    const bool enough = operations <= *input_.budget;
    *input_.budget -= enough ? static_cast<uint32_t>(operations) : *input_.budget;
    return enough;
  }

  // Returns the index of the operation to which a jump leads. The distance of a jump counts bytes
  // from the end of the jump, which has three bytes. Each operation's offset is in bytes, too.
  size_t target(std::span<const Dwarf_Op> ops, const Dwarf_Op &jump) {
    const auto wanted = jump.offset + 3 + static_cast<uint64_t>(static_cast<int16_t>(jump.number));
    size_t at = 0;
    while (at < ops.size() && ops[at].offset != wanted)
      ++at;
    // A jump behind the last operation ends the expression; a jump into the middle of an operation
    // is an error.
    if (!take(at) || (at == ops.size() && (wanted <= ops.back().offset || wanted > INT32_MAX)))
      bad_ = true;
    return at;
  }

  void push(std::optional<uint64_t> value) {
    if (!value || depth_ == stack_.size())
      bad_ = true;
    else
      stack_[depth_++] = *value;
  }
  uint64_t pop() {
    if (depth_ == 0) {
      bad_ = true;
      return 0;
    }
    return stack_[--depth_];
  }
  uint64_t peek(uint64_t below) {
    if (below >= depth_) {
      bad_ = true;
      return 0;
    }
    return stack_[depth_ - 1 - below];
  }

  void execute(const Dwarf_Op &op) {
    if (op.atom >= DW_OP_lit0 && op.atom <= DW_OP_lit31) {
      push(op.atom - DW_OP_lit0);
    } else if (op.atom >= DW_OP_breg0 && op.atom <= DW_OP_breg31) {
      push_register(op.atom - DW_OP_breg0, op.number);
    } else if (op.atom == DW_OP_bregx) {
      push_register(op.number, op.number2);
    } else if (!push_or_shuffle(op)) {
      compute(op);
    }
  }

  void push_register(uint64_t number, uint64_t offset) {
    const auto value = input_.register_value(number);
    push(value ? std::optional(*value + offset) : std::nullopt);
  }

  bool push_or_shuffle(const Dwarf_Op &op) {
    switch (op.atom) {
    case DW_OP_addr:
    case DW_OP_const1u:
    case DW_OP_const2u:
    case DW_OP_const4u:
    case DW_OP_const8u:
    case DW_OP_const1s: // libdw has already extended the sign
    case DW_OP_const2s:
    case DW_OP_const4s:
    case DW_OP_const8s:
    case DW_OP_constu:
    case DW_OP_consts:
      push(op.number);
      return true;
    case DW_OP_call_frame_cfa:
      push(input_.cfa);
      return true;
    case DW_OP_dup:
      push(peek(0));
      return true;
    case DW_OP_over:
      push(peek(1));
      return true;
    case DW_OP_pick:
      push(peek(op.number));
      return true;
    case DW_OP_drop:
      pop();
      return true;
    case DW_OP_swap: {
      const uint64_t top = pop(), second = pop();
      push(top);
      push(second);
      return true;
    }
    case DW_OP_rot: {
      const uint64_t top = pop(), second = pop(), third = pop();
      push(top);
      push(third);
      push(second);
      return true;
    }
    case DW_OP_deref:
      push(input_.word_at(pop()));
      return true;
    case DW_OP_nop:
      return true;
    default:
      return false;
    }
  }

  void compute(const Dwarf_Op &op) {
    switch (op.atom) {
    case DW_OP_plus_uconst:
      push(pop() + op.number);
      return;
    case DW_OP_neg:
      push(~pop() + 1);
      return;
    case DW_OP_not:
      push(~pop());
      return;
    case DW_OP_abs: {
      const uint64_t value = pop();
      push(value >> 63 ? ~value + 1 : value);
      return;
    }
    default:
      break;
    }
    const uint64_t right = pop(), left = pop();
    const auto signed_left = static_cast<int64_t>(left), signed_right = static_cast<int64_t>(right);
    switch (op.atom) {
    case DW_OP_plus:
      return push(left + right);
    case DW_OP_minus:
      return push(left - right);
    case DW_OP_mul:
      return push(left * right);
    case DW_OP_and:
      return push(left & right);
    case DW_OP_or:
      return push(left | right);
    case DW_OP_xor:
      return push(left ^ right);
    case DW_OP_shl:
      return push(right < 64 ? left << right : 0);
    case DW_OP_shr:
      return push(right < 64 ? left >> right : 0);
    case DW_OP_shra:
      return push(static_cast<uint64_t>(signed_left >> (right < 64 ? right : 63)));
    case DW_OP_eq:
      return push(left == right);
    case DW_OP_ne:
      return push(left != right);
    case DW_OP_lt:
      return push(signed_left < signed_right);
    case DW_OP_le:
      return push(signed_left <= signed_right);
    case DW_OP_gt:
      return push(signed_left > signed_right);
    case DW_OP_ge:
      return push(signed_left >= signed_right);
    default:
      bad_ = true; // including division, which no compiler writes here
    }
  }

  const ExpressionInput &input_;
  std::array<uint64_t, 64> stack_{};
  size_t depth_ = 0;
  bool bad_ = false;
};

} // namespace

std::optional<uint64_t> evaluate(std::span<const Dwarf_Op> ops, const ExpressionInput &input) {
  return Machine(input).run(ops);
}

} // namespace tally::symbolize
