// Recognizes the code that updates counters.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "live/counter_layout.h"
#include "live/memory.h"

namespace tally::live {

// Returns the code near a pc, within which compilers move the updates of counters. It is code of
// `function`, which contains the pc: its neighbours in memory count functions that the thread is
// not in.
AddressRange code_near(uint64_t pc, const AddressRange &function);

// Returns the addresses of the operands that the instructions near a pc can have, sorted; nothing
// if the code cannot be read. `near` is what code_near() returned for the pc. This is for x86-64,
// where an operand relative to the next instruction
// ("mov 0x97bc(%rip)") ends with four bytes of its distance, and is followed by an immediate
// operand of 0, 1 or 4 bytes. Bytes that look like such an operand by chance only add an address.
std::optional<std::vector<uint64_t>> operands_of(uint64_t pc, const AddressRange &near,
                                                 Memory &memory);

// Adds the addresses of the operands that the instructions of some code of x86-64 can have, in any
// order. `begin` is the address of the code.
void add_operands(uint64_t begin, std::span<const std::byte> code, std::vector<uint64_t> &out);

// Returns the indices of an array's counters that some of the operands address.
std::vector<uint32_t> counters_among(std::span<const uint64_t> operands, const CounterArray &array);

} // namespace tally::live
