// Some of a profile: the samples of a thread, or of a part.
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
  std::string thread{};           // a name, of as many threads as have it, or a tid; empty: all
  std::optional<uint32_t> part{}; // a number; none: all
  bool takes_all() const { return thread.empty() && !part; }
};

// What it takes, and nothing that this does not stand on. A thread or part that is not there is
// invalid_argument, with those there are; where both are and have nothing in common, no_data.
TALLY_API Result<StackProfile> filter(const StackProfile &profile, const SampleFilter &wanted);
// By the file's parts, each of one thread or of all together. Costs that are known of all parts
// together alone are refused.
TALLY_API Result<CostProfile> filter(const CostProfile &profile, const SampleFilter &wanted);

// What SampleFilter::thread may be: names, and the tids. Each once, in the profile's order.
TALLY_API std::vector<std::string> thread_words(const StackProfile &profile);
TALLY_API std::vector<std::string> thread_words(const CostProfile &profile);

} // namespace tally
