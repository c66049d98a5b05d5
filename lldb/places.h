// From what the session knows of code to what LLDB shows of it.
#pragma once

#include <lldb/API/LLDB.h>

#include "session.h"

namespace tally_lldb {

// TALLY_REQUEST_BREAK and TALLY_REQUEST_LIST: what LLDB says, or one line of why it does not.
Outcome show_place(lldb::SBDebugger &debugger, int request, const Words &words);

// Of x86: "default", "att" or "intel".
std::string disassembly_flavor(lldb::SBDebugger &debugger);

// The answer to TALLY_REQUEST_DISASSEMBLE.
std::string disassemble(lldb::SBDebugger &debugger, lldb::SBProcess process,
                        const std::vector<uint64_t> &ranges);

} // namespace tally_lldb
