#include "symbolize/unwind/lost_frame.h"

#include <algorithm>
#include <cstring>

#include "symbolize/unwind/operand_size.h"

namespace tally::symbolize {

namespace {

using namespace std::string_view_literals;

constexpr size_t kept_frame_pointer = 1; // its index in UnwindMachine::kept
static_assert(x86_64.kept[kept_frame_pointer] == x86_64.number.fp);

// The encodings of instructions are those of Intel's manual, volume 2.
constexpr std::string_view endbr64 = "\xf3\x0f\x1e\xfa"sv;

uint8_t byte_at(std::string_view code, size_t at) {
  return at < code.size() ? static_cast<uint8_t>(code[at]) : uint8_t{0};
}

int64_t offset_at(std::string_view code, size_t at) {
  int32_t value = 0;
  if (code.size() >= at + sizeof value)
    std::memcpy(&value, code.data() + at, sizeof value);
  return value;
}

bool take(std::string_view &code, std::string_view instruction) {
  if (!code.starts_with(instruction))
    return false;
  code.remove_prefix(instruction.size());
  return true;
}

struct Prologue {
  uint64_t bytes = 0; // the least distance from the stack pointer to the frame pointer
  bool whole = false; // the instructions are all that an unoptimized function begins with
  size_t end = 0;     // their length
};

// Reads `push %rbp; mov %rsp,%rbp`, pushes, and `sub $size,%rsp`.
Prologue read_prologue(std::string_view code) {
  const size_t all = code.size();
  Prologue out;
  take(code, endbr64);
  if (!take(code, "\x55"sv) || (!take(code, "\x48\x89\xe5"sv) && !take(code, "\x48\x8b\xec"sv)))
    return out;
  out.whole = true;
  for (;; out.bytes += sizeof(uint64_t)) {
    const bool high = byte_at(code, 0) == 0x41;
    if ((byte_at(code, high ? 1 : 0) & 0xf8) != 0x50)
      break;
    code.remove_prefix(high ? 2 : 1);
  }
  constexpr size_t with_byte = 4, with_word = 7;
  out.end = all - code.size();
  if (code.starts_with("\x48\x83\xec"sv)) {
    out.bytes += static_cast<uint64_t>(std::max<int64_t>(static_cast<int8_t>(byte_at(code, 3)), 0));
    out.end += with_byte;
  } else if (code.starts_with("\x48\x81\xec"sv)) {
    out.bytes += static_cast<uint64_t>(std::max<int64_t>(offset_at(code, 3), 0));
    out.end += with_word;
  }
  return out;
}

// Returns whether code may change the stack pointer otherwise than by pushes and calls: `sub`,
// `mov`, `and` or `lea` to %rsp. Other bytes may look the same.
bool may_move_stack_pointer(std::string_view code) {
  for (size_t at = 0; at + 2 < code.size(); ++at) {
    const uint8_t prefix = byte_at(code, at), opcode = byte_at(code, at + 1),
                  operand = byte_at(code, at + 2);
    if ((prefix & 0xf0) != 0x40) // REX
      continue;
    const bool writes_rm = (operand & 0xc7) == 0xc4, writes_reg = (operand & 0x38) == 0x20;
    if (((opcode == 0x29 || opcode == 0x89) && writes_rm) ||
        ((opcode == 0x2b || opcode == 0x8b || opcode == 0x8d) && writes_reg && (prefix & 4) == 0) ||
        ((opcode == 0x81 || opcode == 0x83) && (operand & 0xc7) == 0xc4))
      return true;
  }
  return false;
}

enum class Call : uint8_t { none, maybe, to_the_start };

constexpr size_t direct_call = 5; // bytes

bool ends_with_direct_call(std::string_view code) {
  return code.size() >= direct_call && byte_at(code, code.size() - direct_call) == 0xe8;
}

// `call *` has the opcode ff /2 and an operand of one to six bytes.
bool ends_with_indirect_call(std::string_view code) {
  for (size_t size = 2; size <= code.size(); ++size) {
    const size_t at = code.size() - size;
    const uint8_t operand = byte_at(code, at + 1);
    if (byte_at(code, at) != 0xff || (operand & 0x38) != 0x10)
      continue;
    if (size == 1 + operand_size(code.substr(at + 1)))
      return true;
  }
  return false;
}

// Says whether the instruction before a return address may have called the function.
Call call_before(const LostFrame &lost, uint64_t returns) {
  const std::string code = lost.code_at(returns - longest_call, longest_call);
  if (code.size() == longest_call && ends_with_direct_call(code)) {
    const uint64_t target = returns + static_cast<uint64_t>(offset_at(code, code.size() - 4));
    if (target == lost.start)
      return Call::to_the_start;
    // An entry of the procedure linkage table jumps by a word in memory.
    const std::string at_target = lost.code_at(target, endbr64.size() + 3);
    std::string_view stub = at_target;
    take(stub, endbr64);
    take(stub, "\xf2"sv);
    if (stub.starts_with("\xff\x25"sv))
      return Call::maybe;
  }
  return ends_with_indirect_call(code) ? Call::maybe : Call::none;
}

class Search {
public:
  explicit Search(const LostFrame &lost) : lost_(lost) {}

