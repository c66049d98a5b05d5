// Describes sampled events in words.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "collect/sampler.h"

namespace tally {

// Returns whether the clock is sampled, at least beside other events.
bool has_clock(std::span<const SampledEvent> events);

// Returns whether other events than the clock are sampled, and their names: "page-faults, cycles".
bool has_others(std::span<const SampledEvent> events);
std::string names_of_others(std::span<const SampledEvent> events);

// Returns "451 page-faults, 3 cpu-migrations": how often the events happened. Leaves out the clock.
std::string counts_text(std::span<const SampledEvent> events, std::span<const uint64_t> counts);

} // namespace tally
