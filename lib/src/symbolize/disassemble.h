// Converts machine code to text.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "model/symbolizer.h"
#include "support/result.h"

namespace tally::symbolize {

// Returns the function at a link-time address, or an empty string if it is unknown.
using NameOfCode = std::function<std::string_view(uint64_t)>;

// Disassembles `bytes`. `machine` is e_machine. Bytes that are not an instruction become ".byte". A
// call, or a jump that leaves the bytes, is followed by the name of the target function.
Result<std::vector<Instruction>> disassemble(uint16_t machine, std::string_view bytes,
                                             uint64_t address, DisassemblyFlavor flavor,
                                             const NameOfCode &name_of);

} // namespace tally::symbolize
