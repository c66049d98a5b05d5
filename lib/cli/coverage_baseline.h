// `tally coverage --baseline`: compares coverage with that of an earlier run.
#pragma once

#include "commands.h"
#include "coverage_collect/collect_coverage.h"

namespace tally::cli {

// Returns an error if the options of the baseline contradict others. Does nothing without them.
Result<void> check_baseline_options(const ParsedCommand &given);

// Prints what has fallen, which is a failure, and updates the baseline if the options ask for it.
// Does nothing without --baseline.
Result<void> compare_with_baseline(const ParsedCommand &given, const CollectedCoverage &collected,
                                   const PathFilter &filter, Outcome &outcome);

} // namespace tally::cli
