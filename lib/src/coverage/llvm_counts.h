// Counts the regions of functions with Clang's source-based coverage.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "formats/llvm/counted_function.h"
#include "formats/llvm/source_profile.h"
#include "support/diagnostics.h"

namespace tally::llvm {

// A profile, and the file that it was read from.
struct ReadProfile {
  SourceProfile profile;
  std::string path;
  const CoverageObject *object = nullptr; // if not null, the profile belongs to it alone
};

// Selects objects: all, or those that one of the profiles may belong to.
enum class CountedObjects : uint8_t { all, of_profiles };

// Counts the functions of all objects with all profiles, and calls take(function) for each one. The
// function is reused afterwards; what it refers to is the objects'. A raw profile that names the
// build ids of its image belongs to the objects with these ids only; any other belongs to all
// objects. A function that several objects share occurs once. Reports what does not fit together.
void count_functions(std::span<const CoverageObject> objects, std::vector<ReadProfile> profiles,
                     CountedObjects which, Diagnostics &diagnostics,
                     const std::function<void(const CountedFunction &)> &take);

} // namespace tally::llvm
