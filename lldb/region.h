// Breakpoints where a region begins and where it may end. Their callbacks tell the session and let
// the process go on. LLDB has none that a plug-in can hide: they bear the name region_name.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
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
  struct Told {
    lldb::tid_t tid;
    lldb::SBThread thread;
    uint64_t at; // where it stands, at `location`
    Place *place;
    lldb::SBBreakpointLocation location;
    bool is_new; // in this stop
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
  void stop_at_return(const Place &like, uint64_t address, lldb::SBProcess &process,
                      lldb::SBThread &thread);
  void note_who_stands_at(Place &place, lldb::SBProcess &process, lldb::SBThread &thread);
  void enter_stop(Place &place, lldb::SBProcess &process, lldb::SBThread &thread,
                  lldb::SBBreakpointLocation &location);
  std::set<uint64_t> untold(lldb::SBProcess &process);
  void steer_steps(lldb::SBProcess &process);
  void step_off(lldb::SBProcess &process, Told &told);
  Place *awaited_return(uint64_t address); // null: no pass ends there
  bool is_place(uint64_t address);         // a hit there would mean something

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
  // Of one stop of the process: the hits that were told, and the locations that are disabled until
  // the next one.
  uint32_t stop_id_ = 0;
  std::vector<Told> told_;
  std::vector<lldb::SBBreakpointLocation> lifted_;
  Steps steps_;
};

} // namespace tally_lldb
