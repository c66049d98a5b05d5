// Makes threads, processes or parts the callers of everything that was sampled in them.
#pragma once

#include <string>

#include "model/stack_profile.h"
#include "support/result.h"

namespace tally {

enum class SampleOwner : uint8_t { thread, part, process };

// Returns the same samples with one more, outermost, frame in each stack: a function that is named
// after the sample's thread ("4711 worker"), part ("2 breakpoint 1, parse.c:10") or process: "cc1"
// for all that have this name, "4711" for one without a name.
Result<StackProfile> under_owners(const StackProfile &profile, SampleOwner owner);

// Returns whether the samples are of several processes, and all of these have names.
bool has_named_processes(const StackProfile &profile);
// Returns whether the name of any process is known.
bool names_processes(const StackProfile &profile);

} // namespace tally
