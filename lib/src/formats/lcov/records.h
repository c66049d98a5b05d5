// What the sections of a tracefile say of one file in one test.
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
  uint32_t start_line, end_line; // 0: not told
  int64_t count;
  uint64_t at;     // the record's line in the tracefile
  bool has_record; // FN or FNL: an FNDA alone tells no line
};

struct BranchRow { // BRDA
  uint32_t line;
  bool has_text, fall_through, throws;
  uint64_t block;
  uint64_t branch; // a number, or the index of a StringId
  int64_t count;
};

struct ConditionRow { // MCDC; of one line, those of one number of terms are one
  uint32_t line, terms;
  uint64_t when_true, when_false;
};

// What is reported, and where.
struct Findings {
  const std::string &source;
  Diagnostics &diagnostics;
  uint64_t line; // in the tracefile

  void add(Severity severity, std::string message, std::string_view key = {}) const {
    diagnostics.add(severity, std::move(message), source, Position::at_line(line), key);
  }
};

// Rows are put behind the others as they come; add_up() brings them into order and makes those of
// one thing one.
class Records {
public:
  std::vector<LineRow> lines;
  std::vector<FunctionRow> functions;
  std::vector<BranchRow> branches;
  std::vector<ConditionRow> conditions;

  void clear();
  size_t size() const;
  // Functions become one by name: lcov keeps them so. An error where a sum leaves its type.
  Result<void> add_up(const StringPool &strings, const Findings &findings);
  // To be added up by the next add_up(). Amortized: in all, it costs as much as sorting.
  Result<void> append(const Records &more, const StringPool &strings, const Findings &findings);

private:
  size_t added_up_ = 0; // rows after the last add_up()
};

// Of one file, each of one test and added up. Coverage adds branches and conditions up by their
// place in a line, where a test that saw only some would shift them: it gets those of the other
// tests, as not taken.
void align(std::span<Records *const> tests, std::string_view path, const StringPool &strings,
           const Findings &findings);

// Of rows that are added up.
FileCoverage coverage_of(const Records &records, std::string_view path, const StringPool &strings,
                         const Findings &findings);

} // namespace tally::lcov
