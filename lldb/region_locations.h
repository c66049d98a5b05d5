// Sets breakpoints for the words of `profile region`, and classifies the code at an address.
#pragma once

#include <string>

#include <lldb/API/LLDB.h>

namespace tally_lldb {

bool is_address(const std::string &word); // "*0x1234", "*parse", "0x1234"

// Sets a breakpoint at an address, "file:line" or a function, as for GDB's `break`. Returns an
// invalid breakpoint if there is no such location.
lldb::SBBreakpoint breakpoint_at(lldb::SBDebugger &debugger, lldb::SBTarget target,
                                 const std::string &word);

// Returns a function's name without scopes and parameters: "parse" for "ns::parse(int)", "" for an
// address.
std::string base_name_of(const std::string &word);

// Returns the start of the function at the address: the start of the function's symbol, if there is
// one. For a function that is split, LLDB itself would return the lowest address.
lldb::SBAddress start_of(lldb::SBAddress address);

// Returns whether a call may lead to the address: to a function's start, or where no function is
// known.
bool is_start(lldb::SBAddress address);

// Returns whether the address is in a part of a function that the compiler has moved away
// (".cold"). No call enters such a part, but newer LLDBs set a breakpoint of the function there,
// too.
bool is_moved_part(lldb::SBAddress address);

// Returns whether the address is in inlined code. The start of `function` itself does not count,
// even if its code begins with an inlined copy of another function.
bool is_inlined(lldb::SBAddress address, const std::string &function);

// Within a scope, makes LLDB set breakpoints of functions at their first instruction. A call that
// returns early would not reach a breakpoint after the prologue.
class AtEntries {
public:
  AtEntries(lldb::SBDebugger &debugger, lldb::SBTarget target);
  AtEntries(const AtEntries &) = delete;
  ~AtEntries();

private:
  void set(bool skip);

  lldb::SBDebugger &debugger_;
  lldb::SBTarget target_;
  bool was_;
};

} // namespace tally_lldb
