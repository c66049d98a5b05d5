#include <algorithm>
#include <tuple>

#include <fmt/format.h>

#include "formats/gcovr/gcovr.h"
#include "model/coverage_findings.h"
#include "support/checked.h"
#include "support/demangle.h"
#include "support/json_text.h"
#include "support/path.h"
#include "support/sort.h"
#include "support/text.h"
#include "support/text_sink.h"
#include "transform/coverage_sum.h"

namespace tally::gcovr {

namespace {

// Records what the coverage has and the file cannot hold.
struct Lost {
  bool tests = false, functions = false, start_lines = false, ends = false, conditions = false,
       decisions = false;
  bool no_line = false, negative = false, text = false, blocks = false;

  std::vector<std::string> phrases() const {
    std::vector<std::string> out;
    const auto add = [&](bool is_lost, const char *phrase) {
      if (is_lost)
        out.emplace_back(phrase);
    };
    add(tests, "the coverage of each test (the sum of all tests is written)");
    add(functions, "functions (this version of the layout has none)");
    add(start_lines,
        "the separate start lines of functions with the same name (their sum is written)");
    add(ends, "the last lines of functions (this version of the layout has none)");
    add(conditions, "conditions (this version of the layout has none)");
    add(decisions, "the kind of MC/DC (both outcomes of a term are written alike)");
    add(no_line, "lines without a line number");
    add(negative, negative_counts_lost);
    add(text, "names and paths that are empty or not valid UTF-8 (changed)");
    add(blocks, "the percentage of each function's blocks that ran (0 is written, because gcovr "
                "requires a number)");
    return out;
  }
};

// Returns whether writing changes the text. An empty text is changed.
bool is_changed(std::string_view text, std::string_view as_json) {
  return text.empty() || is_replaced(text, as_json);
}

struct Source {
  std::string path; // encoded as JSON
  const FileCoverage *file;
};

class Writer {
public:
  Writer(std::string &out, Version version, Lost &lost)
      : to_(out), version_(version), lost_(lost) {}

  Result<void> write(std::span<const Source> sources);

private:
  struct Function {
    std::string name;       // encoded as JSON
    std::string_view known; // the name itself, or "[unknown]"
    uint32_t start_line, end_line;
    int64_t count;
  };

  bool since(Version version) const { return version_ >= version; }
  void separate(bool &first) {
    if (!first)
      to_.put(",\n");
    first = false;
  }
  int64_t counted(int64_t count) {
    lost_.negative |= count < 0;
    return times_run(count);
  }
  void field(std::string_view key, int64_t value) {
    to_.put(key);
    to_.put_signed(value);
  }
  Result<void> file(std::string_view path, const FileCoverage &file);
  void line(const FileCoverage &file, const LineCoverage &line);
  void branches(std::span<const BranchCoverage> branches);
  void conditions(std::span<const ConditionCoverage> conditions);
  void terms(std::string_view key, uint64_t covered, uint32_t count);
  Result<void> functions(const FileCoverage &file);
  void function(const Function &function);

