// Looks from outside at the stacks of threads that wait, where the kernel may not sample them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace tally {

class WaitLook {
public:
  struct Seen {
    uint64_t sp = 0, pc = 0;
    std::span<const std::byte> stack; // from sp on, valid until the next look
    bool is_held = false;             // by a debugger
  };
  static constexpr size_t stack_bytes = size_t{16} << 10; // the most that is read

  explicit WaitLook(pid_t pid) : pid_(pid) {}
  // Returns nothing if the thread runs, if it went on during the look, or if it may not be looked
  // at, which takes the rights that ptrace needs.
  // `traced` says whether a debugger may hold the thread.
  std::optional<Seen> at(pid_t tid, bool traced);
  bool is_refused() const { return is_refused_; } // for want of these rights

  // Parses /proc/PID/task/TID/syscall, as proc_pid_syscall(5) describes it: the number of the call
  // (-1 outside of calls), its arguments, sp and pc. Returns nothing for "running".
  static std::optional<Seen> parse(std::string_view text);

private:
  pid_t pid_;
  std::vector<std::byte> stack_;
  bool is_refused_ = false;
};

} // namespace tally
