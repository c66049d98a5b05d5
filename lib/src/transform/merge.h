// Adds up profiles of one kind: costs, stacks, counts of addresses, coverage.
// merge_profiles() and merge_files() in formats/formats.h add up any kind.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/cost_profile.h"
#include "model/coverage.h"
#include "model/pc_profile.h"
#include "model/stack_profile.h"
#include "support/diagnostics.h"
#include "support/result.h"

namespace tally {

// Returns the same profile with its rows in an order that depends only on names and numbers: by
// part, then the function's object, file and name, then lines of the function's own file before
// those of other files, then position. Rows with equal keys are added up. The key of a cost is
// (function, line file, position); the key of a call also has callee and target; the key of a jump
// also has target and kind. Names that no row uses are dropped. A sum of more than 64 bits is an
// error.
Result<CostProfile> canonical(const CostProfile &profile);

// Returns the sum of all parts of the profiles as one part, in canonical order. The order and the
// grouping of the inputs do not change the result. Events are matched by name; an event that a
// profile lacks counts 0 there. If all profiles have the same events, their order is kept;
// otherwise they are in Valgrind's order, then by name. The command, the creator and each
// description are kept if all profiles agree on them; pid, thread and time range are dropped. The
// positions of all profiles must hold the same fields (address, basic block, line), otherwise the
// function fails with invalid_input. That error uses `names`, one for each profile.
Result<CostProfile> merge_costs(std::span<const CostProfile *const> profiles,
                                std::span<const std::string> names = {});

// Adds all of `from`. Equal mappings, threads and stacks are unified. The parts of `from` follow
// the existing parts, with `shift_ns` added to their times. Different value types, or different
// periods that are both known, are invalid_input.
Result<void> append_stacks(StackProfileBuilder &to, const StackProfile &from,
                           uint64_t shift_ns = 0);

// Returns the sum of the profiles in the layout of the first. Errors use `names`, one for each
// profile.
Result<PcProfile> merge_pcs(std::span<const PcProfile *const> profiles,
                            std::span<const std::string> names = {});

// The handling of objects or reports that disagree about a source: a line has different branches,
// or a function another start line. Strict makes it an error (invalid_input), lenient a diagnostic.
enum class MergePolicy : uint8_t { strict, lenient };

// Adds `more` to `to`. Counts of the same line, and of functions with the same name and start line,
// add up. Branches of a line add up by their index, because instances of a template have the same
// branches. If one of the two lines has more branches, because it was compiled differently, the
// additional ones are appended. The covered terms of a condition are united. The order of additions
// does not matter. Errors: overflow if a count exceeds 64 bits; invalid_input if the files disagree
// and `policy` is strict.
Result<void> add_coverage(FileCoverage &to, const FileCoverage &more, MergePolicy policy,
                          Diagnostics &diagnostics);
Result<void> add_coverage(Coverage &to, Coverage more, MergePolicy policy,
                          Diagnostics &diagnostics);

// Does the same as add_coverage() for many additions. The time of each depends on its own size and
// not on that of the sum.
class CoverageSum {
public:
  CoverageSum(MergePolicy policy, Diagnostics &diagnostics)
      : policy_(policy), diagnostics_(diagnostics) {}
  // Adds `more`. Errors are those of add_coverage(). After an error the sum is unusable.
  Result<void> add(Coverage more);
  Coverage finish(); // returns the sum, which is empty afterwards

private:
  using Files = std::map<std::string, FileCoverage>; // by path
  Result<void> add_files(Files &to, std::vector<FileCoverage> more);
  static std::vector<FileCoverage> sorted(Files &&files);

  MergePolicy policy_;
  Diagnostics &diagnostics_;
  Files files_;
  std::map<std::string, Files> tests_;
};

} // namespace tally
