// Selects samples of a profile by thread, process, part, time and the functions on their stacks,
// and frames of these stacks.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/cost_profile.h"
#include "model/stack_profile.h"
#include "support/result.h"

namespace tally {

struct SampleFilter {
  std::string thread{}; // a name, which selects all threads with it, or a tid; empty for all
  std::optional<uint32_t> part{}; // a part's number; all parts if there is none
  std::string event{};            // one of the samples' values; empty for all of them
  // Only what was counted between these times, in the units of Part::begin_ns: ticks and events
  // after the first and up to the second, and the share of each interval that is between them.
  std::optional<uint64_t> from_ns{}, to_ns{};
  std::string process{}; // a name, which selects all processes with it, or a pid; empty for all
  // PCRE2 patterns; empty for none. A pattern matches a frame, which may be an inlined function, if
  // it matches any part of the name of its function, of that name without its return type, of the
  // file that declares the function, or of the path of the object that contains the code.
  std::string focus{};  // only samples with a frame that matches
  std::string ignore{}; // only samples without a frame that matches
  // Frames that match are removed from the stacks, so that their self cost counts for their
  // callers. Samples without any other frame are removed, too.
  std::string hide{};
  // Consecutive frames that match become the outermost of them, with the self cost of all.
  std::string fold{};
  // Inlined functions become the function whose code contains them, at the line that calls them.
  bool no_inlines = false;
  bool takes_all_times() const { return !from_ns && !to_ns; }
  bool takes_all_rows() const {
    return thread.empty() && process.empty() && !part && takes_all_times();
  }
  bool takes_all_frames() const {
    return focus.empty() && ignore.empty() && hide.empty() && fold.empty() && !no_inlines;
  }
  bool takes_all() const { return takes_all_rows() && takes_all_frames() && event.empty(); }
  // Return the same filter without, or with nothing but, the patterns and no_inlines.
  SampleFilter without_patterns() const { return {thread, part, event, from_ns, to_ns, process}; }
  SampleFilter only_patterns() const {
    return {.focus = focus, .ignore = ignore, .hide = hide, .fold = fold, .no_inlines = no_inlines};
  }
};

// Fails with invalid_argument if the times end before they begin.
Result<void> check_times(const SampleFilter &wanted);

// Returns a profile with the selected samples and only the stacks, names and parts that they use.
// An unknown thread, part or event is invalid_argument, and the error lists the known ones. If both
// are known, but no sample belongs to both, the function fails with no_data, as it does if the
// patterns leave no sample. Times are unsupported if those of the samples are not known. The
// patterns focus and ignore are applied to the stacks as they are in `profile`. Then no_inlines
// removes inlined frames, then hide and fold remove others. An invalid pattern is invalid_argument.
Result<StackProfile> filter_samples(const StackProfile &profile, const SampleFilter &wanted);
// Selects whole parts of the profile, each of which belongs to one thread or to all threads
// together. Fails with unsupported if the profile has costs that are known only for all parts
// together, for times, and for patterns: costs of functions and calls do not tell which of them
// belong to one stack.
Result<CostProfile> filter_samples(const CostProfile &profile, const SampleFilter &wanted);

// Returns the values that SampleFilter::thread accepts: names and tids, each once, in the profile's
// order.
std::vector<std::string> thread_words(const StackProfile &profile);
std::vector<std::string> thread_words(const CostProfile &profile);
// Returns the values that SampleFilter::process accepts: names and pids.
std::vector<std::string> process_words(const StackProfile &profile);
std::vector<std::string> process_words(const CostProfile &profile);
// Returns the values that SampleFilter::event accepts.
std::vector<std::string> event_words(const StackProfile &profile);
std::vector<std::string> event_words(const CostProfile &profile);

} // namespace tally
