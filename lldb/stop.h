// Translates the state of a process in LLDB to events of the session.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include <lldb/API/LLDB.h>

#include "session.h"

namespace tally_lldb {

std::string path_of(lldb::SBFileSpec spec); // returns "" if there is no path
int32_t kind_of(lldb::SBProcess process);   // returns a tally_target_kind
// Returns an event with the target, the process id, the program and its command line.
Event facts_of(lldb::SBTarget target, lldb::SBProcess process, int32_t kind);
// Returns the thread's pcs, leaf first, of at most `most` frames. A caller's pc is its return
// address - 1.
std::vector<uint64_t> pcs_of(lldb::SBThread thread, uint32_t most);
bool is_stopped(lldb::SBProcess process);
bool is_running(lldb::SBProcess process);
// Returns an event with the reason and the source location of the last stop.
Event stop_of(lldb::SBProcess process);
bool is_exec(const Event &stop);
// Returns the event for the end of a function that the debugger has called.
Event call_of(lldb::SBProcess process);
// Return the signal that stopped the thread or process, or 0 if no signal did.
int signal_of(lldb::SBThread thread);
int signal_of(lldb::SBProcess process);
// Returns the event for the end of a process. `status` is the status of waitpid(), if it is known.
// `last_signal` is the signal of the last stop before the end.
Event end_of(lldb::SBProcess process, std::optional<int> status, int last_signal);

} // namespace tally_lldb
