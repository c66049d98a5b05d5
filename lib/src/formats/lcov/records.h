// Holds the records that the sections of a tracefile have for one file in one test.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/coverage.h"
#include "support/diagnostics.h"
#include "support/result.h"
#include "support/strings.h"

namespace tally::lcov {

struct LineRow { // DA
  uint32_t line;
  int64_t count;
};

struct FunctionRow { // FN, FNDA; FNL with FNA
  StringId name;
  uint32_t start_line, end_line; // 0 if unknown
  int64_t count;
  uint64_t at;     // the record's line in the tracefile
  bool has_record; // the function has an FN or FNL; an FNDA states no line
};

struct BranchRow { // BRDA
  uint32_t line;
  bool has_text, fall_through, throws;
  uint64_t block;
  uint64_t branch; // a number, or the index of a StringId
  int64_t count;
};

struct ConditionRow { // MCDC; a line has one condition for each number of terms
  uint32_t line, terms;
  uint64_t when_true, when_false;
};

// Adds diagnostics for a line of the tracefile.
struct Findings {
  const std::string &source;
  Diagnostics &diagnostics;
  uint64_t line; // in the tracefile

  void add(Severity severity, std::string message, std::string_view key = {}) const {
    diagnostics.add(severity, std::move(message), source, Position::at_line(line), key);
  }
};

// What a tracefile states about one source file, in one test. New rows are appended; add_up()
// sorts all rows, and combines those of the same line, function, branch or condition.
class Records {
public:
  std::vector<LineRow> lines;
  std::vector<FunctionRow> functions;
  std::vector<BranchRow> branches;
  std::vector<ConditionRow> conditions;

  void clear();
  size_t size() const;
  // Sorts and combines the rows. Functions are identified by name, as in lcov. Fails with overflow
  // if a sum exceeds 64 bits.
  Result<void> add_up(const StringPool &strings, const Findings &findings);
  // Appends rows, and calls add_up() only if there are many new rows, so that all calls together
  // take about as long as sorting all rows once. The last append must be followed by add_up().
  Result<void> append(const Records &more, const StringPool &strings, const Findings &findings);

private:
  size_t added_up_ = 0; // the number of rows after the last add_up()
};

// Completes the branches and conditions of each line, so that all tests with branches or conditions
// in the line have the same. Coverage adds them up by their index in the line, so that a missing
// one would shift those after it. Those that a test lacks are added as not taken. Each of `tests`
// has the rows of one test for the same file; add_up() must have been called for it.
void align(std::span<Records *const> tests, std::string_view path, const StringPool &strings,
           const Findings &findings);

// Converts rows to coverage. add_up() must have been called for them.
FileCoverage coverage_of(const Records &records, std::string_view path, const StringPool &strings,
                         const Findings &findings);

} // namespace tally::lcov
