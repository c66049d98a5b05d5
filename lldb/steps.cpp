#include "steps.h"

#include <array>
#include <cstring>
#include <optional>

namespace tally_lldb {

namespace {

constexpr uint64_t caller = UINT64_MAX; // the step leads to an address on the stack

template <class Value> Value value_at(const unsigned char *bytes) {
  Value out;
  std::memcpy(&out, bytes, sizeof out);
  return out;
}

Step decoded(lldb::SBProcess &process, uint64_t pc) {
  constexpr size_t longest = 5;
  std::array<unsigned char, longest> code{};
  lldb::SBError error;
  const size_t size = process.ReadMemory(pc, code.data(), code.size(), error);
  const auto relative = [&](size_t length, int64_t offset) {
    return size < length ? 0 : pc + length + static_cast<uint64_t>(offset);
  };
  switch (code[0]) {
  case 0xe8: // call rel32
    return {relative(5, value_at<int32_t>(&code[1])), false};
  case 0xe9: // jmp rel32
    return {relative(5, value_at<int32_t>(&code[1])), true};
  case 0xeb: // jmp rel8
    return {relative(2, value_at<int8_t>(&code[1])), true};
  case 0xf3: // rep ret, which some compilers write for a return
    return {code[1] == 0xc3 ? caller : 0, false};
  case 0xc2: // ret imm16
  case 0xc3: // ret
    return {caller, false};
  default:
    return {};
  }
}

} // namespace

Step Steps::from(lldb::SBProcess &process, lldb::SBThread &thread, uint64_t pc) {
  const std::optional<Step> known = [&]() -> std::optional<Step> {
    const std::lock_guard lock(mutex_);
    const auto at = known_.find(pc);
    return at == known_.end() ? std::nullopt : std::optional(at->second);
  }();
  Step step = known ? *known : decoded(process, pc);
  if (!known) {
    const std::lock_guard lock(mutex_);
    known_.emplace(pc, step);
  }
  lldb::SBError error;
  if (step.to == caller)
    step.to = process.ReadPointerFromMemory(thread.GetFrameAtIndex(0).GetSP(), error);
  return step;
}

void Steps::clear() {
  const std::lock_guard lock(mutex_);
  known_.clear();
}

} // namespace tally_lldb
