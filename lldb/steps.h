// Predicts LLDB's steps off breakpoints. When a thread resumes at an enabled breakpoint, LLDB (at
// least 14 to 19) steps the thread over that instruction. If the step ends at another breakpoint,
// LLDB treats the step as a step of the user and stops, regardless of what that breakpoint's
// callback returns.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include <lldb/API/LLDB.h>

namespace tally_lldb {

class Steps {
public:
  static constexpr uint64_t anywhere = UINT64_MAX;   // a call through a register or memory
  static constexpr uint64_t caller = UINT64_MAX - 1; // a return, if no thread is given

  // Adds an address at which a breakpoint of the region may be set. `is_x86_64` means that the
  // instruction there can be decoded.
  void add_address(lldb::SBProcess &process, uint64_t pc, bool is_x86_64);
  bool has_addresses();
  bool are_any_near();       // returns whether a step off some added address may end at another one
  bool is_near(uint64_t pc); // the same for a step off this added address
  // Returns the added addresses that may be the next instruction after the one at `pc`.
  std::vector<uint64_t> behind(uint64_t pc);

  // Returns where the x86-64 instruction at `pc` leads by a jump, a call, or a return of `thread`,
  // which may be invalid. Returns 0 if the instruction leads only to the next one, or if the
  // address is unknown.
  uint64_t from(lldb::SBProcess &process, lldb::SBThread thread, uint64_t pc);
  void clear(); // forgets everything, because the code has changed

private:
  std::mutex mutex_;                   // no function of LLDB is called while this is held
  std::map<uint64_t, uint64_t> known_; // decoded targets, by pc
  std::set<uint64_t> addresses_, near_;
  std::multimap<uint64_t, uint64_t> from_; // by target address, the addresses that lead there
};

} // namespace tally_lldb
