// Steps off breakpoints. LLDB, 14 to 19 at least, makes a step of its own where a thread goes on
// from a breakpoint that is enabled. When that step ends at another breakpoint, LLDB takes it for a
// step of the user's, and stops for the user whatever the callback of that breakpoint returns.
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
  static constexpr uint64_t caller = UINT64_MAX - 1; // a return, of no thread

  // A breakpoint of a region is set at `pc`, at times. `is_x86_64`: its instruction can be read.
  void add_place(lldb::SBProcess &process, uint64_t pc, bool is_x86_64);
  bool has_places();
  bool are_any_near(); // a step off a place may end at another one
  bool is_near(uint64_t pc);
  // The places right behind `pc`: at one of them the next instruction may be.
  std::vector<uint64_t> behind(uint64_t pc);

  // Where the instruction of x86-64 at `pc` leads by a jump, a call or a return of `thread`, which
  // may be invalid. 0: nowhere but to the next instruction, or not known.
  uint64_t from(lldb::SBProcess &process, lldb::SBThread thread, uint64_t pc);
  void clear(); // the code has changed

private:
  std::mutex mutex_;                   // nothing of LLDB's is called under it
  std::map<uint64_t, uint64_t> known_; // by pc
  std::set<uint64_t> places_, near_;
  std::multimap<uint64_t, uint64_t> from_; // the places whose instruction leads there
};

} // namespace tally_lldb