  TextSink to_;
  const Version version_;
  Lost &lost_;
};

Result<void> Writer::write(std::span<const Source> sources) {
  to_.put("{\"gcovr/format_version\": ");
  for (const VersionName &known : versions)
    if (known.version == version_)
      to_.put(since(Version::v0_2) ? json_text(known.name) : std::string(known.name));
  to_.put(", \"files\": [\n");
  bool first = true;
  for (auto next = sources.begin(); next != sources.end();) {
    separate(first);
    const auto begin = next;
    // Different paths may have become the same when they were encoded as JSON.
    std::vector<const FileCoverage *> same;
    for (; next != sources.end() && next->path == begin->path; ++next)
      same.push_back(next->file);
    if (same.size() == 1) {
      TALLY_CHECK(file(begin->path, *begin->file));
      continue;
    }
    Diagnostics ignored;
    TALLY_TRY(sum, sum_of(same, ignored));
    TALLY_CHECK(file(begin->path, sum));
  }
  to_.put("]}\n");
  return {};
}

Result<void> Writer::file(std::string_view path, const FileCoverage &file) {
  to_.put("{\"file\": ");
  to_.put(path);
  to_.put(", \"lines\": [\n");
  bool first = true;
  for (const LineCoverage &row : file.lines) {
    if (row.line == 0) { // gcovr rejects line 0
      lost_.no_line = true;
      continue;
    }
    separate(first);
    line(file, row);
  }
  to_.put(']');
  if (since(Version::v0_3))
    TALLY_CHECK(functions(file));
  else
    lost_.functions |= !file.functions.empty();
  to_.put('}');
  return {};
}

void Writer::line(const FileCoverage &file, const LineCoverage &line) {
  field("{\"line_number\": ", line.line);
  field(", \"count\": ", counted(line.count));
  to_.put(", \"branches\": [");
  branches(file.branches_of(line));
  to_.put(']');
  const auto decisions = file.decisions_of(line);
  const auto rows = file.conditions_of(line);
  if (!since(Version::v0_10)) {
    lost_.conditions |= !rows.empty() || !decisions.empty();
  } else if (!rows.empty() || !decisions.empty()) {
    std::vector<ConditionCoverage> all(rows.begin(), rows.end());
    for (const McdcCoverage &each : decisions)
      all.push_back(as_condition(each));
    conditions(all);
    lost_.decisions |= !decisions.empty();
  }
  if (!since(Version::v0_5))
    to_.put(", \"gcovr/noncode\": false");
  if (version_ == Version::v0_3)
    to_.put(", \"gcovr/excluded\": false");
  to_.put('}');
}

void Writer::branches(std::span<const BranchCoverage> branches) {
  int64_t number = 0;
  for (const BranchCoverage &branch : branches) {
    to_.put(number == 0 ? "{" : ", {");
    if (since(Version::v0_14)) // gcovr identifies a branch by it, among others
      field("\"branchno\": ", number);
    else if (since(Version::v0_11)) // unknown; gcovr ignores it
      field("\"source_block_id\": ", 0);
    else if (since(Version::v0_6))
      field("\"blockno\": ", 0);
    field(since(Version::v0_6) ? ", \"count\": " : "\"count\": ", counted(branch.count));
    to_.put(branch.fall_through ? ", \"fallthrough\": true" : ", \"fallthrough\": false");
    to_.put(branch.throws ? ", \"throw\": true}" : ", \"throw\": false}");
    ++number;
  }
}

void Writer::conditions(std::span<const ConditionCoverage> conditions) {
  to_.put(", \"conditions\": [");
  int64_t number = 0;
  for (const ConditionCoverage &condition : conditions) {
    to_.put(number == 0 ? "{" : ", {");
    if (since(Version::v0_14)) {
      field("\"conditionno\": ", number);
      to_.put(", ");
    }
    field("\"count\": ", condition.outcomes());
    field(", \"covered\": ", condition.covered());
    terms(", \"not_covered_false\": [", condition.when_false, condition.terms);
    terms(", \"not_covered_true\": [", condition.when_true, condition.terms);
    to_.put('}');
    ++number;
  }
  to_.put(']');
}

void Writer::terms(std::string_view key, uint64_t covered, uint32_t count) {
  to_.put(key);
  bool first = true;
  for (uint32_t term = 0; term < count; ++term)
    if ((covered >> term & 1) == 0) {
      if (!first)
        to_.put(", ");
      first = false;
      to_.put(uint64_t{term});
    }
  to_.put(']');
}

// Writes the functions. Functions of the same name are added up first. gcovr identifies functions
// by name, and fails if a function begins in two lines.
Result<void> Writer::functions(const FileCoverage &file) {
  std::vector<Function> all;
  for (const FunctionCoverage &function : file.functions) {
    const std::string_view name = function.name;
    const std::string_view known = name.empty() ? "[unknown]" : name;
    all.push_back(
        {json_text(known), known, function.start_line, function.end_line, counted(function.count)});
    lost_.text |= is_changed(function.name, all.back().name);
  }
  sort_stably(all, {}, [](const Function &f) { return std::tie(f.name, f.start_line); });
  std::vector<Function> out;
  for (Function &function : all) {
    if (out.empty() || out.back().name != function.name) {
      out.push_back(std::move(function));
      continue;
    }
    lost_.start_lines = true;
    if (!checked_add(out.back().count, function.count))
      return counts_overflow(file.path, function.start_line);
  }
  to_.put(", \"functions\": [\n");
  bool first = true;
  for (const Function &row : out) {
    separate(first);
    function(row);
  }
  to_.put(']');
  return {};
}

void Writer::function(const Function &function) {
  // A name that looks like C++ is already demangled, so it cannot be the mangled `name`.
  if (!since(Version::v0_10) || function.known.find('(') == function.known.npos) {
    to_.put("{\"name\": ");
    to_.put(function.name);
    if (since(Version::v0_10)) {
      to_.put(", \"demangled_name\": ");
      to_.put(json_text(demangled(function.known)));
    }
  } else {
    to_.put("{\"demangled_name\": ");
    to_.put(function.name);
  }
  field(", \"lineno\": ", function.start_line);
  field(", \"execution_count\": ", function.count);
  if (since(Version::v0_6)) {
    to_.put(", \"blocks_percent\": 0.0");
    lost_.blocks = true;
  }
  if (version_ == Version::v0_6)
    to_.put(", \"returned_count\": 0");
  if (function.end_line != 0 && since(Version::v0_10)) { // columns begin with 1; 0 is unknown
    field(", \"pos\": [\"", function.start_line);
    field(":0\", \"", function.end_line);
    to_.put(":0\"]");
  } else {
    lost_.ends |= function.end_line != 0;
  }
  to_.put('}');
}

Result<Version> version_to_write(std::string_view name) {
  if (name.empty())
    return newest;
  if (const auto version = version_of(name))
    return *version;
  std::vector<std::string_view> known;
  for (const VersionName &version : versions)
    known.push_back(version.name);
  return fail(ErrorCode::invalid_argument,
              fmt::format("unknown version '{}' of gcovr's JSON (there are: {})", name,
                          joined_text(known, ", ")));
}

} // namespace

Result<Written> write(const Coverage &coverage, const WriteOptions &options) {
  TALLY_TRY(version, version_to_write(options.gcovr_version));
  Written out;
  Lost lost;
  lost.tests = !coverage.tests.empty();
  std::vector<Source> sources;
  for (const FileCoverage &file : coverage.files) {
    const std::string_view path = relative_path(file.path, options.root);
    sources.push_back({json_text(path.empty() ? "[unknown]" : path), &file});
    lost.text |= is_changed(path, sources.back().path);
  }
  sort_stably(sources, {}, &Source::path);
  TALLY_CHECK(Writer(out.bytes, version, lost).write(sources));
  out.lost = lost.phrases();
  return out;
}

} // namespace tally::gcovr
