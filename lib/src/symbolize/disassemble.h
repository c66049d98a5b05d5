// Machine code as text. The only file that knows capstone is disassemble.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include <tally/result.h>
#include <tally/symbolizer.h>

namespace tally::symbolize {

// The function at a link-time address; empty: not known.
using NameOfCode = std::function<std::string_view(uint64_t)>;

// `machine` is e_machine. Bytes that are no instruction become ".byte"; a call, and a jump that
// leaves the bytes, is followed by its function's name.
Result<std::vector<Instruction>> disassemble(uint16_t machine, std::string_view bytes,
                                             uint64_t address, DisassemblyFlavor flavor,
                                             const NameOfCode &name_of);

} // namespace tally::symbolize
