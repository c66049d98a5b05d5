// Threads and parts as the callers of all that was sampled in them.
#pragma once

#include <string>

#include <tally/result.h>
#include <tally/stack_profile.h>

namespace tally {

enum class SampleOwner : uint8_t { thread, part };

// The same samples; each stack has one more frame, the outermost: a function that is called as its
// thread ("4711 worker") or its part ("2 breakpoint 1, parse.c:10").
Result<StackProfile> under_owners(const StackProfile &profile, SampleOwner owner);

} // namespace tally
