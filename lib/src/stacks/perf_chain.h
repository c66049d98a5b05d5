// Builds a CallChain from the user-mode stack of a perf sample, which comes from the ring buffer of
// a running process or from a perf.data file.
#pragma once

#include <cstdint>

#include "model/unwinder.h"
#include "stacks/call_chain.h"
#include "support/perf_records.h"

namespace tally {

// Reads the general registers of x86-64 or AArch64. Returns false if they are those of another
// processor or of a 32-bit program, or if some are missing.
[[nodiscard]] bool read_registers(const PerfLayout &layout, const PerfSample &sample,
                                  Registers &registers);

// Returns the user-mode pc, even if the sample was taken in the kernel; 0 if it is unknown.
uint64_t user_pc(const PerfLayout &layout, const PerfSample &sample);

// Returns whether the sample shows a thread of x86-64 inside of a system call that it entered by
// itself and that has no result yet: from its entry on, the saved AX is -ENOSYS. In a stop for a
// tracer, and where the scheduler took the processor away from user code, AX has another value.
bool is_in_system_call(const PerfLayout &layout, const PerfSample &sample);

// Returns whether the sample shows a thread of x86-64 that a signal or a stop for a tracer has
// interrupted in a system call which the kernel will restart: AX holds one of its internal codes.
bool is_interrupted_in_call(const PerfLayout &layout, const PerfSample &sample);

// Returns whether the sample shows a thread of x86-64 in which a system call has returned 0. So
// does the one that creates a thread, in the new thread alone.
bool has_returned_zero(const PerfLayout &layout, const PerfSample &sample);

// Appends the user-mode part of the chain that the kernel recorded by frame pointers.
void follow(const PerfSample &sample, CallChain &chain);

// Extends a chain whose stack dump was too short with the user-mode part of the kernel's chain; see
// CallChain::splice().
size_t splice(const PerfSample &sample, CallChain &chain);

} // namespace tally
