// Writes what changed between two profiles to a file: `diff -o FILE`.
#pragma once

#include <string>

#include <tally/formats.h>

namespace tally {

// A profile to compare. `name` is for errors.
struct Compared {
  const StackProfile *stacks = nullptr; // null for a profile of costs
  std::string name;
};

struct DifferenceFile {
  const Format *format = nullptr;
  Written written;
};
// Writes difference() to `path`, in the format that the name implies, and returns what it wrote.
// Compares the first value of the profiles, which must be the same event.
Result<DifferenceFile> write_difference(const Compared &before, const Compared &after,
                                        const std::string &path, const WriteOptions &options = {});

} // namespace tally
