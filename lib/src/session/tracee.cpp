#include "session/tracee.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>

#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "support/process_maps.h"
#include "support/process_memory.h"

namespace tally {

namespace {

using Text = std::array<char, 256>;

// Returns the first line of the file, without the newline; empty if it cannot be read.
std::string_view line_of(const UniqueFd &file, Text &text) {
  const ssize_t got = file.get() < 0 ? -1 : ::pread(file.get(), text.data(), text.size(), 0);
  const std::string_view all(text.data(), got < 0 ? 0 : static_cast<size_t>(got));
  return all.substr(0, all.find('\n'));
}

UniqueFd open_of(pid_t pid, pid_t tid, std::string_view name) {
  return UniqueFd(
      ::open(fmt::format("/proc/{}/task/{}/{}", pid, tid, name).c_str(), O_RDONLY | O_CLOEXEC));
}

// Parses /proc/…/syscall: "-1 0xSP 0xPC", or a system call's number and arguments before SP and PC.
HeldThread::StackPosition position_of(const UniqueFd &file) {
  Text text;
  const std::string_view line = line_of(file, text);
  const size_t pc = line.rfind(" 0x");
  const size_t sp = pc == line.npos || pc == 0 ? line.npos : line.rfind(" 0x", pc - 1);
  if (sp == line.npos)
    return {};
  HeldThread::StackPosition out;
  std::from_chars(line.data() + sp + 3, line.data() + pc, out.sp, 16);
  std::from_chars(line.data() + pc + 3, line.data() + line.size(), out.pc, 16);
  return out;
}

bool is_executable(pid_t pid, uint64_t address) {
  bool found = false;
  each_process_map(pid, [&](const ProcessMap &each) {
    found = each.start <= address && address < each.limit && each.is_executable;
    return each.limit <= address;
  });
  return found;
}

#if defined(__x86_64__)
constexpr size_t longest_call = 7; // opcode, ModRM, SIB and 32 bits of displacement

constexpr uint8_t trap = 0xcc; // a debugger's breakpoint may stand in place of the opcode

// Returns whether the code ends in a call instruction (Intel's manual, volume 2, CALL): E8 with a
// displacement of 32 bits, or FF /2. Prefixes precede the opcode and need no check.
bool ends_in_call(const uint8_t (&code)[longest_call]) {
  if (code[longest_call - 5] == 0xe8 || code[longest_call - 5] == trap)
    return true;
  for (size_t length = 2; length <= longest_call; ++length) {
    const uint8_t *const at = code + longest_call - length;
    if ((at[0] != 0xff && at[0] != trap) || (at[1] >> 3 & 7) != 2)
      continue;
    const unsigned mod = at[1] >> 6, rm = at[1] & 7;
    size_t needs = 2;
    if (mod != 3 && rm == 4)
      needs += 1U + (mod == 0 && length > 2 && (at[2] & 7) == 5 ? 4U : 0U); // a SIB byte
    needs += mod == 1 ? 1U : mod == 2 || (mod == 0 && rm == 5) ? 4U : 0U;
    if (needs == length)
      return true;
  }
  return false;
}

// The return address of a signal handler leads to: mov $__NR_rt_sigreturn, %rax; syscall.
constexpr uint8_t signal_return[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
#endif

} // namespace

bool read_word(pid_t pid, uint64_t address, uint64_t &word) {
  return read_process_memory(pid, address, &word, sizeof word) == sizeof word;
}

uint64_t auxiliary_value(pid_t pid, uint64_t type) {
  std::ifstream auxv(fmt::format("/proc/{}/auxv", pid), std::ios::binary);
  for (Elf64_auxv_t each; auxv.read(reinterpret_cast<char *>(&each), sizeof each);)
    if (each.a_type == type)
      return each.a_un.a_val;
  return 0;
}

bool on_one_stack(pid_t pid, uint64_t one, uint64_t other) {
  if (pid == 0)
    return true;
  bool on_one = false;
  each_process_map(pid, [&](const ProcessMap &each) {
    // A stack pointer may point to the very end of the mapping.
    const auto holds = [&](uint64_t at) { return each.start <= at && at <= each.limit; };
    on_one = holds(one) && holds(other);
    return !on_one && each.start <= std::max(one, other);
  });
  return on_one;
}

bool is_return_address(pid_t pid, uint64_t address) {
  if (pid == 0)
    return true;
  if (!is_executable(pid, address))
    return false;
#if defined(__x86_64__)
  uint64_t words[2] = {};
  uint8_t before[longest_call] = {}, behind[sizeof words] = {};
  if (read_word(pid, address - sizeof(uint64_t), words[0])) {
    std::memcpy(before, reinterpret_cast<uint8_t *>(words) + 1, sizeof before);
    if (ends_in_call(before))
      return true;
  }
  for (size_t i = 0; i < 2; ++i)
    if (!read_word(pid, address + i * sizeof(uint64_t), words[i]))
      return false;
  std::memcpy(behind, words, sizeof behind);
  return std::equal(std::begin(signal_return), std::end(signal_return), behind);
#else
  return true;
#endif
}

HeldThread::StackPosition HeldThread::position(pid_t pid, pid_t tid) {
  StackPosition at = position_of(syscall_);
  if (at.sp == 0) { // the file is not open yet, or its thread has ended
    syscall_ = open_of(pid, tid, "syscall");
    at = position_of(syscall_);
  }
  return at;
}

// Parses /proc/…/schedstat: "CPU QUEUED TURNS", with times in ns. Linux describes the file in
// Documentation/scheduler/sched-stats.rst.
HeldThread::Ran HeldThread::ran(pid_t pid, pid_t tid) {
  Text text;
  std::string_view line = line_of(schedstat_, text);
  if (line.empty()) {
    schedstat_ = open_of(pid, tid, "schedstat");
    line = line_of(schedstat_, text);
  }
  const size_t cpu = line.find(' '), queued = line.rfind(' ');
  Ran out;
  if (cpu == line.npos || cpu == queued)
    return out;
  std::from_chars(line.data(), line.data() + cpu, out.cpu_ns);
  std::from_chars(line.data() + queued + 1, line.data() + line.size(), out.turns);
  return out;
}

// The stack pointer is the seventh word of the buffer. musl stores it unchanged; glibc stores it
// XORed with a secret and rotated left by 17 bits. The secret is the second word of the random
// bytes that the kernel gives to each program at its start (AT_RANDOM).
uint64_t stack_pointer_of_jump(pid_t pid, uint64_t jump_buffer) {
#if defined(__x86_64__)
  constexpr uint64_t sp_at = 6 * sizeof(uint64_t);
  uint64_t kept = 0, secret = 0, ignored = 0;
  if (pid == 0 || !read_word(pid, jump_buffer + sp_at, kept))
    return 0;
  const uint64_t random = auxiliary_value(pid, AT_RANDOM);
  const auto is_stack = [&](uint64_t sp) { return sp % 8 == 0 && read_word(pid, sp, ignored); };
  if (random != 0 && read_word(pid, random + sizeof secret, secret))
    if (const uint64_t sp = std::rotr(kept, 17) ^ secret; is_stack(sp))
      return sp;
  return is_stack(kept) ? kept : 0;
#else
  (void)pid, (void)jump_buffer;
  return 0;
#endif
}

} // namespace tally
