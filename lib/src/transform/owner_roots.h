// Makes threads or parts the callers of everything that was sampled in them.
#pragma once

#include <string>

#include <tally/result.h>
#include <tally/stack_profile.h>

namespace tally {

enum class SampleOwner : uint8_t { thread, part };

// Returns the same samples with one more, outermost, frame in each stack: a function that is named
// after the sample's thread ("4711 worker") or part ("2 breakpoint 1, parse.c:10").
Result<StackProfile> under_owners(const StackProfile &profile, SampleOwner owner);

} // namespace tally
