// Where a debugger stops the program and lets it run on by itself.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include <tally/export.h>

namespace tally {

// A breakpoint. A debugger may know it before the file is mapped.
struct StopPlace {
  std::string file;     // absolute, without symbolic links; empty: `address` is a run-time address
  uint64_t address = 0; // else an offset in the file
  friend bool operator==(const StopPlace &, const StopPlace &) = default;
};

// The kernel charges its work on a stop to the thread, at the instruction of the breakpoint or,
// once a debugger has let that instruction run, at the next one. Such ticks are the debugger's, not
// the program's. Any thread.
class TALLY_API StopPlaces {
public:
  static constexpr uint64_t longest_instruction = 15;

  // `code` holds the bytes from the place on, as far as they are known. All addresses where the
  // next instruction may begin count, but for those behind a system call: the program has asked for
  // the kernel's work there. Where the instruction is a direct jump or call, its target counts,
  // too; where it is a return, the next place is not known.
  void add(const StopPlace &place, std::span<const uint8_t> code);
  // Where a debugger lets a copy of the instruction run that a breakpoint has replaced.
  void set_step_area(uint64_t begin, uint64_t end);
  // All that `other` holds, in place of what is here, at once.
  void replace(StopPlaces &other);
  void clear();

  bool has_files() const;
  bool is_stop(uint64_t pc) const;
  bool is_stop(std::string_view file, uint64_t offset) const;
  bool is_step(uint64_t pc) const;

private:
  using Addresses = std::unordered_set<uint64_t>;

  mutable std::mutex mutex_;
  Addresses run_time_;
  std::unordered_map<std::string, Addresses> files_;
  uint64_t step_begin_ = 0, step_end_ = 0;
};

} // namespace tally
