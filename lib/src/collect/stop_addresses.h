// Addresses at which a debugger stops the program and resumes it without the user's action.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace tally {

// The address of a breakpoint. A debugger may know it before the file is mapped.
struct BreakpointLocation {
  std::string file;     // an absolute path without symbolic links; may be empty
  uint64_t address = 0; // an offset in `file`, or a run-time address if `file` is empty
  friend bool operator==(const BreakpointLocation &, const BreakpointLocation &) = default;
};

// A set of the addresses at which the kernel attributes its work on a stop to the thread. These are
// the breakpoint's instruction and, after the debugger has stepped the thread over the breakpoint,
// the next instruction. Ticks there are caused by the debugger, not by the program. All functions
// may be called from any thread.
class StopAddresses {
public:
  static constexpr uint64_t longest_instruction = 15;

  // Adds a breakpoint. `code` holds the bytes at the breakpoint's address and after it, as far as
  // they are known. Every address where the next instruction may begin becomes a stop, too, and on
  // x86-64 the target of a direct jump or call. There are two exceptions: after a system call, the
  // program itself has requested the kernel's work, and the address after a return is unknown.
  void add(const BreakpointLocation &location, std::span<const uint8_t> code);
  // Sets the addresses where the debugger runs a copy of the instruction that a breakpoint has
  // replaced.
  void set_step_area(uint64_t begin, uint64_t end);
  // Replaces all addresses by a copy of those of `other`, in one step.
  void replace(StopAddresses &other);
  void clear();

  bool has_files() const; // whether any breakpoint has a file
  // Returns whether a run-time address, or an offset in a file, is a stop.
  bool is_stop(uint64_t pc) const;
  bool is_stop(std::string_view file, uint64_t offset) const;
  bool is_step(uint64_t pc) const; // whether a run-time address lies in the step area

private:
  using Addresses = std::unordered_set<uint64_t>;

  mutable std::mutex mutex_;
  Addresses run_time_;
  std::unordered_map<std::string, Addresses> files_;
  uint64_t step_begin_ = 0, step_end_ = 0;
};

} // namespace tally
