// Breakpoints where a region begins and where it may end. Their callbacks tell the session and let
// the process go on. LLDB has none that a plug-in can hide: they bear the name region_name.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <lldb/API/LLDB.h>

#include "session.h"
#include "steps.h"

namespace tally_lldb {

constexpr const char *region_name = "tally-region";

class Region {
public:
  explicit Region(Session &session) : session_(session) {}
  Region(const Region &) = delete;

  // In place of the region before; "" or why not. On the debugger's thread, as the next three.
  std::string begin(lldb::SBDebugger &debugger, const Words &words);
  // Before the process runs on: `breakpoint delete` means the user's own.
  void refresh(lldb::SBDebugger &debugger);
  void end();
  void process_gone(); // its addresses mean nothing in the next one

private:
  struct Place {
    Region *owner;
    lldb::SBTarget target;
    lldb::SBBreakpoint breakpoint;
    int32_t kind;     // tally_hit_kind
    uint64_t address; // TALLY_HIT_RETURNED: where it stands
    bool is_function; // it is of
    bool is_x86_64;
    std::string function; // its name, without scopes and parameters
    std::atomic<bool> alive = true;
    std::atomic<bool> stops = true; // a hit would mean something now
  };
  using Places = std::vector<std::unique_ptr<Place>>;
  struct Standing {
    lldb::SBThread thread;
    uint64_t pc;
    bool is_untold; // its hit has not been told yet
  };
  struct Stand {
    Place *place = nullptr; // null: no breakpoint of the region is enabled there
    lldb::SBBreakpointLocation location;
  };

  static bool on_hit(void *place, lldb::SBProcess &process, lldb::SBThread &thread,
                     lldb::SBBreakpointLocation &location) noexcept;
  void hit(Place &place, lldb::SBProcess &process, lldb::SBThread &thread,
           lldb::SBBreakpointLocation &location);
  void tell(Place &place, lldb::SBProcess &process, lldb::SBThread &thread,
            lldb::SBBreakpointLocation &location);
  void stop_at_other(const Place &place);
  Place &watch(Places &places, const Place &like, lldb::SBBreakpoint breakpoint, int32_t kind,
               uint64_t address = 0);
  bool is_entry(const Place &place, lldb::SBBreakpointLocation &location);
  void await_first();
  void bury(Places &places);
  void delete_dead();
  void watch_leaves(const Place &like);
  void stop_at_leaves(bool stop);
  static void stop_at(Place &place);
  void stop_at_return(const Place &like, uint64_t address);
  void enter_stop(lldb::SBProcess &process, lldb::SBThread &thread);
  std::vector<Standing> standing(lldb::SBProcess &process);
  static bool is_untold(const std::vector<Standing> &threads, std::optional<uint64_t> address);
  Stand stand_at(uint64_t address);
  bool leads_to_place(lldb::SBProcess &process, const Standing &thread, const Place &place);
  void note_places(const Place &place, lldb::SBProcess &process,
                   lldb::SBBreakpointLocation &location);
  void steer_steps(lldb::SBProcess &process);
  bool is_over(int32_t pid, tally_hit hit, uint64_t returns_to, lldb::SBProcess &process,
               lldb::SBThread &thread, uint64_t entry);

  Session &session_;
  // Callbacks come on a thread of LLDB's, which must not wait for the debugger's own: that may wait
  // for LLDB meanwhile. Nothing of LLDB's and of the session's is called under the lock.
  std::mutex mutex_;
  Words words_;
  Places places_;
  Places leaves_; // what leaves a function but its return; of this process
  bool leaves_stop_ = false;
  Places dead_; // for ever: a callback that LLDB has begun may still look at one
  std::map<uint64_t, std::unique_ptr<Place>> returns_;
  std::map<uint64_t, bool> entries_; // by address: the first instruction of a function
  // These describe one stop of the process. told_ holds the threads whose hits were told; lifted_
  // holds the locations that stay disabled until the next stop.
  uint32_t stop_id_ = 0;
  std::set<lldb::tid_t> told_;
  std::vector<lldb::SBBreakpointLocation> lifted_;
  Steps steps_; // of this process
};

} // namespace tally_lldb