  // Says whether the word at an address may be the function's return address.
  Call at(uint64_t slot) const {
    const auto returns = lost_.word_at(slot);
    if (!returns || *returns == 0)
      return Call::none;
    const Call call = call_before(lost_, *returns);
    return call != Call::none && is_plausible(slot, *returns) ? call : Call::none;
  }
  uint64_t slot_of(uint64_t frame_pointer) const { return frame_pointer + distance_; }
  uint64_t frame_pointer_of(uint64_t slot) const { return slot - distance_; }

private:
  // A caller that needs its frame pointer has it further up on the stack.
  bool is_plausible(uint64_t slot, uint64_t returns) const {
    if (!lost_.needs_frame_pointer(returns - 1))
      return true;
    const int16_t saved = lost_.row->saved[kept_frame_pointer];
    if (saved == UnwindRow::same || saved == UnwindRow::unknown)
      return false;
    const uint64_t cfa = slot - static_cast<uint64_t>(int64_t{8} * lost_.row->returns);
    const auto callers = lost_.word_at(cfa + static_cast<uint64_t>(int64_t{8} * saved));
    return callers && *callers > slot && *callers % sizeof(uint64_t) == 0;
  }

  const LostFrame &lost_;
  // From the frame pointer to the return address.
  uint64_t distance_ = static_cast<uint64_t>(int64_t{lost_.row->cfa_offset}) +
                       static_cast<uint64_t>(int64_t{8} * lost_.row->returns);
};

} // namespace

std::optional<FoundFrame> find_lost_frame(const LostFrame &lost) {
  const Search search(lost);
  const Prologue prologue = read_prologue(lost.code);
  const uint64_t first = search.slot_of(lost.sp + prologue.bytes);
  const bool is_fixed = prologue.whole && prologue.end <= lost.code.size() &&
                        lost.code.size() < LostFrame::most_code_bytes &&
                        !may_move_stack_pointer(std::string_view(lost.code).substr(prologue.end));
  if (is_fixed && search.at(first) != Call::none)
    return FoundFrame{search.frame_pointer_of(first), false};
  std::optional<FoundFrame> guess;
  for (uint64_t slot = first; lost.word_at(slot); slot += sizeof(uint64_t)) {
    const Call call = search.at(slot);
    if (call != Call::none && (call == Call::to_the_start || !guess))
      guess = FoundFrame{search.frame_pointer_of(slot), true};
    if (call == Call::to_the_start)
      break;
  }
  return guess;
}

bool ends_with_call(std::string_view code) {
  return ends_with_direct_call(code) || ends_with_indirect_call(code);
}

} // namespace tally::symbolize
