// Converts between counts of addresses, as a gmon.out holds them, and profiles of functions.
#pragma once

#include <string>
#include <vector>

#include "model/cost_profile.h"
#include "model/pc_profile.h"
#include "model/stack_profile.h"
#include "model/symbolizer.h"
#include "support/result.h"

namespace tally {

// The program that addresses belong to. The symbolizer must outlive it.
struct PcNames {
  Symbolizer *symbolizer = nullptr;
  ModuleId program{};
  std::string path; // the object of the program's functions in a profile
};

// Returns ticks and calls by function and line. A bin's ticks are shared among functions by the
// bytes that they have in it, as gprof does, and rounded by the largest remainder; exact_self() has
// the exact shares. A function's ticks are shared among its lines in the same way. A call has a
// count but no cost (has_call_costs is false), because none was measured. Ticks outside of all
// functions belong to "[unknown]". Without `names` each bin, and each end of a call, is a function
// named by its address; more than 1,000,000 such functions are an error (limit). Counts of basic
// blocks are dropped. A program without symbols is no_data.
Result<CostProfile> costs_of(const PcProfile &profile, const PcNames *names = nullptr);

struct PcConversion {
  PcProfile profile;
  std::vector<std::string> lost; // one phrase for each kind of information that was left out
};

// Returns the samples in the program's own code by link-time address, in bins of two bytes. The
// program is the file of the first mapping. Fails with no_data if no sample lies in that code, and
// with unsupported if the link-time addresses are unknown, as those of a remote target are.
Result<PcConversion> to_pc_profile(const StackProfile &profile);
// Returns the first event's costs in the program's own code, and the calls within it. If the event
// is "ticks", no calls are returned, because the call counts of such a profile are numbers of
// samples. Fails with unsupported if the costs have no addresses, or if the profile does not show
// which object is the program.
Result<PcConversion> to_pc_profile(const CostProfile &profile);

} // namespace tally
