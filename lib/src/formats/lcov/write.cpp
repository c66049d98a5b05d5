#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

#include "formats/lcov/lcov.h"
#include "formats/lcov/test_name.h"
#include "model/coverage_findings.h"
#include "model/function_totals.h"
#include "support/checked.h"
#include "support/sort.h"
#include "support/text_sink.h"
#include "transform/coverage_sum.h"

namespace tally::lcov {

namespace {

// Records what the coverage has and the file cannot hold.
struct Lost {
  bool paths = false, names = false, start_lines = false, no_line = false;
  bool ends = false, marks = false, unevaluated = false, conditions = false, mcdc = false,
       negative = false;

  std::vector<std::string> phrases() const {
    std::vector<std::string> out;
    const auto add = [&](bool is_lost, const char *phrase) {
      if (is_lost)
        out.emplace_back(phrase);
    };
    add(paths, "paths that are empty or hold line breaks (changed)");
    add(names, "function names that lcov would misread (changed)");
    add(start_lines,
        "the separate start lines of functions with the same name (their sum is written)");
    add(no_line, "lines and functions without a line number");
    add(ends, "the last lines of functions");
    add(marks, "the kinds of branches (exception, fall-through)");
    add(unevaluated, "the branches of lines that ran without evaluating one of them (lcov 2 "
                     "refuses such a line)");
    add(conditions, "conditions (--lcov-version 2.3 writes them)");
    add(mcdc, "the kind of MC/DC (both outcomes of a term are written alike)");
    add(negative, negative_counts_lost);
    return out;
  }
};

// Returns a text that can stand at the end of a record. Line breaks would end the record, and a
// reader would drop CRs at the end, so both are replaced by blanks.
std::string in_one_line(std::string_view text) {
  std::string out(text);
  std::ranges::replace(out, '\n', ' ');
  for (size_t i = out.size(); i > 0 && out[i - 1] == '\r'; --i)
    out[i - 1] = ' ';
  return out.empty() ? "[unknown]" : out;
}

// Returns the name as it is written. Changes a name such as "12,f", because a reader would take 12
// for the last line and "f" for the name.
std::string function_name(std::string_view name) {
  std::string out = in_one_line(name);
  const size_t end = out.find_first_not_of("0123456789");
  if (end != 0 && end != out.npos && out[end] == ',')
    out[end] = '_';
  return out;
}

struct Section {
  std::string test, path;
  const FileCoverage *file;
  auto key() const { return std::tie(test, path); }
};

class Writer {
public:
  Writer(std::string &out, bool for_lcov_2, Lost &lost)
      : to_(out), for_lcov_2_(for_lcov_2), lost_(lost) {}

  void test(std::string_view name) {
    to_.put("TN:");
    to_.put(name);
    to_.put('\n');
  }
  Result<void> section(const Section &section, const FileCoverage &file);

private:
  struct Function {
    std::string name;
    uint32_t line, end; // the end is 0 if it is unknown or not written
    int64_t count;
  };

  Result<std::vector<Function>> functions_of(const FileCoverage &file);
  void branches(const FileCoverage &file);
  void conditions(const FileCoverage &file);
  void lines(const FileCoverage &file);
  int64_t counted(int64_t count) {
    lost_.negative |= count < 0;
    return times_run(count);
  }
  void total(std::string_view key, uint64_t value) {
    to_.put(key);
    to_.put(value);
    to_.put('\n');
  }

