// Turns the words of `profile region` into breakpoints, and says what kind of code an address is
// in.
#pragma once

#include <string>

#include <lldb/API/LLDB.h>

namespace tally_lldb {

bool is_address(const std::string &word); // "*0x1234", "*parse", "0x1234"

// Takes the places that GDB's `break` takes: an address, "file:line" or a function. Returns an
// invalid breakpoint if there is no such place.
lldb::SBBreakpoint breakpoint_at(lldb::SBDebugger &debugger, lldb::SBTarget target,
                                 const std::string &word);

// "ns::parse(int)" is "parse"; an address has no name.
std::string base_name_of(const std::string &word);

// A function that is split begins where its symbol does; LLDB takes the lowest address.
lldb::SBAddress start_of(lldb::SBAddress address);

// Whether a call may begin there: at the symbol, or where none is known.
bool is_start(lldb::SBAddress address);

// Whether the compiler has moved this part of a function elsewhere. No call enters such a part, but
// newer LLDBs set a breakpoint of the function there, too.
bool is_moved_part(lldb::SBAddress address);

// Whether it lies in a copy of something that is inlined; not, where the function itself begins
// with such a copy of another.
bool is_inlined(lldb::SBAddress address, const std::string &function);

// Breakpoints of functions stand at their very first instruction, for the length of a scope: one
// behind the prologue is not passed by a call that leaves early.
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
