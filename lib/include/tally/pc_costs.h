// Between what a gmon.out holds, addresses, and profiles of functions.
#pragma once

#include <string>
#include <vector>

#include <tally/cost_profile.h>
#include <tally/pc_profile.h>
#include <tally/result.h>
#include <tally/stack_profile.h>
#include <tally/symbolizer.h>

namespace tally {

// The program that addresses are of. The symbolizer outlives it.
struct PcNames {
  Symbolizer *symbolizer = nullptr;
  ModuleId program{};
  std::string path; // the object that functions are told to be of
};

// Ticks and calls by function and line. A bin's ticks are shared among functions by the bytes that
// they have in it, as gprof does, and rounded to the largest remainder; the exact shares are kept
// beside (exact_self()). Within a function they are shared among lines in the same way. A call has
// a count and no cost (has_call_costs), for none was measured. Ticks outside of every function are
// those of "[unknown]". Without `names` a bin, and an end of a call, is a function named by its
// address. Counts of basic blocks have no place in costs.
TALLY_API Result<CostProfile> costs_of(const PcProfile &profile, const PcNames *names = nullptr);

struct PcConversion {
  PcProfile profile;
  std::vector<std::string> lost; // what has no place there, one sentence each
};

// The samples that were taken in the program's own code, which is the file that the first mapping
// shows; by link-time address, in bins of two bytes. No sample there is no_data; addresses that are
// not link-time ones are unsupported.
TALLY_API Result<PcConversion> pcs_of(const StackProfile &profile);
// The first event's costs of the program's own code, and calls within it; of an event "ticks" no
// calls, for they count samples. unsupported: costs have no addresses, or it is not told which
// object is the program.
TALLY_API Result<PcConversion> pcs_of(const CostProfile &profile);

} // namespace tally
