// Breakpoints where a region begins and where it may end. Their callbacks report the hits to the
// session and let the process continue. LLDB gives plug-ins no internal breakpoints, so the user
// sees the region's breakpoints, which have the name region_name.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <lldb/API/LLDB.h>

#include "session.h"
#include "steps.h"

namespace tally_lldb {

constexpr const char *region_name = "tally-region";
// A breakpoint that measures is given up after so many hits without a hit before it.
constexpr int most_unasked = 8;

class Region {
public:
  // `find_sampled` is called on a thread of LLDB's for a hit of a process that is not sampled. It
  // returns whether the process may be sampled by now.
  Region(Session &session, std::function<bool(int pid)> find_sampled)
      : session_(session), find_sampled_(std::move(find_sampled)), exit_functions_(region_exits()) {
  }
  Region(const Region &) = delete;

  // Replaces the region. If that is refused, the previous one stays. Call this and the next three
  // functions on the debugger's thread.
  Answer begin(lldb::SBDebugger &debugger, const std::vector<std::string> &words);
  // Restores the breakpoints if the user has deleted or disabled them, for example by `breakpoint
  // delete` without arguments. Call this before the process resumes.
  void refresh(lldb::SBDebugger &debugger);
  void end();
  void process_gone(); // forgets the process's addresses, which the next process does not share

private:
  struct Breakpoint {
    Region *owner;
    lldb::SBTarget target;
    lldb::SBBreakpoint handle;
    int32_t kind;     // tally_hit_kind
    uint64_t address; // the breakpoint's address if kind is TALLY_HIT_RETURNED, otherwise 0
    bool is_function; // the region is a function, not two locations
    bool is_x86_64;
    std::string function; // the function's name, without scopes and parameters
    std::atomic<bool> alive = true;
    std::atomic<bool> stops = true; // the session needs this breakpoint's hits now
    // If kind is TALLY_HIT_MEASURED: the addresses before and behind it that have no breakpoint
    // while it is enabled.
    std::vector<uint64_t> path = {};
    std::atomic<bool> is_awaited = false; // the hit before it has been reported
    std::atomic<int> unasked = 0;         // how often it was hit without that
  };
  using Breakpoints = std::vector<std::unique_ptr<Breakpoint>>;
  struct StoppedThread {
    lldb::SBThread thread;
    uint64_t pc;
    bool is_pending; // the thread's hit has not been reported yet
  };
  struct EnabledLocation {            // the enabled location at an address
    Breakpoint *breakpoint = nullptr; // null if no location of the region is enabled there
    lldb::SBBreakpointLocation location;
  };

  static bool on_hit(void *breakpoint, lldb::SBProcess &process, lldb::SBThread &thread,
                     lldb::SBBreakpointLocation &location) noexcept;
  void hit(Breakpoint &breakpoint, lldb::SBProcess &process, lldb::SBThread &thread,
           lldb::SBBreakpointLocation &location);
  void report(Breakpoint &breakpoint, lldb::SBProcess &process, lldb::SBThread &thread,
              lldb::SBBreakpointLocation &location);
  void stop_at_other(const Breakpoint &breakpoint);
  Breakpoint &watch(Breakpoints &breakpoints, const Breakpoint &like, lldb::SBBreakpoint handle,
                    int32_t kind, uint64_t address = 0);
  bool is_entry(const Breakpoint &breakpoint, lldb::SBBreakpointLocation &location);
  void await_first();
  void bury(Breakpoints &breakpoints);
  void delete_dead();
  void watch_exits(const Breakpoint &like);
  void stop_at_exits(bool stop);
  static void stop_at(Breakpoint &breakpoint);
  void stop_at_return(const Breakpoint &like, uint64_t address);
  void measure(const Breakpoint &like, lldb::SBProcess &process, uint64_t pc, bool measures);
  std::vector<uint64_t> path_from(lldb::SBTarget target, lldb::SBProcess &process,
                                  const Breakpoint &like, uint64_t pc);
  void enter_stop(lldb::SBProcess &process, lldb::SBThread &thread);
  std::vector<StoppedThread> stopped_threads(lldb::SBProcess &process);
  static bool is_pending(const std::vector<StoppedThread> &threads,
                         std::optional<uint64_t> address);
  EnabledLocation enabled_at(uint64_t address);
  bool leads_to_breakpoint(lldb::SBProcess &process, const StoppedThread &thread,
                           const Breakpoint &breakpoint);
  void note_addresses(const Breakpoint &breakpoint, lldb::SBProcess &process,
                      lldb::SBBreakpointLocation &location);
  void steer_steps(lldb::SBProcess &process);
  bool is_over(int32_t pid, tally_hit hit, uint64_t returns_to, lldb::SBProcess &process,
               lldb::SBThread &thread, uint64_t entry);

  Session &session_;
  const std::function<bool(int pid)> find_sampled_;
  const std::vector<std::pair<std::string, int32_t>> exit_functions_; // with tally_hit_kinds
  // LLDB calls the callbacks on a thread of its own. That thread must not wait for the debugger's
  // thread, which may itself be waiting for LLDB. Therefore no function of LLDB or of the session
  // is called while this lock is held.
  std::mutex mutex_;
  std::vector<std::string> words_;
  Breakpoints breakpoints_;
  Breakpoints exits_;       // breakpoints in exit_functions_
  bool exits_stop_ = false; // exits_ are enabled
  Breakpoints dead_; // never destroyed: a callback that LLDB has begun may still use one of them
  std::map<uint64_t, std::unique_ptr<Breakpoint>> returns_; // by return address
  // Where the cost of a stop is measured, by the pc of the hit before; null if it cannot be.
  std::map<uint64_t, std::unique_ptr<Breakpoint>> measures_;
  std::map<uint64_t, bool> entries_; // whether the address is the first instruction of a function
  // One stop of the process: the threads whose hits have been reported, and the locations that stay
  // disabled until the next stop.
  struct {
    uint32_t id = 0;
    std::set<lldb::tid_t> reported;
    std::vector<lldb::SBBreakpointLocation> lifted;
  } stop_;
  Steps steps_; // for the current process
};

} // namespace tally_lldb
