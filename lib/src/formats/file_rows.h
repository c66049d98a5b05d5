// Collects the entries of one source file in the order in which they are read.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/coverage.h"
#include "support/result.h"

namespace tally {

// Returns whether the path is absolute, on Linux ("/a") or Windows ("C:\\a", "\\\\host\\a").
bool is_absolute(std::string_view path);

// Returns the path with slashes in place of the backslashes of Windows.
std::string with_slashes(std::string path);

class FileRows {
public:
  // The next call of end_line() or drop_line() determines the line to which a branch or condition
  // belongs.
  void add_branch(BranchCoverage branch) { branches_.push_back(branch); }
  void add_condition(ConditionCoverage condition) { conditions_.push_back(condition); }
  void end_line(uint32_t line, int64_t count);
  void drop_line(); // discards the line's branches and conditions
  void add_function(FunctionCoverage function) { functions_.push_back(std::move(function)); }
  // Returns the file, with lines and functions sorted and without duplicates, and clears this
  // object. The path gets slashes, as by with_slashes().
  Result<FileCoverage> take(std::string path);

private:
  struct Line { // a line, or one of several entries for the same line
    uint32_t line;
    int64_t count;
    uint32_t first_branch, last_branch, first_condition, last_condition;
  };

  void put(FileCoverage &to, const Line &row) const;
  Result<FileCoverage> lines();

  std::vector<Line> lines_;
  std::vector<BranchCoverage> branches_;
  std::vector<ConditionCoverage> conditions_;
  std::vector<FunctionCoverage> functions_;
};

} // namespace tally
