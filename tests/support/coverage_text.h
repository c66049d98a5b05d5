// Formats coverage as text, for comparisons, and checks its invariants.
#pragma once

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/format.h>

#include "model/coverage.h"

namespace tally {

inline void put_text(std::string &out, const std::vector<FileCoverage> &files) {
  for (const FileCoverage &file : files) {
    out += fmt::format("file {}\n", file.path);
    for (const FunctionCoverage &f : file.functions)
      out += fmt::format("function {} {}-{} {}\n", f.name, f.start_line, f.end_line, f.count);
    for (const LineCoverage &line : file.lines) {
      out += fmt::format("{} {}", line.line, line.count);
      for (const BranchCoverage &branch : file.branches_of(line))
        out += fmt::format(" {}{}{}", branch.count, branch.fall_through ? "f" : "",
                           branch.throws ? "e" : "");
      for (const ConditionCoverage &condition : file.conditions_of(line))
        out += fmt::format(" {}:{:x},{:x}", condition.terms, condition.when_true,
                           condition.when_false);
      out += '\n';
    }
  }
}

// Formats all of `coverage`: two texts differ if anything in the coverage differs.
inline std::string text_of(const Coverage &coverage) {
  std::string out;
  put_text(out, coverage.files);
  for (const TestCoverage &test : coverage.tests) {
    out += fmt::format("test {}\n", test.name);
    put_text(out, test.files);
  }
  return out;
}

// Checks the order that coverage.h documents. Returns the violated rule, or "" if there is none.
inline std::string disorder_of(const std::vector<FileCoverage> &files) {
  const auto rises = [](const auto &rows, auto key) {
    return std::ranges::adjacent_find(rows, [&](const auto &a, const auto &b) {
             return !(key(a) < key(b));
           }) == rows.end();
  };
  if (!rises(files, [](const FileCoverage &f) { return f.path; }))
    return "files by path, each once";
  for (const FileCoverage &file : files) {
    if (!rises(file.lines, [](const LineCoverage &l) { return l.line; }))
      return "lines by line, each once";
    if (!rises(file.functions,
               [](const FunctionCoverage &f) { return std::tie(f.start_line, f.name); }))
      return "functions by line, then name, each once";
    uint32_t branch = 0, condition = 0;
    for (const LineCoverage &line : file.lines) {
      if (line.first_branch != branch || line.last_branch < branch ||
          line.first_condition != condition || line.last_condition < condition)
        return "branches and conditions by line";
      branch = line.last_branch;
      condition = line.last_condition;
    }
    if (branch != file.branches.size() || condition != file.conditions.size())
      return "every branch and condition belongs to a line";
    for (const ConditionCoverage &c : file.conditions)
      if (c.terms > 64 || (c.terms < 64 && (c.when_true | c.when_false) >> c.terms != 0))
        return "a condition's terms";
  }
  return "";
}

inline std::string disorder_of(const Coverage &coverage) {
  std::string out = disorder_of(coverage.files);
  for (const TestCoverage &test : coverage.tests)
    out += disorder_of(test.files);
  if (!std::ranges::is_sorted(coverage.tests, {}, &TestCoverage::name))
    out += "tests by name";
  return out;
}

} // namespace tally
