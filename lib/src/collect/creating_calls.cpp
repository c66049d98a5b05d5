#include "collect/creating_calls.h"

#include <array>
#include <cstring>

#include <sys/syscall.h>

#include "support/process_memory.h"

namespace tally {

namespace {
// The program decides how many addresses there are, so that their number is limited.
constexpr size_t most_known = 10'000;
} // namespace

bool CreatingCalls::are_before(uint64_t pc) {
  if (known_.size() >= most_known)
    known_.clear();
  const auto [at, added] = known_.try_emplace(pc, false);
  if (added)
    at->second = reads_as_call(pc);
  return at->second;
}

#if defined(__x86_64__)
// C libraries load the number of the call immediately before they make it.
bool CreatingCalls::reads_as_call(uint64_t pc) const {
  constexpr uint8_t mov_eax = 0xb8; // with a number of 32 bits
  constexpr std::array<uint8_t, 2> syscall_code{0x0f, 0x05};
  std::array<uint8_t, 7> code{};
  if (read_process_memory(pid_, pc - code.size(), code.data(), code.size()) != code.size() ||
      code[0] != mov_eax || code[5] != syscall_code[0] || code[6] != syscall_code[1])
    return false;
  uint32_t number = 0;
  std::memcpy(&number, code.data() + 1, sizeof number);
  return number == SYS_clone || number == SYS_fork || number == SYS_clone3;
}
#else
bool CreatingCalls::reads_as_call(uint64_t) const { return false; }
#endif

} // namespace tally
