// The two sides of `diff`: selects what is compared, and shows or writes what changed.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "formats/formats.h"
#include "report/report.h"
#include "transform/sample_filter.h"

namespace tally {

// A profile to compare. One of the two pointers is null.
struct Side {
  std::shared_ptr<const StackProfile> stacks;
  std::shared_ptr<const CostProfile> costs;
  std::string name; // of the file, for errors
  // Why there are no samples, if the patterns leave none. The other side may have some, which then
  // are what changed.
  std::optional<Error> none_left{};
};
Side side_of(Profile profile, std::string name);
// Returns the side with the samples that are selected. Errors name the side.
Result<Side> select_side(Side whole, const SampleFilter &wanted);

// Both sides. `remedy` is for the error that they count different events.
struct Comparison {
  Side before, after;
  std::string_view remedy{};
};
// Fails unless the first values are the same event in the same unit.
Result<void> check_comparable(const Comparison &both);
// Compares the first value of the profiles, which must be the same event. Fails with no_data if the
// patterns leave no sample of either.
Result<DiffTable> changes_of(const Comparison &both, By by, SortBy sort);

// Returns the format that `path` implies. Fails if it cannot hold two values of a stack.
Result<const Format *> difference_format(const std::string &path);
// Writes difference() to `path`, and returns what it wrote. Fails as changes_of() does.
Result<Written> write_difference(const Comparison &both, const Format &format,
                                 const std::string &path, WriteOptions options = {});

} // namespace tally
