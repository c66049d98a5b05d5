// Sets breakpoints, lists source and disassembles code at addresses that the session names.
#pragma once

#include <lldb/API/LLDB.h>

#include "session.h"

namespace tally_lldb {

// Performs TALLY_REQUEST_BREAK or TALLY_REQUEST_LIST. Returns LLDB's output, or an error of
// one line.
Outcome show_location(lldb::SBDebugger &debugger, int request, const Words &words);

// Returns an instruction as LLDB prints it: "mov rbp, rsp ; comment".
std::string text_of(lldb::SBInstruction instruction, lldb::SBTarget &target);

// Returns LLDB's setting for x86: "default", "att" or "intel".
std::string disassembly_flavor(lldb::SBDebugger &debugger);

// Returns the answer to TALLY_REQUEST_DISASSEMBLE.
std::string disassemble(lldb::SBDebugger &debugger, lldb::SBProcess process,
                        const std::vector<uint64_t> &ranges);

} // namespace tally_lldb
