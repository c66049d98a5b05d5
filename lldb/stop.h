// What LLDB shows of a process, as the session's events.
#pragma once

#include <optional>

#include <lldb/API/LLDB.h>

#include "session.h"

namespace tally_lldb {

std::string path_of(lldb::SBFileSpec spec); // "" where it has none
int32_t kind_of(lldb::SBProcess process);   // tally_target_kind
Event facts_of(lldb::SBTarget target, lldb::SBProcess process, int32_t kind); // no place, no number
bool is_stopped(lldb::SBProcess process);
bool is_running(lldb::SBProcess process);
// Why it stands, and where.
Event stop_of(lldb::SBProcess process);
int signal_of(lldb::SBThread thread); // that it stopped by; 0: none
int signal_of(lldb::SBProcess process);
// status: as waitpid() has it, where it is known. last_signal: it was stopped by before it ended.
Event end_of(lldb::SBProcess process, std::optional<int> status, int last_signal);

} // namespace tally_lldb
