// What a sample of perf's tells of the stack in user mode, for a CallChain: both a running
// process's rings and perf.data files hold such.
#pragma once

#include <cstdint>

#include <tally/unwinder.h>

#include "model/call_chain.h"
#include "support/perf_records.h"

namespace tally {

// x86-64's general registers. False: they are another processor's, of a 32-bit program, or not all
// there.
[[nodiscard]] bool read_registers(const PerfLayout &layout, const PerfSample &sample,
                                  Registers &registers);

// Where the program was, also when the clock struck in the kernel; 0 when that is not known.
uint64_t user_pc(const PerfLayout &layout, const PerfSample &sample);

// Adds the part of the kernel's own chain, by frame pointers, that is in user mode.
void follow(const PerfSample &sample, CallChain &chain);

// Goes on with that where the copy of the stack was short; see CallChain::splice().
size_t splice(const PerfSample &sample, CallChain &chain);

} // namespace tally