  TextSink to_;
  const bool for_lcov_2_; // whether MCDC and the last lines of functions are written
  Lost &lost_;
};

// Returns the functions. Combines functions of the same name, because lcov identifies functions by
// name.
Result<std::vector<Writer::Function>> Writer::functions_of(const FileCoverage &file) {
  std::vector<Function> all;
  for (const FunctionCoverage &function : file.functions) {
    if (function.start_line == 0) {
      lost_.no_line = true;
      continue;
    }
    const bool has_end = for_lcov_2_ && function.end_line >= function.start_line;
    lost_.ends |= function.end_line != 0 && !has_end;
    all.push_back({function_name(function.name), function.start_line,
                   has_end ? function.end_line : 0, counted(function.count)});
    lost_.names |= all.back().name != function.name;
  }
  const auto by_name = [](const Function &f) { return std::tie(f.name, f.line); };
  sort_stably(all, {}, by_name);
  std::vector<Function> out;
  for (Function &function : all) {
    if (out.empty() || out.back().name != function.name) {
      out.push_back(std::move(function));
      continue;
    }
    lost_.start_lines |= out.back().line != function.line;
    if (!checked_add(out.back().count, function.count))
      return counts_overflow(file.path, function.line);
  }
  sort_stably(out, {}, [](const Function &f) { return std::tie(f.line, f.name); });
  return out;
}

void Writer::branches(const FileCoverage &file) {
  uint64_t found = 0, taken = 0;
  for (const LineCoverage &line : file.lines) {
    if (line.line == 0)
      continue;
    const std::span<const BranchCoverage> all = file.branches_of(line);
    // A line has counts of several blocks, for example of a `}` before an `else if`.
    if (line.count != 0 && !all.empty() &&
        std::ranges::all_of(all, [](const BranchCoverage &each) { return each.count == 0; })) {
      lost_.unevaluated = true;
      continue;
    }
    uint64_t number = 0;
    for (const BranchCoverage &branch : all) {
      const int64_t count = counted(branch.count);
      lost_.marks |= branch.throws || branch.fall_through;
      to_.put("BRDA:");
      to_.put(uint64_t{line.line});
      to_.put(",0,");
      to_.put(number++);
      to_.put(',');
      if (count == 0 && line.count == 0) // the branch was never reached
        to_.put('-');
      else
        to_.put_signed(count);
      to_.put('\n');
      taken += count > 0;
    }
    found += number;
  }
  total("BRF:", found);
  total("BRH:", taken);
}

// lcov identifies the conditions of a line by the number of their terms.
std::map<uint32_t, ConditionCoverage> conditions_by_terms(const FileCoverage &file,
                                                          const LineCoverage &line) {
  std::map<uint32_t, ConditionCoverage> out;
  const auto add = [&](const ConditionCoverage &more) {
    ConditionCoverage &condition = out[more.terms];
    condition.terms = more.terms;
    condition.when_true |= more.when_true;
    condition.when_false |= more.when_false;
  };
  for (const ConditionCoverage &each : file.conditions_of(line))
    add(each);
  for (const McdcCoverage &each : file.decisions_of(line))
    add(as_condition(each));
  return out;
}

void Writer::conditions(const FileCoverage &file) {
  uint64_t found = 0, covered = 0;
  for (const LineCoverage &line : file.lines) {
    if (line.line == 0)
      continue;
    for (const auto &[terms, condition] : conditions_by_terms(file, line)) {
      for (uint32_t term = 0; term < terms; ++term)
        for (const auto &[sense, bits] :
             {std::pair('t', condition.when_true), std::pair('f', condition.when_false)})
          to_.put(fmt::format("MCDC:{},{},{},{},{},{}\n", line.line, terms, sense, bits >> term & 1,
                              term, term));
      found += condition.outcomes();
      covered += condition.covered();
    }
  }
  total("MCF:", found);
  total("MCH:", covered);
}

void Writer::lines(const FileCoverage &file) {
  uint64_t found = 0, ran = 0;
  for (const LineCoverage &line : file.lines) {
    const bool has_mcdc = line.last_decision > line.first_decision;
    lost_.conditions |= !for_lcov_2_ && (has_mcdc || line.last_condition > line.first_condition);
    lost_.mcdc |= for_lcov_2_ && has_mcdc;
    if (line.line == 0) {
      lost_.no_line = true;
      continue;
    }
    const int64_t count = counted(line.count);
    to_.put("DA:");
    to_.put(uint64_t{line.line});
    to_.put(',');
    to_.put_signed(count);
    to_.put('\n');
    ++found;
    ran += count > 0;
  }
  total("LF:", found);
  total("LH:", ran);
}

Result<void> Writer::section(const Section &section, const FileCoverage &file) {
  to_.put("SF:");
  to_.put(section.path);
  to_.put('\n');
  TALLY_TRY(functions, functions_of(file));
  for (const Function &function : functions) {
    to_.put("FN:");
    to_.put(uint64_t{function.line});
    to_.put(',');
    if (function.end != 0) {
      to_.put(uint64_t{function.end});
      to_.put(',');
    }
    to_.put(function.name);
    to_.put('\n');
  }
  std::vector<FunctionPlace> places;
  for (const Function &function : functions) {
    to_.put("FNDA:");
    to_.put_signed(function.count);
    to_.put(',');
    to_.put(function.name);
    to_.put('\n');
    places.push_back({function.line, function.name, function.count > 0});
  }
  const FunctionTotals totals = totals_of(std::move(places));
  total("FNF:", totals.found);
  total("FNH:", totals.executed);
  branches(file);
  if (for_lcov_2_)
    conditions(file);
  lines(file);
  to_.put("end_of_record\n");
  return {};
}

} // namespace

Result<Written> write(const Coverage &coverage, const WriteOptions &options) {
  const std::string &version = options.lcov_version;
  const bool for_lcov_2 = version == "2.3";
  if (!version.empty() && version != "1.16" && !for_lcov_2)
    return fail(ErrorCode::invalid_argument,
                fmt::format("unknown version '{}' of lcov (there are: 1.16, 2.3)", version));
  Written out;
  Lost lost;
  std::vector<Section> sections;
  std::vector<std::string> tests; // all tests, even those without a section
  const auto add = [&](std::string_view test, const std::vector<FileCoverage> &files) {
    tests.push_back(written_test_name(test));
    for (const FileCoverage &file : files) {
      sections.push_back({tests.back(), in_one_line(file.path), &file});
      lost.paths |= sections.back().path != file.path;
    }
  };
  if (coverage.tests.empty())
    add("", coverage.files);
  for (const TestCoverage &test : coverage.tests)
    add(test.name, test.files);
  sort_stably(tests);
  tests.erase(std::unique(tests.begin(), tests.end()), tests.end());
  sort_stably(sections, {}, &Section::key);

  {
    Writer writer(out.bytes, for_lcov_2, lost);
    auto next = sections.begin();
    for (const std::string &test : tests) {
      if (next == sections.end() || next->test != test) {
        if (!test.empty() || tests.size() == 1) // so that the file is never empty
          writer.test(test);
        continue;
      }
      while (next != sections.end() && next->test == test) {
        const Section &section = *next;
        // Different paths or names may have become equal when they were changed for writing.
        std::vector<const FileCoverage *> same;
        for (; next != sections.end() && next->key() == section.key(); ++next)
          same.push_back(next->file);
        writer.test(test);
        if (same.size() == 1) {
          TALLY_CHECK(writer.section(section, *section.file));
          continue;
        }
        Diagnostics ignored;
        TALLY_TRY(sum, sum_of(same, ignored));
        TALLY_CHECK(writer.section(section, sum));
      }
    }
  }
  out.lost = lost.phrases();
  return out;
}

} // namespace tally::lcov
