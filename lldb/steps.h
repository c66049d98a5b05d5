// Steps off breakpoints. LLDB, 14 to 19 at least, makes a step of its own where a thread goes on
// from a breakpoint that is set. When that step ends at another breakpoint, LLDB takes it for a
// step of the user's and stops for him, whatever the callback of that breakpoint returns.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>

#include <lldb/API/LLDB.h>

namespace tally_lldb {

// Where one instruction of x86-64 leads, if it is a direct jump, a direct call or a return.
struct Step {
  uint64_t to = 0; // 0: another instruction
  bool is_jump = false;
};

class Steps {
public:
  // Of the instruction at `pc`, run by `thread`.
  Step from(lldb::SBProcess &process, lldb::SBThread &thread, uint64_t pc);

  void clear(); // the code is another one

private:
  std::mutex mutex_;
  std::map<uint64_t, Step> known_; // by pc
};

} // namespace tally_lldb
