// What the writer calls a track: a thread of the file. A thread of the profile has a track for its
// time, and one for each value that is not a part of that time.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "formats/firefox/code_table.h"
#include "formats/sample_times.h"
#include "model/stack_profile.h"
#include "support/result.h"
#include "transform/frame_tree.h"

namespace tally::firefox {

struct Track {
  ThreadId thread = none<ThreadId>;
  std::optional<size_t> value; // none for the time
  // First those without a time, which were given one before all others.
  std::vector<TimedValue> samples;
  size_t untimed = 0;
  int64_t total = 0;
};

// Returns the tracks of all threads, each thread's time first. Samples without a time are in the
// order of their stacks, so that equal profiles give equal tracks. A time that does not fit in 63
// bits is an error.
Result<std::vector<Track>> tracks_of(const StackProfile &profile, const FrameTree &tree,
                                     const CodeTable &code, const std::vector<ValueRole> &roles);

// Returns the distance of the samples that are placed one after another, and that of a clock.
uint64_t interval_ns(const StackProfile &profile);

} // namespace tally::firefox
