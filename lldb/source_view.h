// Sets breakpoints, lists source and disassembles code at addresses that the session names.
#pragma once

#include <lldb/API/LLDB.h>

#include "session.h"

namespace tally_lldb {

// Both functions return LLDB's output, or an error of one line. `at` is a line of the file or, if
// that is "", an address.
Outcome set_breakpoint(lldb::SBDebugger &debugger, const std::string &file, uint64_t at);
Outcome list_source(lldb::SBDebugger &debugger, const std::string &file, uint64_t at);

// Returns an instruction as LLDB prints it: "mov rbp, rsp ; comment".
std::string text_of(lldb::SBInstruction instruction, lldb::SBTarget &target);

// Returns LLDB's setting for x86: "default", "att" or "intel".
std::string disassembly_flavor(lldb::SBDebugger &debugger);

// Passes the instructions of the ranges, two addresses each, to tally_sink_instruction().
Answer disassemble(lldb::SBDebugger &debugger, lldb::SBProcess process,
                   tally::Front::Addresses ranges, tally_sink *to);

} // namespace tally_lldb
