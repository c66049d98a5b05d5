#include "steps.h"

#include <array>
#include <cstring>
#include <iterator>
#include <optional>

namespace tally_lldb {

namespace {

constexpr uint64_t longest_instruction = 15; // bytes on x86; 2 or 4 elsewhere

template <class Value> Value value_at(const unsigned char *bytes) {
  Value out;
  std::memcpy(&out, bytes, sizeof out);
  return out;
}

// Decodes the target of a jump or call. The opcodes are in the one-byte and two-byte opcode maps of
// Intel's manual (volume 2, appendix A).
uint64_t decoded(const unsigned char *code, uint64_t pc) {
  const unsigned char first = *code;
  // skips a prefix: bnd, notrack, REX, or rep before a return
  if (first == 0xf2 || first == 0xf3 || first == 0x3e || (first & 0xf0) == 0x40) {
    ++code;
    ++pc;
  }
  const auto relative = [&](unsigned length, int64_t offset) {
    return pc + length + static_cast<uint64_t>(offset);
  };
  if (*code == 0xe8 || *code == 0xe9) // call, jmp rel32
    return relative(5, value_at<int32_t>(code + 1));
  if (*code == 0xeb || (*code & 0xf0) == 0x70 || (*code & 0xfc) == 0xe0) // jmp, jcc, loop rel8
    return relative(2, value_at<int8_t>(code + 1));
  if (*code == 0x0f && (code[1] & 0xf0) == 0x80) // jcc rel32
    return relative(6, value_at<int32_t>(code + 2));
  if (*code == 0xc2 || *code == 0xc3) // ret
    return Steps::caller;
  constexpr unsigned char near_call = 2; // the reg field of the ModR/M byte
  if (*code == 0xff && (code[1] >> 3 & 7) == near_call)
    return Steps::anywhere;
  return 0;
}

} // namespace

uint64_t Steps::from(lldb::SBProcess &process, lldb::SBThread thread, uint64_t pc) {
  std::optional<uint64_t> to;
  {
    const std::lock_guard lock(mutex_);
    if (const auto at = known_.find(pc); at != known_.end())
      to = at->second;
  }
  lldb::SBError error;
  if (!to) {
    std::array<unsigned char, 7> code{};
    if (process.ReadMemory(pc, code.data(), code.size(), error) == 0)
      return 0;
    to = decoded(code.data(), pc);
    const std::lock_guard lock(mutex_);
    known_.emplace(pc, *to);
  }
  return *to == caller && thread.IsValid()
             ? process.ReadPointerFromMemory(thread.GetFrameAtIndex(0).GetSP(), error)
             : *to;
}

void Steps::add_address(lldb::SBProcess &process, uint64_t pc, bool is_x86_64) {
  {
    const std::lock_guard lock(mutex_);
    if (addresses_.contains(pc))
      return;
  }
  const uint64_t to = is_x86_64 ? from(process, {}, pc) : 0;
  const std::lock_guard lock(mutex_);
  const auto at = addresses_.insert(pc).first;
  from_.emplace(to, pc);
  const auto [first, last] = from_.equal_range(pc);
  for (auto each = first; each != last; ++each)
    near_.insert(each->second);
  if (at != addresses_.begin() && pc - *std::prev(at) <= longest_instruction)
    near_.insert(*std::prev(at));
  if (to == anywhere || to == caller || addresses_.contains(to) ||
      (std::next(at) != addresses_.end() && *std::next(at) - pc <= longest_instruction))
    near_.insert(pc);
}

bool Steps::has_addresses() {
  const std::lock_guard lock(mutex_);
  return !addresses_.empty();
}

bool Steps::are_any_near() {
  const std::lock_guard lock(mutex_);
  return !near_.empty();
}

bool Steps::is_near(uint64_t pc) {
  const std::lock_guard lock(mutex_);
  return near_.contains(pc);
}

std::vector<uint64_t> Steps::behind(uint64_t pc) {
  const std::lock_guard lock(mutex_);
  return {addresses_.upper_bound(pc), addresses_.upper_bound(pc + longest_instruction)};
}

void Steps::clear() {
  const std::lock_guard lock(mutex_);
  known_.clear();
  addresses_.clear();
  near_.clear();
  from_.clear();
}

} // namespace tally_lldb
