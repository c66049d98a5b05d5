// Sets breakpoints, lists source and disassembles code at addresses that the session names.
#pragma once

#include <lldb/API/LLDB.h>

#include "session.h"

namespace tally_lldb {

// Sets a breakpoint or lists source. Returns LLDB's output, or an error of one line.
Outcome show_location(lldb::SBDebugger &debugger, Act act, const Words &words);

// Returns an instruction as LLDB prints it: "mov rbp, rsp ; comment".
std::string text_of(lldb::SBInstruction instruction, lldb::SBTarget &target);

// Returns LLDB's setting for x86: "default", "att" or "intel".
std::string disassembly_flavor(lldb::SBDebugger &debugger);

Refused disassemble(lldb::SBDebugger &debugger, lldb::SBProcess process,
                    std::span<const Range> ranges, const Sink &to);

} // namespace tally_lldb
