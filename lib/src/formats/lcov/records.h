// Holds the records that the sections of a tracefile have for one file in one test.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tally/coverage.h>
#include <tally/diagnostics.h>
#include <tally/result.h>
#include <tally/strings.h>

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
  bool has_record; // it has an FN or FNL; an FNDA alone has no line
};

struct BranchRow { // BRDA
  uint32_t line;
  bool has_text, fall_through, throws;
  uint64_t block;
  uint64_t branch; // a number, or the index of a StringId
  int64_t count;
};

struct ConditionRow { // MCDC; conditions of one line with the same number of terms are one
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
  // Appends rows, and calls add_up() only if there are many new rows, so that the total time of all
  // calls is that of sorting. The last append must be followed by add_up().
  Result<void> append(const Records &more, const StringPool &strings, const Findings &findings);

private:
  size_t added_up_ = 0; // rows after the last add_up()
};

// Gives all tests of a file the same branches and conditions in each line that has any. Coverage
// adds these up by their index in the line, so a test with only some of them would shift the
// others. The missing ones are added as not taken. `tests` are the rows of one file, each of one
// test and added up.
void align(std::span<Records *const> tests, std::string_view path, const StringPool &strings,
           const Findings &findings);

// Converts rows, for which add_up() was called.
FileCoverage coverage_of(const Records &records, std::string_view path, const StringPool &strings,
                         const Findings &findings);

} // namespace tally::lcov
