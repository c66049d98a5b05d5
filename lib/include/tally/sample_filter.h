// Selects the samples of one thread, process or part from a profile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <tally/cost_profile.h>
#include <tally/result.h>
#include <tally/stack_profile.h>

namespace tally {

struct SampleFilter {
  std::string thread{}; // a name, which selects all threads with it, or a tid; empty for all
  std::optional<uint32_t> part{}; // a part's number; all parts if there is none
  std::string event{};            // one of the samples' values; empty for all of them
  // Only what was counted between these times, in the units of Part::begin_ns: ticks and events
  // after the first and up to the second, and the share of each interval that is between them.
  std::optional<uint64_t> from_ns{}, to_ns{};
  std::string process{}; // a name, which selects all processes with it, or a pid; empty for all
  bool takes_all_times() const { return !from_ns && !to_ns; }
  bool takes_all_rows() const {
    return thread.empty() && process.empty() && !part && takes_all_times();
  }
  bool takes_all() const { return takes_all_rows() && event.empty(); }
};

// Fails with invalid_argument if the times end before they begin.
TALLY_API Result<void> check_times(const SampleFilter &wanted);

// Returns a profile with the selected samples and only the stacks, names and parts that they use.
// An unknown thread, part or event is invalid_argument, and the error lists the known ones. If both
// are known, but no sample belongs to both, the function fails with no_data. Times are unsupported
// if those of the samples are not known.
TALLY_API Result<StackProfile> filter_samples(const StackProfile &profile,
                                              const SampleFilter &wanted);
// Selects whole parts of the profile, each of which belongs to one thread or to all threads
// together. Fails with unsupported if the profile has costs that are known only for all parts
// together, and for times.
TALLY_API Result<CostProfile> filter_samples(const CostProfile &profile,
                                             const SampleFilter &wanted);

// Returns the values that SampleFilter::thread accepts: names and tids, each once, in the profile's
// order.
TALLY_API std::vector<std::string> thread_words(const StackProfile &profile);
TALLY_API std::vector<std::string> thread_words(const CostProfile &profile);
// Returns the values that SampleFilter::process accepts: names and pids.
TALLY_API std::vector<std::string> process_words(const StackProfile &profile);
TALLY_API std::vector<std::string> process_words(const CostProfile &profile);
// Returns the values that SampleFilter::event accepts.
TALLY_API std::vector<std::string> event_words(const StackProfile &profile);
TALLY_API std::vector<std::string> event_words(const CostProfile &profile);

} // namespace tally
